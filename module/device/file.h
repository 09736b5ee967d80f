/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_FILE_H
#define _HWHEEL_FILE_H

#include <linux/hwheel.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/wait.h>

#include "engine/pass_work.h"
#include "table.h"
#include "timens.h"
#include "waiters.h"

/* The largest file has this many indexes. */
#define HWHEEL_FILE_MAX		16777216

/**
 * struct hwheel_file_counts - how many timeouts of a file
 */
struct hwheel_file_counts {
	/** @held: Timeouts that the file holds, in any state. */
	unsigned long	held;
	/** @pending: Those that are pending. */
	unsigned long	pending;
	/** @events: Those that wait to be read, or are in a reader's hands. */
	unsigned long	events;
	/** @armed: How often one was armed, ever. */
	unsigned long	armed;
	/** @refreshed: How often one was refreshed. */
	unsigned long	refreshed;
	/** @cancelled: How often one was cancelled. */
	unsigned long	cancelled;
	/** @expired: How often one expired. */
	unsigned long	expired;
	/** @stopped: How often one was stopped. */
	unsigned long	stopped;
};

/**
 * struct hwheel_file - the timeouts of one open file
 */
struct hwheel_file {
	/**
	 * @wheel: The wheel that timeouts are armed on, or NULL; changes under @lock until there
	 * are entries.
	 */
	struct hwheel		*wheel;
	/** @account_wheel: The account's default wheel, from the first use on; under @lock. */
	struct hwheel		*account_wheel;
	/** @max: How many timeouts there may be at a time; changes as @wheel does. */
	unsigned int		max;
	/** @timens: The opener's time namespace; constant. */
	struct hwheel_timens	timens;
	/** @owner: The process that has opened it, for tracing; constant. */
	pid_t			owner;
	/** @owner_name: The name of that process; constant. */
	char			owner_name[TASK_COMM_LEN];
	/** @account: The opener's; constant. */
	struct hwheel_account	*account;
	/**
	 * @bytes: Charged to @account until the file is closed, for entries, mapped memory and
	 * the file's own wheel without its slots; under @lock.
	 */
	u64			bytes;
	/**
	 * @slot_bytes: Charged to @account, which has a place taken for the file's own wheel, for
	 * its slots. CONFIG sets it under @lock, STOP clears it under @await_lock, after it has
	 * set @stopped under @lock: from then on CONFIG fails.
	 */
	u64			slot_bytes;
	/**
	 * @lock: Serialises the making of entries, configuring, MAP and STOP. No thread that holds
	 * it waits for the worker. mmap() does not take it.
	 */
	struct mutex		lock;
	/**
	 * @await_lock: Held by the one thread at most that waits in @unreferenced: STOP, or an
	 * ARM of a full file. STOP also holds it while it stops the file's own wheel. Taken
	 * before @lock.
	 */
	struct mutex		await_lock;
	/** @mapping: The mapped timeouts, or NULL; set once, under @lock. */
	struct hwheel_mapping	*mapping;
	/**
	 * @table: The timeouts by id, grows under @lock; its own lock protects all that follows,
	 * and a timeout found here stays what it is while it is held.
	 */
	struct hwheel_table	table;
	/** @events: Timeouts that expired or were stopped and not read yet, in order. */
	struct list_head	events;
	/**
	 * @counts: How many timeouts; under the lock of @table, but that @counts.held is read
	 * without.
	 */
	struct hwheel_file_counts counts;
	/** @enqueued: Timeouts that the wheel refers to: pending, or not unreferenced yet. */
	unsigned long		enqueued;
	/** @withdrawn: Entries that are marked so, and not published yet. */
	unsigned int		withdrawn;
	/** @stopping: Those of the enqueued ones that a stop has cancelled. */
	unsigned long		stopping;
	/** @stopped: No more timeouts are armed. */
	bool			stopped;
	/** @wait: Threads that wait for events. */
	wait_queue_head_t	wait;
	/** @unreferenced: Where the thread that holds @await_lock waits for the wheel. */
	wait_queue_head_t	unreferenced;
	/**
	 * @expired: Timeouts that expired in this pass, in order; this and what follows belongs
	 * to the owner of the wheel's slots.
	 */
	struct list_head	expired;
	/** @nr_expired: How many of them there are. */
	unsigned int		nr_expired;
	/** @pass: Which one it is, from 1; changes under the lock, as events are published. */
	u32			pass;
	/**
	 * @released: Timeouts that the wheel has unreferenced after a cancel or a stop, the last
	 * one first.
	 */
	struct hwheel_entry	*released;
	/** @settled: Timeouts that are settled, and still counted as enqueued. */
	unsigned int		settled;
	/** @settled_stopped: Settled timeouts that are still counted as stopping. */
	unsigned int		settled_stopped;
	/** @unwoken: Events of which readers are not woken yet. */
	unsigned int		unwoken;
	/** @settle: Publishes what ended, at the end of the pass. */
	struct hwheel_pass_work	settle;
};

struct hwheel_file *hwheel_file_create(const struct cred *opener, unsigned int max);
void hwheel_file_free(struct hwheel_file *file);
int hwheel_file_charge(struct hwheel_file *file, u64 bytes);
void hwheel_file_uncharge_to(struct hwheel_file *file, u64 bytes);
struct hwheel *hwheel_file_take_wheel(struct hwheel_file *file);
void hwheel_file_keep_wheel(struct hwheel_file *file, struct hwheel *wheel);
void hwheel_file_drop_wheel(struct hwheel_file *file);
int hwheel_file_may_configure(const struct hwheel_file *file);
void hwheel_file_configure(struct hwheel_file *file, struct hwheel *own_wheel,
			   unsigned int max);
bool hwheel_file_walk(struct hwheel_file *file, u32 *index,
		      void (*act)(struct hwheel_entry *entry, u64 now));
void hwheel_file_get_counts(struct hwheel_file *file,
			    struct hwheel_file_counts *counts);

/* NULL if the file is not mapped. */
static inline struct hwheel_mapping *hwheel_file_mapping(const struct hwheel_file *file)
{
	/* Pairs with the release in mapped_create(): the mapping is seen whole. */
	return smp_load_acquire(&file->mapping);
}

/* Is there nothing to read, and never will be? Lockless. A mapped file has an end of its own. */
static inline bool hwheel_file_at_end(const struct hwheel_file *file)
{
	/*
	 * Of a file that is seen stopped what it held then is seen, too: pairs with the lock,
	 * under which both were written. That the file is mapped is seen as well, as MAP takes
	 * @lock, and STOP took it later: so the look at the mapping comes last.
	 */
	return smp_load_acquire(&file->stopped) && !READ_ONCE(file->counts.held) &&
	       !hwheel_file_mapping(file);
}

/* After entries were dropped, without the lock: everybody learns that this is the end. */
static inline void hwheel_file_publish_end(struct hwheel_file *file)
{
	if (unlikely(hwheel_file_at_end(file)))
		hwheel_waiters_end(&file->wait);
}

/* NULL before the first use. */
static inline struct hwheel *hwheel_file_wheel(const struct hwheel_file *file)
{
	/* Pairs with the release in file_set_wheel(): the wheel is seen whole. */
	return smp_load_acquire(&file->wheel);
}

/* Is the wheel this file's alone? Constant once the file has timeouts. */
static inline bool hwheel_file_has_own_wheel(const struct hwheel_file *file)
{
	const struct hwheel *wheel = hwheel_file_wheel(file);

	return wheel && wheel != READ_ONCE(file->account_wheel);
}

#endif /* _HWHEEL_FILE_H */
