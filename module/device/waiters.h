/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_WAITERS_H
#define _HWHEEL_WAITERS_H

#include <linux/atomic.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

/* How many waiters the caller of hwheel_waiters_wake() looks at itself */
#define HWHEEL_WAITERS_MAX	64U

struct hwheel_account;

/**
 * struct hwheel_waiters - threads that wait for a file's events
 */
struct hwheel_waiters {
	/** @queue: Where they wait; read() exclusively, so that an event wakes one of them. */
	wait_queue_head_t	queue;
	/** @account: The file's, which has the budget and tells of slow waiters. */
	struct hwheel_account	*account;
	/** @work: Wakes them where they are too many for the caller. */
	struct work_struct	work;
	/** @owed: Events that @work has to wake readers for. */
	atomic_t		owed;
	/** @ended: No event will come any more: everybody is to be woken. */
	bool			ended;
	/** @cursor: How far @work has come in @queue, if it is in there; under the queue's lock. */
	struct wait_queue_entry	cursor;
	/** @left: Events that @work has still to wake readers for in this walk; its own. */
	unsigned int		left;
};

int hwheel_waiters_create_queue(void);
void hwheel_waiters_destroy_queue(void);

void hwheel_waiters_init(struct hwheel_waiters *waiters, struct hwheel_account *account);
void hwheel_waiters_exit(struct hwheel_waiters *waiters);
void hwheel_waiters_wake(struct hwheel_waiters *waiters, unsigned int events);
void hwheel_waiters_end(struct hwheel_waiters *waiters);

#endif /* _HWHEEL_WAITERS_H */
