// SPDX-License-Identifier: GPL-2.0-only
/*
 * The cost of timeouts to hwheel's worker, which the caller does not see.
 *
 * Both run times are those that the scheduler accounts to the threads, in ns, which are
 * instructions here. A batch at a time lives on a wheel with the default tick on which
 * nothing else happens: so all that a pass takes, and falling asleep and waking up, is
 * shared by so few. Not in it: the interrupts that wake the worker.
 *
 * The median of several rounds counts: in the least one it may have been the other thread
 * that had more to do.
 */
#include "commands.h"
#include "hwheel.h"
#include "measure.h"
#include "thread.h"

#define ROUNDS	15
#define TICK	(10 * MSEC)

/* Until the worker has done all, and sleeps until something comes */
#define QUIET_NS	(5 * TICK)

static void arm_and_cancel(const unsigned int *which, unsigned int nr)
{
	device_arm(which, nr);
	device_cancel(which, nr);
}

static void arm_and_cancel_later(const unsigned int *which, unsigned int nr)
{
	device_arm(which, nr);
	sleep_ns(QUIET_NS);
	device_cancel(which, nr);
}

static void arm_and_read(const unsigned int *which, unsigned int nr)
{
	device_arm_due(which, nr);
	sleep_ns(QUIET_NS);
	device_read(which, nr);
}

static const struct life {
	const char	*worker;
	const char	*both;
	void		(*run)(const unsigned int *which, unsigned int nr);
} lives[] = {
	{ "user.worker_arm_cancel", "user.life_arm_cancel_with_worker", arm_and_cancel },
	{ "user.worker_arm_cancel_filed", "user.life_arm_cancel_filed_with_worker",
	  arm_and_cancel_later },
	{ "user.worker_arm_expire", "user.life_arm_expire_read_with_worker", arm_and_read },
	{ }
};

static void measure_life(const struct life *life, int worker, unsigned int n)
{
	const unsigned int *which = measure_which(MORE, n);
	__u64 workers[ROUNDS], both[ROUNDS];
	unsigned int round;

	for (round = 0; round < ROUNDS; round++) {
		__u64 before = thread_run_time(worker), own = -own_run_time();

		life->run(which, BATCH);
		own += own_run_time();
		sleep_ns(QUIET_NS);
		workers[round] = thread_run_time(worker) - before;
		both[round] = workers[round] + own;
	}
	report_each(life->worker, "hwheel", n, median_of(workers, ROUNDS));
	report_each(life->both, "hwheel", n, median_of(both, ROUNDS));
}

static void open_with_tick(unsigned int room)
{
	device_open_tick(room, TICK);
}

static const struct facility with_tick = {
	.open	= open_with_tick,
	.arm	= device_arm,
};

void worker_cost_measure(unsigned int n)
{
	const struct life *life;
	int worker;

	measure_open(&with_tick, n);
	measure_fill(&with_tick, n);
	worker = thread_of_worker();
	sleep_ns(QUIET_NS);
	for (life = lives; life->run; life++)
		measure_life(life, worker, n);
	device_close();
}
