/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How late the timeouts of a victim are beside processes that attack others by their own timeouts.
 *
 * Beside the victim a control sleeps to times of the same kind with clock_nanosleep(): the machine,
 * and what the attackers take of its CPUs, makes it late as well. So the victim may be later by a
 * factor, as its worker has to be woken, too, and by a tick. No bound is a time: machines differ.
 */
#ifndef _HWHEEL_SELFTESTS_VICTIM_H
#define _HWHEEL_SELFTESTS_VICTIM_H

#include "accounts.h"
#include "map.h"
#include "share.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#define SAMPLES		31
#define TRIES		4
#define FACTOR		4

/* A deadline is the edge that is so far ahead: attackers can arm timeouts for it later. */
#define AHEAD		4

/**
 * struct lateness - how long after a deadline a program runs again, in ns
 * @median: the median, as a machine may stand still now and then
 * @most:   all but a tenth
 * @worst:  the worst
 */
struct lateness {
	__u64	median;
	__u64	most;
	__u64	worst;
};

/**
 * struct victim - what is measured in a process of its own
 * @tick:    of the victim's wheel
 * @ids:     of timeouts with ids
 * @mapped:  of mapped ones
 * @control: of clock_nanosleep()
 */
struct victim {
	__u64		tick;
	struct lateness	ids;
	struct lateness	mapped;
	struct lateness	control;
};

/* What the victim is: another user than the attackers, root as they are, or root of a container */
enum account { A_USER, A_CGROUP, A_NAMESPACE };

#define VICTIM_UID	4100
#define ATTACKER_UID	4200

/* All can open the device, as they are root but for the real uid, which is what counts. */
static inline int enter(enum account account, bool as_victim, unsigned int nr)
{
	char group[64];

	snprintf(group, sizeof(group), HIERARCHY "/%s%u", as_victim ? "victim" : "attacker", nr);
	if (account == A_CGROUP)
		return join(group);
	if (account == A_NAMESPACE && as_victim)
		return enter_namespace();
	return setresuid((as_victim ? VICTIM_UID : ATTACKER_UID) + nr, 0, 0) ? -errno : 0;
}

static inline int compare_u64(const void *a, const void *b)
{
	const __u64 *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/**
 * struct sleeper - a thread of the victim's process that is woken
 * @victim: that
 * @sleep:  returns when the time has come, with an error if there is one
 * @map:    for mapped timeouts
 * @fd:     for others
 * @is:     what is measured
 */
struct sleeper {
	struct victim	*victim;
	int		(*sleep)(struct sleeper *sleeper, __u64 deadline);
	struct map	map;
	int		fd;
	struct lateness	*is;
};

static inline int sleep_by_id(struct sleeper *sleeper, __u64 deadline)
{
	struct hwheel_event event;

	return arm_at(sleeper->fd, deadline, 0, NULL) ?: next_event(sleeper->fd, &event);
}

static inline int sleep_mapped(struct sleeper *sleeper, __u64 deadline)
{
	struct map_event event;

	return map_arm(&sleeper->map, 0, 3, deadline) ?: map_next_of(&sleeper->map, 3, &event);
}

static inline int sleep_by_clock(struct sleeper *sleeper, __u64 deadline)
{
	const struct timespec until = { deadline / SEC, deadline % SEC };

	return -clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

static inline void *measure(void *data)
{
	struct sleeper *sleeper = data;
	__u64 samples[SAMPLES], tick = sleeper->victim->tick, deadline;
	long ret = 0;
	size_t i;

	for (i = 0; !ret && i < SAMPLES; i++) {
		deadline = (now_ns() / tick + AHEAD) * tick;
		ret = sleeper->sleep(sleeper, deadline);
		samples[i] = now_ns() - deadline;
	}
	if (!ret) {
		qsort(samples, SAMPLES, sizeof(*samples), compare_u64);
		sleeper->is->median = samples[SAMPLES / 2];
		sleeper->is->most = samples[SAMPLES * 9 / 10];
		sleeper->is->worst = samples[SAMPLES - 1];
	}
	return (void *)ret;
}

static inline int measure_all(struct victim *victim)
{
	struct sleeper sleepers[] = {
		{ .victim = victim, .sleep = sleep_by_clock, .is = &victim->control },
		{ .victim = victim, .sleep = sleep_by_id, .is = &victim->ids },
		{ .victim = victim, .sleep = sleep_mapped, .is = &victim->mapped },
	};
	/* Some kernels have no mapped timeouts. */
	int nr = map_is_supported() ? 3 : 2, ret = 0, i;
	pthread_t threads[3];
	void *err;

	sleepers[1].fd = open_device(O_NONBLOCK);
	if (sleepers[1].fd < 0)
		return sleepers[1].fd;
	if (nr == 3)
		ret = map_open_shared(&sleepers[2].map, 10, 1);
	for (i = 0; !ret && i < nr; i++)
		ret = -pthread_create(&threads[i], NULL, measure, &sleepers[i]);
	if (ret)
		return ret;
	for (i = 0; i < nr; i++) {
		pthread_join(threads[i], &err);
		ret = ret ?: (long)err;
	}
	return ret;
}

static inline bool is_within(const struct lateness *lateness, const struct victim *victim)
{
	const struct lateness *control = &victim->control;

	return lateness->median <= FACTOR * control->median + victim->tick &&
	       lateness->most <= FACTOR * control->most + victim->tick &&
	       lateness->worst <= FACTOR * control->worst + victim->tick;
}

static inline bool is_unharmed(const struct victim *victim)
{
	return is_within(&victim->ids, victim) && is_within(&victim->mapped, victim);
}

/* A machine may stand still just while one of them sleeps: so there are several tries. */
static inline int measure_victim(enum account account, struct victim *victim)
{
	struct hwheel_info info;
	int fd = open_device(0), ret, i;

	if (fd < 0)
		return fd;
	ret = get_info(fd, &info);
	close(fd);
	victim->tick = info.tick_ns;
	for (i = 0; !ret && i < TRIES; i++) {
		ret = IN_CHILD(enter(account, true, 0) ?: measure_all(victim));
		if (is_unharmed(victim))
			break;
	}
	return ret;
}

static inline void show_lateness(struct __test_metadata *_metadata, const char *of,
				 const struct lateness *lateness)
{
	TH_LOG("%s: us late: half %llu, nine tenths %llu, all %llu", of, lateness->median / 1000,
	       lateness->most / 1000, lateness->worst / 1000);
}

static inline void show_victim(struct __test_metadata *_metadata, const struct victim *victim)
{
	show_lateness(_metadata, "ids", &victim->ids);
	show_lateness(_metadata, "mapped", &victim->mapped);
	show_lateness(_metadata, "control", &victim->control);
}

/* Attackers leave the CPUs to the victim, and their workers are bounded as those of a user. */
static inline int become_attacker(enum account victim, unsigned int nr)
{
	if (setpriority(PRIO_PROCESS, 0, 19) || prctl(PR_SET_PDEATHSIG, SIGKILL))
		return -errno;
	return enter(victim, false, nr) ?: set_capability(CAP_SYS_NICE, false);
}

static inline void kill_attacker(pid_t *pid)
{
	if (*pid > 0)
		kill_child(*pid);
	*pid = 0;
}

#endif /* _HWHEEL_SELFTESTS_VICTIM_H */
