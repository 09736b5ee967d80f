// SPDX-License-Identifier: GPL-2.0-only
/*
 * What time-outs take hwheel's worker, which is not in what the caller sees.
 *
 * Both run times are those that the scheduler accounts to the threads, in ns, which are
 * instructions here. A batch at a time lives on a wheel with the default tick on which
 * nothing else happens: so all that a pass takes, and falling asleep and waking up, is
 * shared by so few. Not in it: the interrupts that wake the worker.
 */
#include <dirent.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "hwheel.h"
#include "measure.h"
#include "worker.h"

#define ROUNDS	10
#define TICK	(10 * MSEC)

/* Until the worker has done all, and sleeps until something comes */
#define QUIET_NS	(5 * TICK)

static bool is_worker(const char *pid)
{
	char path[300], name[32] = "", mine[32];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%s/comm", pid);
	snprintf(mine, sizeof(mine), "hwheel/p%d\n", getpid());
	file = fopen(path, "r");
	if (!file)
		return false;
	if (!fgets(name, sizeof(name), file))
		name[0] = '\0';
	fclose(file);
	return !strcmp(name, mine);
}

/* The thread of the wheel that this process has */
static int find_worker(void)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	int pid = 0;

	must(proc, "/proc");
	while (!pid && (entry = readdir(proc)))
		if (is_worker(entry->d_name))
			pid = atoi(entry->d_name);
	closedir(proc);
	if (!pid)
		errx(1, "the worker can't be found");
	return pid;
}

static __u64 run_time_of(int pid)
{
	unsigned long long ns;
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", pid);
	file = fopen(path, "r");
	must(file, path);
	if (fscanf(file, "%llu", &ns) != 1)
		errx(1, "%s can't be read", path);
	fclose(file);
	return ns;
}

static __u64 own_run_time(void)
{
	struct timespec now;

	must(!clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now), "CLOCK_THREAD_CPUTIME_ID");
	return now.tv_sec * SEC + now.tv_nsec;
}

static void arm_and_cancel(const unsigned int *which, unsigned int nr)
{
	hwheel_arm(which, nr);
	hwheel_cancel(which, nr);
}

static void arm_and_cancel_later(const unsigned int *which, unsigned int nr)
{
	hwheel_arm(which, nr);
	sleep_ns(QUIET_NS);
	hwheel_cancel(which, nr);
}

static void arm_and_read(const unsigned int *which, unsigned int nr)
{
	hwheel_arm_due(which, nr);
	sleep_ns(QUIET_NS);
	hwheel_read(which, nr);
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
	__u64 least_worker = -1, least_both = -1;
	unsigned int round;

	for (round = 0; round < ROUNDS; round++) {
		__u64 workers = -run_time_of(worker), own = -own_run_time();

		life->run(which, BATCH);
		own += own_run_time();
		sleep_ns(QUIET_NS);
		workers += run_time_of(worker);
		least_worker = workers < least_worker ? workers : least_worker;
		least_both = workers + own < least_both ? workers + own : least_both;
	}
	report_each(life->worker, "hwheel", n, least_worker);
	report_each(life->both, "hwheel", n, least_both);
}

static void open_with_tick(unsigned int room)
{
	hwheel_open_tick(room, TICK);
}

static const struct facility with_tick = {
	.open	= open_with_tick,
	.arm	= hwheel_arm,
};

void worker_measure(unsigned int n)
{
	const struct life *life;
	int worker;

	measure_fill(&with_tick, n);
	worker = find_worker();
	sleep_ns(QUIET_NS);
	for (life = lives; life->run; life++)
		measure_life(life, worker, n);
	hwheel_close();
}
