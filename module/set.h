/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_SET_H
#define _HWHEEL_SET_H

#include <linux/hwheel.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/wait.h>

#include "shared.h"
#include "table.h"

/* The largest set has this many indexes. */
#define HWHEEL_SET_MAX		16777216

/**
 * struct hwheel_set_counts - how many timeouts of a set
 * @held:      are there, in any state
 * @pending:   are pending
 * @events:    wait to be read, or are in a reader's hands
 * @armed:     were armed, ever; so for the next ones
 * @refreshed: refreshes
 * @cancelled: were cancelled
 * @expired:   expired
 * @stopped:   were stopped
 */
struct hwheel_set_counts {
	unsigned long	held;
	unsigned long	pending;
	unsigned long	events;
	unsigned long	armed;
	unsigned long	refreshed;
	unsigned long	cancelled;
	unsigned long	expired;
	unsigned long	stopped;
};

/**
 * struct hwheel_set - the timeouts of one open file
 * @wheel:      they are armed on; may change under @lock until there are entries
 * @shared_wheel: it was at first; constant
 * @max:        how many there may be at a time; as @wheel
 * @offsets:    what the opener's clocks show more than ours: [0] CLOCK_MONOTONIC, [1]
 *              CLOCK_BOOTTIME; constant
 * @lock:       serialises the making of entries, configuring and stopping
 * @shared:     the deadlines that the program can write; grows under @lock
 * @table:      the timeouts by id, grows under @lock; its own lock protects all that
 *              follows, and a timeout found here stays what it is while it is held
 * @events:     timeouts that expired or were stopped and not read yet, in order
 * @counts:     of timeouts
 * @filed:      timeouts that the wheel refers to: pending, or not let go of yet
 * @stopping:   those of them that stop has cancelled
 * @stopped:    no more are armed
 * @wait:       those who wait for events
 * @let_go:     who waits for the wheel to let go
 */
struct hwheel_set {
	struct hwheel		*wheel;
	struct hwheel		*shared_wheel;
	unsigned int		max;
	s64			offsets[2];
	/* serialises the making of entries, configuring and stopping */
	struct mutex		lock;
	struct hwheel_shared	shared;
	struct hwheel_table	table;
	struct list_head	events;
	struct hwheel_set_counts counts;
	unsigned long		filed;
	unsigned long		stopping;
	bool			stopped;
	wait_queue_head_t	wait;
	wait_queue_head_t	let_go;
};

static inline struct hwheel_entry *
hwheel_entry_of(struct hwheel_timeout *timeout)
{
	return container_of(timeout, struct hwheel_entry, timeout);
}

struct hwheel_set *hwheel_set_create(struct hwheel *wheel, unsigned int max);
int hwheel_set_may_configure(const struct hwheel_set *set);
void hwheel_set_configure(struct hwheel_set *set, struct hwheel *own_wheel,
			  unsigned int max);
long hwheel_set_stop(struct hwheel_set *set);
void hwheel_set_close(struct hwheel_set *set);
int hwheel_set_map(struct hwheel_set *set, struct vm_area_struct *vma);
void hwheel_set_tell_all(struct hwheel_set *set, u32 first);

struct hwheel_entry *hwheel_set_add(struct hwheel_set *set);
void hwheel_set_drop(struct hwheel_entry *entry);
void hwheel_set_drop_locked(struct hwheel_entry *entry);
void hwheel_set_wake(struct hwheel_set *set);

int hwheel_set_arm_at(struct hwheel_entry *entry, u64 deadline_ns);
int hwheel_set_refresh_at(struct hwheel_set *set, struct hwheel *wheel, u64 id,
			  u64 deadline_ns);
int hwheel_set_cancel(struct hwheel_set *set, u64 id);
int hwheel_set_query(struct hwheel_set *set, struct hwheel *wheel, u64 id,
		     u64 *cookie, u64 *deadline_ns);

void hwheel_set_get_counts(struct hwheel_set *set,
			   struct hwheel_set_counts *counts);

/* Is there nothing to read, and never will be? Lockless. */
static inline bool hwheel_set_at_end(const struct hwheel_set *set)
{
	/*
	 * Of a set that is seen stopped what it held then is seen, too: pairs with the lock,
	 * under which both were written.
	 */
	return smp_load_acquire(&set->stopped) && !READ_ONCE(set->counts.held);
}

static inline struct hwheel *hwheel_set_wheel(const struct hwheel_set *set)
{
	/* Pairs with the release in hwheel_set_configure(): the wheel is seen whole. */
	return smp_load_acquire(&set->wheel);
}

#endif /* _HWHEEL_SET_H */
