/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Waking those who wait for a file's events, as other files do: once per pass and file.
 *
 * A program decides how long the queue of its file is, and how long those of epoll instances in it
 * are: waking them takes time of the account's worker.
 *
 * Model: reap.pml in selftests/models/.
 */
#ifndef _HWHEEL_WAITERS_H
#define _HWHEEL_WAITERS_H

#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/poll.h>
#include <linux/sched.h>
#include <linux/wait.h>

/**
 * hwheel_waiters_wake - wake those who wait for events, if anybody does
 * @queue:  of the file; read() waits exclusively, so that an event wakes one thread of these
 * @events: how many events were queued; more than 0
 *
 * The events are there already: the barrier in wq_has_sleeper() pairs with the one of
 * prepare_to_wait() in wait_event(), and with the one in hwheel_event_poll().
 *
 * Context: process
 */
static inline void hwheel_waiters_wake(wait_queue_head_t *queue, unsigned int events)
{
	if (wq_has_sleeper(queue))
		__wake_up(queue, TASK_NORMAL, min_t(unsigned int, events, INT_MAX),
			  poll_to_key(EPOLLIN | EPOLLRDNORM));
}

/* No event will come: wakes everybody, each time that it is called. */
static inline void hwheel_waiters_end(wait_queue_head_t *queue)
{
	wake_up_all(queue);
}

#endif /* _HWHEEL_WAITERS_H */
