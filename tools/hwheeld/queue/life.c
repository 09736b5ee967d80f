// SPDX-License-Identifier: GPL-2.0-only
/*
 * From pending to due. A timeout whose change is being stored is busy: an alarm meanwhile sets
 * rang, and life_go_on() acts on it.
 */
#include <utlist.h>

#include "clock/alarm.h"
#include "clock/now.h"
#include "log/log.h"
#include "queue/life.h"

void life_make_due(struct timeout *timeout)
{
	timeout_end_lease(timeout);
	timeout->rang = false;
	timeout->state = TIMEOUT_DUE;
	alarm_clear(&timeout->alarm);
	timeout_add_due(timeout);
}

static uint64_t life_end_of_wait(const struct timeout *timeout)
{
	if (timeout->state == TIMEOUT_LEASED)
		return timeout->lease->end_ns;
	return timeout->absolute ? now_from_wall(timeout->deadline_ns) : timeout->deadline_ns;
}

/*
 * It may be too early: the wall clock may have gone back since the alarm was set, and a time that
 * is shared may run slower than the wheel's, or be known less exactly than it was.
 */
static void life_end_wait(struct timeout *timeout)
{
	struct metrics *metrics = &timeout->queue->service->metrics;
	uint64_t now = now_ns();

	if (timeout->state != TIMEOUT_DUE && !now_has_come(life_end_of_wait(timeout))) {
		life_arm(timeout);
		return;
	}
	if (timeout->state == TIMEOUT_PENDING) {
		metrics->due++;
		metrics_add(&metrics->lateness, now > timeout->due_ns ? now - timeout->due_ns : 0);
	} else {
		metrics->leases_ended++;
	}
	life_make_due(timeout);
}

void life_end_lease(struct timeout *timeout)
{
	if (timeout->state == TIMEOUT_LEASED && !timeout->busy &&
	    now_has_come(timeout->lease->end_ns))
		life_end_wait(timeout);
}

static void life_ring(void *owner, uint64_t at_ns)
{
	struct timeout *timeout = owner;

	if (timeout->state != TIMEOUT_LEASED)
		timeout->due_ns = now_is_shared() ? timeout->deadline_ns : at_ns;
	if (timeout->busy)
		timeout->rang = true;
	else
		life_end_wait(timeout);
}

/* If the wait is over before the change is stored, no alarm is needed. */
void life_arm(struct timeout *timeout)
{
	uint64_t end_ns = life_end_of_wait(timeout);

	if (timeout->busy && now_has_come(end_ns)) {
		alarm_clear(&timeout->alarm);
		life_ring(timeout, end_ns);
	} else {
		alarm_set(&timeout->alarm, now_alarm_ns(end_ns), life_ring, timeout);
	}
}

void life_go_on(struct timeout *timeout)
{
	if (timeout->rang) {
		timeout->rang = false;
		life_end_wait(timeout);
	} else if (timeout->state == TIMEOUT_DUE && !timeout->prev_due) {
		timeout_add_due(timeout);
	}
}

void life_arm_anew(struct service *service)
{
	bool all = now_is_shared();
	struct timeout *it;

	for (unsigned int i = 0; i < log_count(service); i++)
		DL_FOREACH2(service->logs[i].oldest, it, newer)
			if (it->alarm && (all || (it->absolute && it->state == TIMEOUT_PENDING)))
				life_arm(it);
}
