// SPDX-License-Identifier: GPL-2.0-only
/*
 * From pending to due. A timeout whose change is being stored is busy: an alarm meanwhile sets
 * rang, and life_go_on() acts on it.
 */
#include <utlist.h>

#include "clock/alarm.h"
#include "clock/now.h"
#include "http/metrics.h"
#include "queue/life.h"

void life_make_due(struct timeout *timeout)
{
	timeout_end_lease(timeout);
	timeout->state = TIMEOUT_DUE;
	alarm_clear(&timeout->alarm);
	queue_add_due(timeout->queue, timeout);
}

static uint64_t end_of_wait(const struct timeout *timeout)
{
	if (timeout->state == TIMEOUT_LEASED)
		return timeout->lease->end_ns;
	return timeout->absolute ? now_from_wall(timeout->deadline_ns) : timeout->deadline_ns;
}

/*
 * The wall clock may have gone back since the alarm was set. A time that is shared may run slower
 * than the wheel's, or be known less exactly than it was.
 */
static bool is_early(const struct timeout *timeout)
{
	return timeout->state != TIMEOUT_DUE && !now_has_come(end_of_wait(timeout));
}

static void end_wait(struct timeout *timeout)
{
	uint64_t now = now_ns();

	if (is_early(timeout)) {
		life_arm(timeout);
		return;
	}
	if (timeout->state == TIMEOUT_PENDING)
		metrics_count_due(now > timeout->due_ns ? now - timeout->due_ns : 0);
	else
		metrics.leases_ended++;
	life_make_due(timeout);
}

static void ring(void *owner, uint64_t at_ns)
{
	struct timeout *timeout = owner;

	if (timeout->state != TIMEOUT_LEASED)
		timeout->due_ns = now_is_shared() ? timeout->deadline_ns : at_ns;
	if (timeout->busy)
		timeout->rang = true;
	else
		end_wait(timeout);
}

/* If the wait is over before the change is stored, no alarm is needed. */
void life_arm(struct timeout *timeout)
{
	uint64_t end_ns = end_of_wait(timeout);

	if (timeout->busy && now_has_come(end_ns)) {
		alarm_clear(&timeout->alarm);
		ring(timeout, end_ns);
		return;
	}
	alarm_set(&timeout->alarm, now_alarm_ns(end_ns), ring, timeout);
}

void life_go_on(struct timeout *timeout)
{
	if (timeout->rang) {
		timeout->rang = false;
		end_wait(timeout);
	} else if (timeout->state == TIMEOUT_DUE && !timeout->prev_due) {
		queue_add_due(timeout->queue, timeout);
	}
}

void life_time_has_jumped(void)
{
	struct timeout *timeout;

	DL_FOREACH2(timeout_oldest(), timeout, newer)
		if (timeout->alarm)
			life_arm(timeout);
}

void life_wall_was_set(void)
{
	struct timeout *timeout;

	DL_FOREACH2(timeout_oldest(), timeout, newer)
		if (timeout->absolute && timeout->state == TIMEOUT_PENDING && timeout->alarm)
			life_arm(timeout);
}

void life_arm_all(void)
{
	struct timeout *timeout;

	DL_FOREACH2(timeout_oldest(), timeout, newer) {
		timeout->busy = false;
		life_arm(timeout);
	}
}
