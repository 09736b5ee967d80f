/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_SET_H
#define _HWHEEL_SET_H

#include <linux/hwheel.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/wait.h>
#include <linux/xarray.h>

/* An id is a generation and an index; the largest set has this many indexes. */
#define HWHEEL_SET_MAX		16777216

/**
 * struct hwheel_set - the timeouts of one open file
 * @wheel:      they are armed on
 * @max:        how many there may be at a time
 * @alloc_lock: serialises the making of ids
 * @ids:        the timeouts by index; its lock is that of the set: it protects
 *              all that follows, and a timeout found here lives while it is held
 * @next:       index at which the search for a free one begins
 * @generation: how often the search began anew; the high half of ids
 * @events:     timeouts that expired and were not read yet, in order
 * @users:      1 for the open file and 1 for each timeout
 * @closed:     the file is gone, nobody will read events
 * @wait:       those who wait for events
 */
struct hwheel_set {
	struct hwheel		*wheel;
	unsigned int		max;
	/* serialises the making of ids */
	struct mutex		alloc_lock;
	struct xarray		ids;
	u32			next;
	u64			generation;
	struct list_head	events;
	unsigned long		users;
	bool			closed;
	wait_queue_head_t	wait;
};

/**
 * struct hwheel_entry - a timeout of a set; when it expired, itself the event
 * @timeout:  as the wheel knows it
 * @id:       as userspace knows it
 * @cookie:   userspace's own
 * @fired_ns: when it expired
 * @set:      it belongs to
 * @event:    link in @set->events, or in a reader's hands
 */
struct hwheel_entry {
	struct hwheel_timeout	timeout;
	u64			id;
	u64			cookie;
	u64			fired_ns;
	struct hwheel_set	*set;
	struct list_head	event;
};

int hwheel_set_init(void);
void hwheel_set_exit(void);

struct hwheel_set *hwheel_set_create(struct hwheel *wheel, unsigned int max);
void hwheel_set_close(struct hwheel_set *set);

struct hwheel_entry *hwheel_set_add(struct hwheel_set *set, u64 cookie);
void hwheel_set_drop(struct hwheel_entry *entry);
int hwheel_set_refresh_at(struct hwheel_set *set, u64 id, u64 deadline_ns);
int hwheel_set_cancel(struct hwheel_set *set, u64 id);

bool hwheel_set_has_events(struct hwheel_set *set);
void hwheel_set_take_events(struct hwheel_set *set, struct list_head *events,
			    size_t max);
void hwheel_set_return_events(struct hwheel_set *set, struct list_head *events);
void hwheel_set_drop_events(struct hwheel_set *set, struct list_head *events);

#endif /* _HWHEEL_SET_H */
