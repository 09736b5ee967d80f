// SPDX-License-Identifier: GPL-2.0-only
/*
 * Deadlines as programs see them: on the clock of their time namespace, and as words that
 * they can write.
 *
 * A program refreshes a timeout by storing a later deadline in its word, which we look at
 * when the timeout is due. A value counts once, @seen is the last one: so it can delay what
 * fires here by so much and no more, whatever it is, and also if it was meant for the
 * timeout that had the index before.
 *
 * We write a word under the lock of the table after its timeout was given the deadline. That
 * the word may still be an older one then, and later, does not matter: who looks at it when
 * the timeout is due takes the same lock.
 */
#include <linux/minmax.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/time64.h>
#include <linux/time_namespace.h>

#include <uapi/linux/hwheel.h>

#include "deadline.h"
#include "set.h"
#include "timeout.h"
#include "wheel.h"

#ifdef CONFIG_TIME_NS
/* Those of the opener */
void hwheel_deadline_init(struct hwheel_set *set)
{
	const struct timens_offsets *ours = &current->nsproxy->time_ns->offsets;

	set->offsets[0] = timespec64_to_ns(&ours->monotonic);
	set->offsets[1] = timespec64_to_ns(&ours->boottime);
}
#else
void hwheel_deadline_init(struct hwheel_set *set)
{
}
#endif

static s64 offset_of(const struct hwheel_set *set, const struct hwheel *wheel)
{
	return set->offsets[wheel->clock == CLOCK_BOOTTIME];
}

/* What lies before our clock's zero is as past as zero; nothing wraps. */
u64 hwheel_time_from_user(const struct hwheel_set *set,
			  const struct hwheel *wheel, u64 ns)
{
	s64 offset = offset_of(set, wheel);

	if (offset > 0)
		return ns - min_t(u64, ns, offset);
	return min(ns, HWHEEL_NEVER) + -offset;
}

u64 hwheel_time_to_user(const struct hwheel_set *set,
			const struct hwheel *wheel, u64 ns)
{
	s64 offset = offset_of(set, wheel);

	return offset < 0 ? ns - min_t(u64, ns, -offset) : ns + offset;
}

static u64 *word_of(const struct hwheel_entry *entry)
{
	return hwheel_shared_word(&entry->set->shared, lower_32_bits(entry->id));
}

static void tell(struct hwheel_entry *entry, u64 ns)
{
	u64 *word = word_of(entry);

	lockdep_assert_held(&entry->set->table.lock);
	if (!word)
		return;
	entry->seen = ns;
	WRITE_ONCE(*word, ns);
}

/* It was given a deadline. */
void hwheel_deadline_tell(struct hwheel_entry *entry)
{
	struct hwheel_timeout *timeout = &entry->timeout;
	u64 ns = hwheel_time_to_user(entry->set, timeout->wheel,
				     hwheel_deadline(timeout));

	tell(entry, ns ?: 1);	/* as 0 is for those that have ended */
}

/* It is not pending any more. */
void hwheel_deadline_tell_end(struct hwheel_entry *entry)
{
	tell(entry, 0);
}

/* What @ns in the word means: bounded, whatever it is */
static u64 stored_deadline(const struct hwheel_entry *entry, u64 ns)
{
	const struct hwheel_timeout *timeout = &entry->timeout;
	u64 most = timeout->wheel->turn ?: HWHEEL_STORE_MAX_NS;

	ns = hwheel_time_from_user(entry->set, timeout->wheel, ns);
	most = hwheel_deadline(timeout) + min(most, HWHEEL_STORE_MAX_NS);
	return hwheel_deadline_store(min(ns, most));
}

/* The later of what we know and what the program has stored, of one that is pending */
u64 hwheel_deadline_effective(const struct hwheel_entry *entry)
{
	u64 deadline = hwheel_deadline(&entry->timeout), ns;
	const u64 *word = word_of(entry);

	lockdep_assert_held(&entry->set->table.lock);
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
void hwheel_deadline_due(struct hwheel_timeout *timeout)
{
	struct hwheel_entry *entry = hwheel_entry_of(timeout);
	struct hwheel_set *set = entry->set;

	/* Pairs with make_array(), and spares most the lock. */
	if (!smp_load_acquire(&set->shared.pages))
		return;
	spin_lock(&set->table.lock);
	take_over(entry);
	spin_unlock(&set->table.lock);
}
