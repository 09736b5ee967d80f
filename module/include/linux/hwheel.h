/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A hashed wheel timer for very many, mostly cancelled, mostly short time-outs.
 *
 * A wheel has a tick. A timeout fires on the first edge (multiple of the tick
 * since the wheel's creation) that is not before its deadline: never early, and
 * late by less than one tick plus the wake-up latency of the wheel's worker.
 * No order is promised among time-outs that expire at one edge.
 *
 * The caller embeds struct hwheel_timeout in its own object; nothing is
 * allocated per timeout. arm, refresh, cancel and the queries may be called from
 * any context but NMI and callers that hold scheduler locks; they neither sleep
 * nor take a lock. hwheel_cancel_sync() sleeps, until the object may be freed.
 * Every arm has exactly one outcome: the expire callback ran, one of the cancels
 * said that it prevented that, or hwheel_stop() handed the timeout back.
 */
#ifndef _LINUX_HWHEEL_H
#define _LINUX_HWHEEL_H

#include <linux/atomic.h>
#include <linux/llist.h>
#include <linux/time.h>
#include <linux/types.h>

struct hwheel;
struct hwheel_timeout;

#define HWHEEL_DEFAULT_TICK_NS	(100 * NSEC_PER_MSEC)
#define HWHEEL_MIN_TICK_NS	(50 * NSEC_PER_USEC)
#define HWHEEL_DEFAULT_SLOTS	512
#define HWHEEL_MAX_SLOTS	1048576

/**
 * struct hwheel_params - what hwheel_create() needs to know; zero means default
 * @name:        of the worker thread, which shows as "hwheel/<name>"; copied.
 *               Default: "wheel".
 * @tick_ns:     time between two edges in ns, rounded up to a multiple of 8;
 *               raised to HWHEEL_MIN_TICK_NS with a warning. Default: 100 ms.
 * @slots:       slots of the wheel, rounded up to a power of two, at most
 *               HWHEEL_MAX_SLOTS. More slots cost memory (a pointer and 8 bytes), fewer
 *               make time-outs share one, which costs a look at each of them
 *               when one is due. Default: 512.
 * @max_pending: how many time-outs may be pending at a time; a limit costs an
 *               atomic operation on a shared cache line for each arm and end.
 *               Default: no limit.
 * @clock:       CLOCK_MONOTONIC (default) or CLOCK_BOOTTIME, which counts time
 *               in suspend. No wheel runs on a clock that can be set:
 *               CLOCK_REALTIME, whose number is 0, means the default.
 */
struct hwheel_params {
	const char	*name;
	u64		tick_ns;
	unsigned int	slots;
	u64		max_pending;
	clockid_t	clock;
};

/**
 * struct hwheel_timeout_ops - what a timeout's owner does with it
 * @expire:  the timeout expired. Runs on the wheel's worker, in process context,
 *           and delays the other time-outs of the wheel while it does. It may
 *           arm the timeout again, and may free it: the wheel does not refer to
 *           it any more, nor after the callback returned.
 * @release: optional. A timeout that was cancelled is on no list of the wheel any
 *           more: it may be freed, or armed again. Runs on the worker, or on the
 *           thread that stops the wheel, in process context, in the worker's next
 *           pass, which is at most one tick away unless callbacks hold the worker.
 *           A timeout with this op can't be armed between cancel and release
 *           (-EBUSY). Not called for one that expired, nor for one that
 *           hwheel_stop() gave to its handback callback.
 */
struct hwheel_timeout_ops {
	void (*expire)(struct hwheel_timeout *timeout);
	void (*release)(struct hwheel_timeout *timeout);
};

/**
 * struct hwheel_node - a timeout as the wheel's slots see it
 * @link: in the list of a slot; the worker's own
 * @slot: which one; the worker's own
 */
struct hwheel_node {
	struct hlist_node	link;
	unsigned int		slot;
};

/**
 * struct hwheel_timeout - one timeout, to be embedded in the caller's object
 * @word:  deadline, state and two bits (module/timeout.h): changed by anyone, with
 *         one atomic operation
 * @queue: link in a submission list; belongs to whoever set QUEUED until it was
 *         added, then to the worker until that clears QUEUED
 * @node:  link in a slot; the worker's own
 * @wheel: constant after hwheel_timeout_init()
 * @ops:   constant after hwheel_timeout_init()
 *
 * All fields are private to the wheel; hwheel_timeout_init() sets them up.
 */
struct hwheel_timeout {
	atomic64_t				word;
	struct llist_node			queue;
	struct hwheel_node			node;
	struct hwheel				*wheel;
	const struct hwheel_timeout_ops		*ops;
};

/* Low bits of hwheel_timeout.word, private to the wheel. */
enum hwheel_state {
	HWHEEL_IDLE,		/* never armed */
	HWHEEL_PENDING,
	HWHEEL_CANCELLED,	/* before it expired, or handed back */
	HWHEEL_EXPIRED,		/* the callback runs or ran */
};

#define HWHEEL_STATE_MASK	3

struct hwheel *hwheel_create(const struct hwheel_params *params);
s64 hwheel_stop(struct hwheel *wheel,
		void (*handback)(struct hwheel_timeout *timeout, void *data),
		void *data);
void hwheel_destroy(struct hwheel *wheel);
u64 hwheel_pending(const struct hwheel *wheel);

void hwheel_timeout_init(struct hwheel_timeout *timeout, struct hwheel *wheel,
			 const struct hwheel_timeout_ops *ops);
int hwheel_arm(struct hwheel_timeout *timeout, u64 delay_ns);
int hwheel_arm_at(struct hwheel_timeout *timeout, u64 deadline_ns);
int hwheel_refresh(struct hwheel_timeout *timeout, u64 delay_ns);
int hwheel_refresh_at(struct hwheel_timeout *timeout, u64 deadline_ns);
bool hwheel_cancel(struct hwheel_timeout *timeout);
int hwheel_cancel_sync(struct hwheel_timeout *timeout);

/* A snapshot: it may be out of date when the caller looks at it. Any context. */
static inline enum hwheel_state
hwheel_timeout_state(const struct hwheel_timeout *timeout)
{
	return atomic64_read(&timeout->word) & HWHEEL_STATE_MASK;
}

/**
 * hwheel_is_pending - was the timeout armed, and has it not ended yet?
 * @timeout: the timeout
 *
 * Context: any. Return: a snapshot.
 */
static inline bool hwheel_is_pending(const struct hwheel_timeout *timeout)
{
	return hwheel_timeout_state(timeout) == HWHEEL_PENDING;
}

/**
 * hwheel_is_expired - did the timeout expire?
 * @timeout: the timeout
 *
 * True already while the callback runs, and until the next arm.
 *
 * Context: any. Return: a snapshot.
 */
static inline bool hwheel_is_expired(const struct hwheel_timeout *timeout)
{
	return hwheel_timeout_state(timeout) == HWHEEL_EXPIRED;
}

/**
 * hwheel_is_cancelled - was the timeout cancelled, or handed back by a stop?
 * @timeout: the timeout
 *
 * Context: any. Return: a snapshot.
 */
static inline bool hwheel_is_cancelled(const struct hwheel_timeout *timeout)
{
	return hwheel_timeout_state(timeout) == HWHEEL_CANCELLED;
}

/**
 * hwheel_deadline - when is (or was) the timeout due?
 * @timeout: the timeout
 *
 * Context: any.
 * Return: ns on the wheel's clock as last armed or refreshed, rounded up to 8 ns.
 */
static inline u64 hwheel_deadline(const struct hwheel_timeout *timeout)
{
	return (u64)atomic64_read(&timeout->word) >> 4 << 3;
}

/**
 * hwheel_of - the wheel that a timeout was set up for
 * @timeout: the timeout
 *
 * Context: any. Return: the wheel.
 */
static inline struct hwheel *hwheel_of(const struct hwheel_timeout *timeout)
{
	return timeout->wheel;
}

#endif /* _LINUX_HWHEEL_H */
