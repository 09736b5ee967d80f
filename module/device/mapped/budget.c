// SPDX-License-Identifier: GPL-2.0-only
/*
 * The time that the worker has for mapped files: a program's records take the worker's time, and
 * no cgroup pays for it.
 *
 * On the shared wheel the mapped files of a user have a quarter of a tick in each tick, and all
 * mapped files together half a tick. A file whose user has used that up, or that comes when all
 * is used up, waits for the next tick. A batch of records may take longer than there was time:
 * the excess counts in the following ticks, as far as CARRIED. The time in which the scheduler
 * let others run counts for nobody.
 *
 * A run that took more than a small part makes its file a busy one. The worker runs busy files
 * after the others (engine/source.c), so that no file with little work waits for floods.
 *
 * On a wheel of its own a file keeps nobody else waiting; its part is bounded by a tick, so that
 * the worker looks at the clock and at the lists.
 *
 * The accounts of the shared wheel are its worker's own.
 */
#include <linux/jiffies.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/sched.h>

#include "device/account.h"
#include "device/file.h"
#include "engine/wheel.h"
#include "budget.h"

/* Parts of a tick */
#define USER_PART	4
#define ALL_PART	2

/* A run that takes more than this part is a busy one, and for less time none begins. */
#define SMALL_PART	32

/* How many parts an account may be behind: what a stall of the machine costs is bounded. */
#define CARRIED		3

/* How long a file on a wheel of its own may take before its worker drains the lists, in ns */
#define OWN_NS		(10 * NSEC_PER_MSEC)

static struct hwheel_account_time all;

/* Pays off an account: each tick that has begun since pays for a part. */
static void pay(struct hwheel_account_time *time, u64 edge, u64 limit)
{
	u64 paid;

	if (check_mul_overflow(edge - time->edge, limit, &paid))
		paid = U64_MAX;
	time->edge = edge;
	time->spent = min(time->spent, CARRIED * limit);
	time->spent -= min(time->spent, paid);
}

/* Returns the rest of an account in the tick that begins at the reached edge. */
static u64 left_of(struct hwheel_account_time *time, const struct hwheel *wheel,
		   unsigned int part)
{
	u64 limit = div_u64(wheel->tick, part);

	if (time->edge != wheel->reached)
		pay(time, wheel->reached, limit);
	return limit - min(limit, time->spent);
}

/* A rest so small that a file would lose its turn for it counts as none. */
static u64 time_left(const struct hwheel_mapping *map)
{
	const struct hwheel *wheel = hwheel_mapping_wheel(map);
	u64 left;

	if (!hwheel_file_is_on_shared_wheel(map->file))
		return min_t(u64, OWN_NS, wheel->tick);
	left = min(left_of(&map->file->account->mapped, wheel, USER_PART),
		   left_of(&all, wheel, ALL_PART));
	return left > wheel->tick / SMALL_PART ? left : 0;
}

/* How long this thread has run, in ns; right to a jiffy. It changes in two parts if u64 does. */
static u64 own_runtime(void)
{
	u64 ran;

	do {
		ran = READ_ONCE(current->se.sum_exec_runtime);
	} while (!IS_ENABLED(CONFIG_64BIT) &&
		 ran != READ_ONCE(current->se.sum_exec_runtime));
	return ran;
}

static void look_at_clocks(struct hwheel_map_budget *budget, u64 now)
{
	budget->since = now;
	budget->ran = own_runtime();
	budget->preempted = READ_ONCE(current->nivcsw);
}

/*
 * How long the run has taken. The scheduler updates the thread's run time when it preempts the
 * thread: that time is known then, and what came after that counts from now on.
 */
u64 hwheel_map_budget_spent(struct hwheel_mapping *map)
{
	struct hwheel_map_budget *budget = &map->budget;
	u64 now = ktime_get_mono_fast_ns(), passed = now - budget->since;

	if (likely(READ_ONCE(current->nivcsw) == budget->preempted))
		return budget->spent + passed;
	budget->spent += min(passed, own_runtime() - budget->ran);
	look_at_clocks(budget, now);
	return budget->spent;
}

/*
 * Returns whether there is time for a run, which then ends with hwheel_map_budget_end(). Half of it
 * comes first, and hwheel_map_budget_extend() gives the rest.
 */
bool hwheel_map_budget_begin(struct hwheel_mapping *map)
{
	u64 left = time_left(map);

	map->budget.spent = 0;
	look_at_clocks(&map->budget, ktime_get_mono_fast_ns());
	map->budget.all = left;
	map->budget.may = left / 2;
	return left;
}

/* Returns whether the run was a busy one. */
bool hwheel_map_budget_end(struct hwheel_mapping *map)
{
	u64 spent;

	if (!hwheel_file_is_on_shared_wheel(map->file))
		return false;
	spent = hwheel_map_budget_spent(map);
	map->file->account->mapped.spent += spent;
	all.spent += spent;
	return spent > hwheel_mapping_wheel(map)->tick / SMALL_PART;
}
