// SPDX-License-Identifier: GPL-2.0-only
/*
 * Deadlines as words that programs can write.
 *
 * A program refreshes a timeout by storing a later deadline in its word, which we look at
 * when the timeout is due. A value counts once, @seen is the last one: so it can delay what
 * fires here by so much and no more, whatever it is, and also if it was meant for the
 * timeout that had the index before.
 *
 * We write a word under the lock of the table after its timeout was given the deadline. That
 * the word may still be an older one then, and later, does not matter: the worker takes the
 * lock, too, when it looks at the word of a timeout that is due.
 */
#include <linux/hwheel.h>
#include <linux/minmax.h>

#include <uapi/linux/hwheel.h>

#include "engine/state.h"
#include "engine/wheel.h"
#include "file.h"
#include "mmap_word.h"

static u64 *word_of(const struct hwheel_entry *entry)
{
	return hwheel_mmap_pages_word(&entry->file->shared, lower_32_bits(entry->id));
}

static void write_word(struct hwheel_entry *entry, u64 ns)
{
	u64 *word = word_of(entry);

	lockdep_assert_held(&entry->file->table.lock);
	if (!word)
		return;
	entry->seen = ns;
	WRITE_ONCE(*word, ns);
}

/* It was given a deadline. */
void hwheel_mmap_word_write(struct hwheel_entry *entry)
{
	struct hwheel_timeout *timeout = &entry->timeout;
	u64 ns = hwheel_timens_to_user(&entry->file->timens, timeout->wheel,
				       hwheel_deadline(timeout));

	write_word(entry, ns ?: 1);	/* as 0 is for those that have ended */
}

/* It is not pending any more. */
void hwheel_mmap_word_clear(struct hwheel_entry *entry)
{
	write_word(entry, 0);
}

/* What @ns in the word means: bounded, whatever it is */
static u64 stored_deadline(const struct hwheel_entry *entry, u64 ns)
{
	const struct hwheel_timeout *timeout = &entry->timeout;
	u64 most = timeout->wheel->revolution ?: HWHEEL_STORE_MAX_NS;

	ns = hwheel_timens_from_user(&entry->file->timens, timeout->wheel, ns);
	most = hwheel_deadline(timeout) + min(most, HWHEEL_STORE_MAX_NS);
	return hwheel_deadline_store(min(ns, most));
}

/* The later of what we know and what the program has stored, of one that is pending */
u64 hwheel_mmap_word_effective(const struct hwheel_entry *entry)
{
	u64 deadline = hwheel_deadline(&entry->timeout), ns;
	const u64 *word = word_of(entry);

	lockdep_assert_held(&entry->file->table.lock);
	if (!word || !hwheel_is_pending(&entry->timeout))
		return deadline;
	ns = READ_ONCE(*word);
	return ns == entry->seen ? deadline :
				   max(deadline, stored_deadline(entry, ns));
}

static void take_over(struct hwheel_entry *entry)
{
	struct hwheel_timeout *timeout = &entry->timeout;
	const u64 *word = word_of(entry);
	u64 ns, deadline;

	if (!word)
		return;
	ns = READ_ONCE(*word);
	if (ns == entry->seen)
		return;
	entry->seen = ns;
	deadline = stored_deadline(entry, ns);
	if (deadline > hwheel_deadline(timeout))
		hwheel_refresh_at(timeout, deadline);
}

/*
 * On the worker: it is due, unless the program has stored a later deadline. The lock keeps
 * REFRESH from coming between the look and what follows from it.
 */
void hwheel_mmap_word_due(struct hwheel_timeout *timeout)
{
	struct hwheel_entry *entry = hwheel_entry_of(timeout);
	struct hwheel_file *file = entry->file;

	/* Pairs with mmap_make_array(), and spares most the lock. */
	if (!smp_load_acquire(&file->shared.pages))
		return;
	spin_lock(&file->table.lock);
	take_over(entry);
	spin_unlock(&file->table.lock);
}
