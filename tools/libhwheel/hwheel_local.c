// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/*
 * A timing wheel inside a program. hwheel_local.h has the contract, and what is called often.
 *
 * Time is counted in edges, the multiples of a tick. A timeout is due at the edge that its deadline
 * rounds up to. A level has 256 slots, and an edge has a digit of 8 bits for each level. A timeout
 * is filed on the level of the highest digit in which its edge differs from the cursor, in the slot
 * of that digit. It follows that
 *
 *  - the slots of a level are in the order of time, and all of a level come before those of the
 *    next one: the first slot is the lowest bit of the lowest word of the bitmap that is not 0;
 *  - the cursor may move to any edge before the first slot's without a look at a timeout.
 *
 * A run moves the cursor to the first slot's first edge, takes the slot's timeouts onto the list of
 * what is due, and looks at one after the other: it is called, or filed again on a lower level.
 * Callbacks unlink from that list as from any slot. A run within a callback goes on with the list.
 *
 * What a callback arms is filed after the edge that the run reaches, where a late run's cursor may
 * be far behind. It may pass through a slot that begins earlier, and is filed again then.
 *
 * Lazy: a move to later stores the deadline. The timeout stays in its slot, and is filed again when
 * that slot's time comes. A cancel leaves the slot's bit, which the next search clears. The edge at
 * which the loop is to wake up is searched at the end of a run that came to it, and until then only
 * lowered. So it may be early, and an alarm moves only when it has rung, or to earlier.
 *
 * Source of the idea: hashed and hierarchical timing wheels by G. Varghese and T. Lauck (1987); the
 * level of the highest digit that differs, as in tokio's timer; bitmaps, as in W. Ahern's
 * timeout.c, whose slots turn.
 */
/* For timers, whatever -std= says */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "hwheel_local.h"

#define NSEC_PER_SEC	1000000000U
#define NSEC_PER_MSEC	1000000U

#define SLOTS		(HWHEEL_LOCAL_LEVELS * HWHEEL_LOCAL_SLOTS)
#define WORDS		(HWHEEL_LOCAL_LEVELS * HWHEEL_LOCAL_WORDS)

/* Timeouts of the first slot that a search looks at for their exact edges, at most */
#define LOOK		16

static_assert(sizeof(void *) != 8 || sizeof(struct hwheel_local_timeout) == 40,
	      "a timeout is 40 bytes");
static_assert(1U << HWHEEL_LOCAL_BITS == HWHEEL_LOCAL_SLOTS, "a slot for each digit");
static_assert(offsetof(struct hwheel_local_timeout, link) == 0, "timeout_of() casts");

static void list_init(struct hwheel_local_link *list)
{
	list->next = list;
	list->prev = list;
}

static bool list_is_empty(const struct hwheel_local_link *list)
{
	return list->next == list;
}

static struct hwheel_local_timeout *timeout_of(const struct hwheel_local_link *link)
{
	return (struct hwheel_local_timeout *)link;
}

void hwheel_local_init(struct hwheel_local *wheel, uint64_t tick_ns, uint64_t now_ns)
{
	unsigned int i;

	if (tick_ns < HWHEEL_LOCAL_LEAST_TICK)
		tick_ns = HWHEEL_LOCAL_LEAST_TICK;
	*wheel = (struct hwheel_local){
		.wake	= UINT64_MAX,
		.now	= now_ns,
		.shift	= 63U - (unsigned int)__builtin_clzll(tick_ns),
		.fd	= -1,
	};
	wheel->cursor = now_ns >> wheel->shift;
	wheel->reached = wheel->cursor;
	list_init(&wheel->due);
	for (i = 0; i < SLOTS; i++)
		list_init(&wheel->slot[i]);
}

static void end_all(struct hwheel_local_link *list)
{
	while (!list_is_empty(list))
		hwheel_local_cancel(timeout_of(list->next));
}

void hwheel_local_fini(struct hwheel_local *wheel)
{
	unsigned int i;

	hwheel_local_set_alarm(wheel, NULL);
	end_all(&wheel->due);
	for (i = 0; i < SLOTS; i++)
		end_all(&wheel->slot[i]);
}

/* The alarm, which is always set for @wake */

static void move_alarm(struct hwheel_local *wheel)
{
	if (wheel->alarm)
		wheel->alarm(wheel, hwheel_local_next(wheel));
}

/*
 * Within a run @wake stays in the past until there is nothing left that is due. So callbacks do not
 * come here, unless they arm after a run of their own.
 */
void hwheel_local_aim(struct hwheel_local *wheel, uint64_t edge)
{
	wheel->wake = edge;
	move_alarm(wheel);
}

/* A child shares the timerfd with its parent. What is beyond 68 years fits no time_t of 32 bits. */
static void set_timerfd(struct hwheel_local *wheel, uint64_t at_ns)
{
	struct itimerspec at = { .it_value = { .tv_sec = 0 } };

	if (wheel->owner != getpid())
		return;
	if (at_ns / NSEC_PER_SEC <= INT_MAX) {
		at.it_value.tv_sec = (time_t)(at_ns / NSEC_PER_SEC);
		at.it_value.tv_nsec = (long)(at_ns % NSEC_PER_SEC);
	}
	timerfd_settime(wheel->fd, TFD_TIMER_ABSTIME, &at, NULL);
}

static void close_timerfd(struct hwheel_local *wheel)
{
	if (wheel->fd >= 0)
		close(wheel->fd);
	wheel->fd = -1;
}

int hwheel_local_fd(struct hwheel_local *wheel, int clock)
{
	int fd;

	if (wheel->fd >= 0 && wheel->owner == getpid())
		return wheel->fd;
	fd = timerfd_create(clock, TFD_CLOEXEC | TFD_NONBLOCK);
	if (fd < 0)
		return -errno;
	close_timerfd(wheel);
	wheel->fd = fd;
	wheel->owner = getpid();
	wheel->alarm = set_timerfd;
	move_alarm(wheel);
	return fd;
}

void hwheel_local_set_alarm(struct hwheel_local *wheel, hwheel_local_alarm_fn *alarm)
{
	close_timerfd(wheel);
	wheel->alarm = alarm;
	move_alarm(wheel);
}

int hwheel_local_wait_ms(const struct hwheel_local *wheel, uint64_t now_ns)
{
	uint64_t next = hwheel_local_next(wheel), ms;

	if (next == HWHEEL_LOCAL_NEVER)
		return -1;
	if (next <= now_ns)
		return 0;
	ms = (next - now_ns - 1) / NSEC_PER_MSEC + 1;
	return ms < INT_MAX ? (int)ms : INT_MAX;
}

/* The search */

static void clear(struct hwheel_local *wheel, unsigned int i)
{
	wheel->occupied[i / 64] &= ~(1ULL << (i % 64));
}

/* The first slot that is not empty, or SLOTS. Clears the bits of empty ones before it. */
static unsigned int first_slot(struct hwheel_local *wheel)
{
	unsigned int word, i;

	for (word = 0; word < WORDS; word++) {
		while (wheel->occupied[word]) {
			i = word * 64 + (unsigned int)__builtin_ctzll(wheel->occupied[word]);
			if (!list_is_empty(&wheel->slot[i]))
				return i;
			clear(wheel, i);
		}
	}
	return SLOTS;
}

/* The lowest bit of the digit of a slot's level */
static unsigned int bit_of(unsigned int i)
{
	return i / HWHEEL_LOCAL_SLOTS * HWHEEL_LOCAL_BITS;
}

/* The first edge of a slot that is not empty: its digits above are the cursor's. */
static uint64_t start_of(const struct hwheel_local *wheel, unsigned int i)
{
	unsigned int bit = bit_of(i);
	uint64_t above = wheel->cursor >> bit >> HWHEEL_LOCAL_BITS;

	return (above << HWHEEL_LOCAL_BITS | i % HWHEEL_LOCAL_SLOTS) << bit;
}

/* The edge before the one at which a timeout is due. One whose deadline had passed has @filed. */
static uint64_t before_due(const struct hwheel_local *wheel,
			   const struct hwheel_local_timeout *timeout)
{
	uint64_t deadline = timeout->deadline;

	return (deadline > timeout->filed ? deadline - 1 : timeout->filed) >> wheel->shift;
}

/*
 * The edge at which the first slot has to be looked at. Of few timeouts it is that of the earliest,
 * but at most the end of the slot, where later slots begin. Of many it is the slot's beginning, at
 * which they are filed on lower levels.
 *
 * A move stores no more than the deadline only if that comes after @filed. So @filed follows the
 * deadlines that count here, or a move back to an earlier one would not lower @wake.
 */
static uint64_t earliest_in(struct hwheel_local *wheel, unsigned int i)
{
	struct hwheel_local_link *list = &wheel->slot[i], *link = list->next;
	uint64_t start = start_of(wheel, i), earliest = start + (1ULL << bit_of(i)), before;
	unsigned int n;

	if (!bit_of(i))
		return start;
	for (n = 0; n < LOOK && link != list; n++, link = link->next) {
		before = before_due(wheel, timeout_of(link));
		timeout_of(link)->filed = before << wheel->shift;
		if (before + 1 < earliest)
			earliest = before + 1;
	}
	return link == list ? earliest : start;
}

/* Nothing is due. */
static void settle(struct hwheel_local *wheel)
{
	unsigned int i = first_slot(wheel);

	wheel->wake = i == SLOTS ? UINT64_MAX : earliest_in(wheel, i);
	move_alarm(wheel);
}

bool hwheel_local_is_empty(struct hwheel_local *wheel)
{
	if (!list_is_empty(&wheel->slot[wheel->held]) || !list_is_empty(&wheel->due))
		return false;
	wheel->held = first_slot(wheel) % SLOTS;
	if (!list_is_empty(&wheel->slot[wheel->held]))
		return false;
	if (wheel->wake != UINT64_MAX)
		hwheel_local_aim(wheel, UINT64_MAX);
	return true;
}

/* Runs */

/*
 * Makes the timeouts of the first slot due if it begins by the edge @reached. Else all slots begin
 * after it. A run within a callback may have gone further.
 */
static bool advance(struct hwheel_local *wheel, uint64_t reached)
{
	unsigned int i = first_slot(wheel);
	struct hwheel_local_link *list;

	if (i == SLOTS || start_of(wheel, i) > reached) {
		if (wheel->cursor < reached)
			wheel->cursor = reached;
		return false;
	}
	wheel->cursor = start_of(wheel, i);
	list = &wheel->slot[i];
	wheel->due = *list;
	wheel->due.next->prev = &wheel->due;
	wheel->due.prev->next = &wheel->due;
	list_init(list);
	clear(wheel, i);
	return true;
}

static struct hwheel_local_timeout *pop(struct hwheel_local_link *list)
{
	struct hwheel_local_link *link = list->next;

	list->next = link->next;
	list->next->prev = list;
	return timeout_of(link);
}

/* Takes a timeout that is due at the edge @reached. */
static inline struct hwheel_local_timeout *take(struct hwheel_local *wheel, uint64_t reached)
{
	struct hwheel_local_timeout *timeout;
	uint64_t time;

	if (reached < wheel->wake)
		return NULL;
	do {
		time = wheel->cursor << wheel->shift;
		while (!list_is_empty(&wheel->due)) {
			timeout = pop(&wheel->due);
			if (timeout->deadline <= time && timeout->filed < time) {
				timeout->link.next = NULL;
				return timeout;
			}
			hwheel_local_file(wheel, timeout, timeout->filed >> wheel->shift);
		}
	} while (advance(wheel, reached));
	settle(wheel);
	return NULL;
}

/* The edge that a run comes to, which is not before that of an earlier one */
static uint64_t reach(struct hwheel_local *wheel, uint64_t now_ns)
{
	uint64_t edge = now_ns >> wheel->shift;

	hwheel_local_update(wheel, now_ns);
	if (wheel->reached < edge)
		wheel->reached = edge;
	return wheel->reached;
}

struct hwheel_local_timeout *hwheel_local_take(struct hwheel_local *wheel, uint64_t now_ns)
{
	return take(wheel, reach(wheel, now_ns));
}

unsigned int hwheel_local_run(struct hwheel_local *wheel, uint64_t now_ns)
{
	uint64_t reached = reach(wheel, now_ns);
	struct hwheel_local_timeout *timeout;
	unsigned int n;

	for (n = 0; (timeout = take(wheel, reached)); n++)
		timeout->expire(wheel, timeout);
	return n;
}

int hwheel_local_again(struct hwheel_local *wheel, struct hwheel_local_timeout *timeout,
		       uint64_t interval_ns, uint64_t *missed)
{
	uint64_t deadline = timeout->deadline, over = 0, step;

	if (!interval_ns)
		return -EINVAL;
	if (deadline < wheel->now)
		over = (wheel->now - deadline) / interval_ns;
	if (__builtin_mul_overflow(over + 1, interval_ns, &step) ||
	    __builtin_add_overflow(deadline, step, &deadline))
		deadline = HWHEEL_LOCAL_NEVER;
	if (missed)
		*missed = over;
	hwheel_local_set_at(wheel, timeout, deadline);
	return 0;
}
