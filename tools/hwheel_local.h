/* SPDX-License-Identifier: LGPL-2.1-only OR MIT */
/**
 * DOC: hwheel_local
 *
 * A timing wheel inside a program, for one thread and its event loop. libhwheel(3) has it; a
 * program may also take hwheel_local.h and libhwheel/hwheel_local.c into its own tree. It needs no
 * kernel module. The program embeds a struct hwheel_local_timeout, 40 bytes on 64-bit machines, in
 * each object; the wheel takes about 29 kB, which the program provides, too. No function allocates
 * memory, uses an atomic operation or makes a system call, but for the timerfd of
 * hwheel_local_fd() and the alarm function of hwheel_local_set_alarm().
 *
 * The loop reads a clock and calls hwheel_local_run(), which calls the callbacks of all timeouts
 * that are due. It then sleeps until hwheel_local_next():
 *
 *	for (;;) {
 *		n = epoll_wait(epoll, events, MOST, hwheel_local_wait_ms(&wheel, now_ns()));
 *		hwheel_local_run(&wheel, now_ns());
 *		handle(events, n);
 *	}
 *
 * Units: all times are nanoseconds of one clock, which the program chooses and reads. A deadline of
 * UINT64_MAX means never, and so does a sum that overflows. No timeout expires before its deadline;
 * it is due less than one tick after it, and a run calls it then. A deadline that has passed is due
 * at the first tick after the last run.
 *
 * Which time counts: a delay counts from the latest time that hwheel_local_init(),
 * hwheel_local_run(), hwheel_local_take() or hwheel_local_update() was given. A loop whose turn
 * takes long calls hwheel_local_update() before it arms with a delay. A clock that goes back counts
 * as one that stands still.
 *
 * Callbacks: a timeout is not pending when its callback runs. The callback may arm it again or free
 * it, and may arm, move and cancel all others, also those that are due in the same run. The memory
 * of a timeout that is pending may be freed after hwheel_local_cancel(). A run calls each timeout
 * at most once: one that a callback arms is due after the time of that run, even with a delay of
 * 0, so that no run goes on for ever. A callback may call hwheel_local_run(), which goes on with
 * what the outer run has left; a timeout that is armed meanwhile is due after the inner run's time.
 *
 * Order: timeouts that are due at different ticks expire in the order of their ticks; those of one
 * tick in no particular order.
 *
 * Cost: arming, moving and cancelling take constant time. A move to a later deadline is one store.
 * hwheel_local_next() may be too early after a cancel or a move, never too late: then a run calls
 * nothing, and finds the right time. A wheel of which all timeouts were cancelled wakes its loop up
 * once at most, or never where the loop asks hwheel_local_is_empty(). A timeout is filed again up
 * to six times before it expires, once for each further 8 bits of its delay in ticks.
 *
 * Threads: a wheel and its timeouts are for one thread at a time. After fork() the child has a copy
 * of wheel and timeouts, and the timerfd stays the parent's: the child neither sets nor disarms it,
 * and gets its own from hwheel_local_fd().
 *
 * The wheel must not be copied or moved while it is in use, nor a timeout while it is pending.
 */
#ifndef HWHEEL_LOCAL_H
#define HWHEEL_LOCAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* A deadline that never comes */
#define HWHEEL_LOCAL_NEVER	UINT64_MAX

/* The shortest tick, ns: edges of longer ones fit the levels */
#define HWHEEL_LOCAL_LEAST_TICK	2048U

#define HWHEEL_LOCAL_BITS	8U
#define HWHEEL_LOCAL_SLOTS	256U
#define HWHEEL_LOCAL_LEVELS	7U
#define HWHEEL_LOCAL_WORDS	(HWHEEL_LOCAL_SLOTS / 64)

struct hwheel_local;
struct hwheel_local_timeout;

/* A callback, which the wheel's run calls */
typedef void hwheel_local_fn(struct hwheel_local *wheel, struct hwheel_local_timeout *timeout);

/* An alarm function: see hwheel_local_set_alarm() */
typedef void hwheel_local_alarm_fn(struct hwheel_local *wheel, uint64_t at_ns);

struct hwheel_local_link {
	struct hwheel_local_link *next, *prev;
};

/**
 * struct hwheel_local_timeout - a timeout, which the program embeds
 * @link:     the wheel's; next is NULL in one that is not pending
 * @deadline: as it was last armed or moved, ns; the program may read it, also in the callback
 * @filed:    the wheel's: start of the tick at whose end it is expected, ns
 * @expire:   callback; the program may change it
 */
struct hwheel_local_timeout {
	struct hwheel_local_link	link;
	uint64_t			deadline;
	uint64_t			filed;
	hwheel_local_fn			*expire;
};

/*
 * struct hwheel_local - a wheel; its fields are the wheel's own
 * @slot:     lists of timeouts, HWHEEL_LOCAL_SLOTS for each level
 * @cursor:   edge up to which slots were emptied
 * @reached:  edge of the latest time of a run; cursor lags behind within a run
 * @wake:     edge before which no timeout is due; the alarm is set for it
 * @now:      latest time that the program gave, ns
 * @shift:    a tick is 1 << shift ns
 * @fd:       timerfd, or -1
 * @owner:    process that made the timerfd
 * @held:     slot that was not empty when hwheel_local_is_empty() looked last
 * @alarm:    moves the alarm, or NULL
 * @due:      timeouts that a run has taken from a slot and not looked at
 * @occupied: a bit for each slot; a slot whose bit is clear is empty
 */
struct hwheel_local {
	struct hwheel_local_link	slot[HWHEEL_LOCAL_LEVELS * HWHEEL_LOCAL_SLOTS];
	uint64_t			cursor;
	uint64_t			reached;
	uint64_t			wake;
	uint64_t			now;
	unsigned int			shift;
	int				fd;
	int				owner;
	unsigned int			held;
	hwheel_local_alarm_fn		*alarm;
	struct hwheel_local_link	due;
	uint64_t			occupied[HWHEEL_LOCAL_LEVELS * HWHEEL_LOCAL_WORDS];
};

/**
 * hwheel_local_init() - make an empty wheel
 * @wheel:   memory of the program's
 * @tick_ns: how late a timeout may be; rounded down to a power of two, and up to 2,048
 * @now_ns:  time by the program's clock
 *
 * A longer tick saves wake-ups where many timeouts are due at about the same time.
 */
void hwheel_local_init(struct hwheel_local *wheel, uint64_t tick_ns, uint64_t now_ns);

/**
 * hwheel_local_fini() - end the use of a wheel
 * @wheel: the wheel; not within a run
 *
 * Timeouts that are pending are so no longer, and no callback is called. Closes the timerfd.
 */
void hwheel_local_fini(struct hwheel_local *wheel);

/**
 * hwheel_local_timeout_init() - prepare a timeout
 * @timeout: memory of the program's; not pending
 * @expire:  called with wheel and timeout when it is due
 */
static inline void hwheel_local_timeout_init(struct hwheel_local_timeout *timeout,
					     hwheel_local_fn *expire)
{
	timeout->link.next = NULL;
	timeout->link.prev = NULL;
	timeout->deadline = 0;
	timeout->filed = 0;
	timeout->expire = expire;
}

/**
 * hwheel_local_is_pending() - is a timeout armed?
 * @timeout: prepared before
 *
 * Return: true until it is cancelled or its callback begins.
 */
static inline bool hwheel_local_is_pending(const struct hwheel_local_timeout *timeout)
{
	return timeout->link.next;
}

/* Internal: lowers the wheel's wake. */
void hwheel_local_aim(struct hwheel_local *wheel, uint64_t edge);

/* Internal */
static inline void hwheel_local_unlink(struct hwheel_local_timeout *timeout)
{
	timeout->link.next->prev = timeout->link.prev;
	timeout->link.prev->next = timeout->link.next;
}

/*
 * Internal: puts a timeout that is on no list into its slot, due at the edge that its deadline
 * rounds up to, and after @floor. The subtraction makes a shift round up. In this order of stores
 * the compiler does not merge two into one of a vector, which takes more instructions.
 */
static inline void hwheel_local_file(struct hwheel_local *wheel,
				     struct hwheel_local_timeout *timeout, uint64_t floor)
{
	uint64_t before = (timeout->deadline - !!timeout->deadline) >> wheel->shift, edge;
	struct hwheel_local_link *list;
	unsigned int bit;
	size_t i;

	if (__builtin_expect(before < floor, 0))
		before = floor;
	edge = before + 1;
	bit = (63U ^ (unsigned int)__builtin_clzll(edge ^ wheel->cursor)) & -HWHEEL_LOCAL_BITS;
	i = (size_t)bit * (HWHEEL_LOCAL_SLOTS / HWHEEL_LOCAL_BITS) +
	    ((edge >> bit) & (HWHEEL_LOCAL_SLOTS - 1));
	wheel->occupied[i / 64] |= 1ULL << (i % 64);
	timeout->filed = before << wheel->shift;
	list = &wheel->slot[i];
	/* Else the compiler computes the address again for each field. */
	__asm__("" : "+r" (list));
	timeout->link.next = list;
	list->prev->next = &timeout->link;
	timeout->link.prev = list->prev;
	list->prev = &timeout->link;
	if (__builtin_expect(edge < wheel->wake, 0))
		hwheel_local_aim(wheel, edge);
}

/* Internal: a time beyond the clock's range means never. */
static inline uint64_t hwheel_local_after(const struct hwheel_local *wheel, uint64_t delay_ns)
{
	uint64_t deadline;

	if (__builtin_add_overflow(wheel->now, delay_ns, &deadline))
		return HWHEEL_LOCAL_NEVER;
	return deadline;
}

/**
 * hwheel_local_arm_at() - arm a timeout for a deadline
 * @wheel:       the wheel
 * @timeout:     prepared, not pending; the program keeps it until it has expired or is cancelled
 * @deadline_ns: time; one that has passed is due at the first tick after the last run
 */
static inline void hwheel_local_arm_at(struct hwheel_local *wheel,
				       struct hwheel_local_timeout *timeout, uint64_t deadline_ns)
{
	timeout->deadline = deadline_ns;
	hwheel_local_file(wheel, timeout, wheel->reached);
}

/**
 * hwheel_local_arm() - arm a timeout for some time from now
 * @wheel:    the wheel
 * @timeout:  prepared, not pending
 * @delay_ns: from the latest time that the wheel was given
 */
static inline void hwheel_local_arm(struct hwheel_local *wheel,
				    struct hwheel_local_timeout *timeout, uint64_t delay_ns)
{
	hwheel_local_arm_at(wheel, timeout, hwheel_local_after(wheel, delay_ns));
}

/**
 * hwheel_local_set_at() - move a timeout to another deadline, or arm it
 * @wheel:       the wheel, on which the timeout is if it is pending
 * @timeout:     prepared
 * @deadline_ns: earlier or later than the one before
 *
 * Return: whether it was pending: then it expires once, at the new deadline.
 */
static inline bool hwheel_local_set_at(struct hwheel_local *wheel,
				       struct hwheel_local_timeout *timeout, uint64_t deadline_ns)
{
	bool pending = hwheel_local_is_pending(timeout);

	timeout->deadline = deadline_ns;
	if (pending) {
		if (__builtin_expect(deadline_ns > timeout->filed, 1))
			return true;
		hwheel_local_unlink(timeout);
	}
	hwheel_local_file(wheel, timeout, wheel->reached);
	return pending;
}

/**
 * hwheel_local_set() - move a timeout to some time from now, or arm it
 * @wheel:    the wheel, on which the timeout is if it is pending
 * @timeout:  prepared
 * @delay_ns: from the latest time that the wheel was given
 *
 * Return: whether it was pending.
 */
static inline bool hwheel_local_set(struct hwheel_local *wheel,
				    struct hwheel_local_timeout *timeout, uint64_t delay_ns)
{
	return hwheel_local_set_at(wheel, timeout, hwheel_local_after(wheel, delay_ns));
}

/**
 * hwheel_local_again() - arm a periodic timeout again, without drift
 * @wheel:       the wheel
 * @timeout:     as a rule the one whose callback runs
 * @interval_ns: period
 * @missed:      out, or NULL: periods that were over before, and are left out
 *
 * The deadline advances by as many intervals as it takes to lie ahead of the wheel's time, so that
 * after a suspension the callback is called once and not for each period.
 *
 * Return: 0; -EINVAL: the interval is 0, and nothing has changed.
 */
int hwheel_local_again(struct hwheel_local *wheel, struct hwheel_local_timeout *timeout,
		       uint64_t interval_ns, uint64_t *missed);

/**
 * hwheel_local_cancel() - end a timeout
 * @timeout: prepared
 *
 * Return: whether it was pending: then its callback is not called. In both cases the wheel does
 * not refer to it afterwards.
 */
static inline bool hwheel_local_cancel(struct hwheel_local_timeout *timeout)
{
	if (!hwheel_local_is_pending(timeout))
		return false;
	hwheel_local_unlink(timeout);
	timeout->link.next = NULL;
	return true;
}

/**
 * hwheel_local_update() - give the wheel the time
 * @wheel:  the wheel
 * @now_ns: time, from which later delays count; nothing expires
 */
static inline void hwheel_local_update(struct hwheel_local *wheel, uint64_t now_ns)
{
	if (now_ns > wheel->now)
		wheel->now = now_ns;
}

/* Internal: the edge of the latest deadlines has no time. */
static inline uint64_t hwheel_local_time(const struct hwheel_local *wheel, uint64_t edge)
{
	return edge > UINT64_MAX >> wheel->shift ? HWHEEL_LOCAL_NEVER : edge << wheel->shift;
}

/**
 * hwheel_local_next() - when is the next run to be?
 * @wheel: the wheel
 *
 * Return: the time, which may be early and is never late; after hwheel_local_run() it lies ahead of
 * that run's time. HWHEEL_LOCAL_NEVER: nothing is pending.
 */
static inline uint64_t hwheel_local_next(const struct hwheel_local *wheel)
{
	return hwheel_local_time(wheel, wheel->wake);
}

/**
 * hwheel_local_is_empty() - is nothing pending?
 * @wheel: the wheel
 *
 * A loop that is to end once nothing is pending asks in each turn. Clears what cancels have left:
 * if nothing is pending, hwheel_local_next() is HWHEEL_LOCAL_NEVER from then on, which the alarm
 * gets, too.
 *
 * Return: true if no timeout is pending.
 */
bool hwheel_local_is_empty(struct hwheel_local *wheel);

/**
 * hwheel_local_wait_ms() - how long may poll() or epoll_wait() wait?
 * @wheel:  the wheel
 * @now_ns: time, read just now
 *
 * Return: milliseconds until hwheel_local_next(), rounded up, so that the loop does not wake up
 * shortly before it again and again; INT_MAX at most; 0: a run is due; -1: nothing is pending.
 */
int hwheel_local_wait_ms(const struct hwheel_local *wheel, uint64_t now_ns);

/**
 * hwheel_local_run() - call the callbacks of all timeouts that are due
 * @wheel:  the wheel
 * @now_ns: time, read after the loop has woken up
 *
 * Return: how many it called, without those of runs within it.
 */
unsigned int hwheel_local_run(struct hwheel_local *wheel, uint64_t now_ns);

/**
 * hwheel_local_take() - take one timeout that is due, in place of its callback
 * @wheel:  the wheel
 * @now_ns: time
 *
 * A program that takes timeouts goes on until there is none, or hwheel_local_next() stays in the
 * past and a timerfd readable.
 *
 * Return: the timeout, which is not pending; NULL: none is due.
 */
struct hwheel_local_timeout *hwheel_local_take(struct hwheel_local *wheel, uint64_t now_ns);

/**
 * hwheel_local_fd() - get a descriptor that becomes readable when a run is due
 * @wheel: the wheel
 * @clock: that of all times that the program gives: CLOCK_MONOTONIC or CLOCK_BOOTTIME. It matters
 *	   to the first call.
 *
 * The first call makes a timerfd, with FD_CLOEXEC and O_NONBLOCK, in place of another alarm. The
 * wheel sets it for hwheel_local_next(), with a system call where an earlier timeout is armed and
 * at the end of a run that was due. Nobody reads it: a run whose time has come makes it silent. A
 * coarse clock may lag behind; until it has caught up the descriptor stays readable. In a forked
 * child the first call makes another one.
 *
 * Return: the descriptor, which hwheel_local_fini() closes; or what timerfd_create() failed with,
 * as a negative errno.
 */
int hwheel_local_fd(struct hwheel_local *wheel, int clock);

/**
 * hwheel_local_set_alarm() - have a function called when the next run is to be at another time
 * @wheel: the wheel
 * @alarm: called with the wheel and hwheel_local_next(), now and whenever that changes: in an arm
 *	   or a move, or at the end of a run. It sets a timer of the program's loop, for example,
 *	   and does not call the wheel. NULL: there is none.
 *
 * It takes the place of the timerfd, which is closed.
 */
void hwheel_local_set_alarm(struct hwheel_local *wheel, hwheel_local_alarm_fn *alarm);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* HWHEEL_LOCAL_H */
