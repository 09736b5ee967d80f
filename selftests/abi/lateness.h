/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How late timeouts are on the shared wheel beside processes that attack the worker, and how
 * late beside as many busy ones. Attackers and bystanders are other users than the victim,
 * which may still open the device, and they leave the CPUs to it.
 */
#ifndef _HWHEEL_SELFTESTS_LATENESS_H
#define _HWHEEL_SELFTESTS_LATENESS_H

#include "common.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#define SAMPLES		31
#define TRIES		3

/**
 * struct lateness - how late timeouts are, in ns
 * @fired: when they fired: the median, as a machine may stand still now and then
 * @seen:  when the reader had the event: the median
 * @worst: and all but a few
 */
struct lateness {
	__u64	fired;
	__u64	seen;
	__u64	worst;
};

/**
 * struct samples - what is measured of each timeout, in ns
 * @fired: how late it fired
 * @seen:  how late the reader had the event
 */
struct samples {
	__u64	fired[SAMPLES];
	__u64	seen[SAMPLES];
};

static inline int compare_u64(const void *a, const void *b)
{
	const __u64 *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* @percent of the samples are no larger. */
static inline __u64 percentile(__u64 *samples, unsigned int percent)
{
	qsort(samples, SAMPLES, sizeof(*samples), compare_u64);
	return samples[SAMPLES * percent / 100];
}

static inline struct lateness sum_up(struct samples *samples)
{
	return (struct lateness){
		.fired = percentile(samples->fired, 50),
		.seen = percentile(samples->seen, 50),
		.worst = percentile(samples->seen, 90),
	};
}

/*
 * What the victim may be later than usual. A busy machine may stand still for a good part of a
 * second, but work items have more to do than that.
 */
static inline struct lateness latest(const struct lateness *usual, __u64 tick)
{
	return (struct lateness){
		.fired = usual->fired + 2 * tick,
		.seen = usual->seen + 2 * tick,
		.worst = usual->worst + 80 * tick,
	};
}

static inline bool is_within(const struct lateness *lateness, const struct lateness *latest)
{
	return lateness->fired <= latest->fired && lateness->seen <= latest->seen &&
	       lateness->worst <= latest->worst;
}

static inline __u64 tick_ns(void)
{
	struct hwheel_info info = { 0 };
	int fd = open_device(0);

	if (fd < 0)
		return 0;
	if (get_info(fd, &info))
		info.tick_ns = 0;
	close(fd);
	return info.tick_ns;
}

static inline int become_attacker(uid_t uid)
{
	if (setresuid(uid, 0, 0) || setpriority(PRIO_PROCESS, 0, 19) ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL))
		return -errno;
	return 0;
}

/* As busy as an attacker, but does no harm */
static inline pid_t fork_bystander(uid_t uid)
{
	pid_t pid = fork();

	if (!pid && !become_attacker(uid))
		for (;;)
			sched_yield();
	if (!pid)
		_exit(1);
	return pid;
}

static inline void kill_attacker(pid_t *pid)
{
	if (*pid > 0) {
		kill(*pid, SIGKILL);
		waitpid(*pid, NULL, 0);
	}
	*pid = 0;
}

#endif /* _HWHEEL_SELFTESTS_LATENESS_H */
