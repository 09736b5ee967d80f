// SPDX-License-Identifier: GPL-2.0-only
/*
 * How late timeouts are, after the deadline that the program wanted: when it sees them,
 * and for hwheel also when the wheel fired them. In ticks of 1 and of 10 ms; a peer
 * without ticks runs once, and its times are given in both.
 */
#include <err.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands.h"
#include "waiter.h"

/* The first deadline comes when all are armed; they are spread over some time. */
#define LEAD_NS		(2 * SEC)
#define SPAN_NS		(3 * SEC)
#define MAX_SPINNERS	64

/**
 * struct scene - what goes on
 * @name: in the results
 * @n:    how many timeouts
 * @busy: whether each CPU has something else to do, too
 */
static const struct scene {
	const char	*name;
	unsigned int	n;
	bool		busy;
} real[] = {
	{ "idle", 1000, false },
	{ "busy", 1000, true },
	{ "load", 30000, false },
	{ }
};

/* Where an instruction takes 1 ns, and nobody else's work is in the way */
static const struct scene counted[] = {
	{ "counted_idle", 1000, false },
	{ "counted_load", 30000, false },
	{ }
};

static const struct tick {
	const char	*name;
	__u64		ns;
} ticks[] = {
	{ "1ms", MSEC },
	{ "10ms", 10 * MSEC },
	{ }
};

static const struct quantile {
	const char	*name;
	unsigned int	per_mille;
} quantiles[] = {
	{ "p50", 500 },
	{ "p99", 990 },
	{ "p999", 999 },
	{ "max", 1000 },
	{ }
};

/* How late each one was, in ns: as seen, and as fired */
static __s64 *seen, *fired;

static void spin(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (1)
		asm volatile("pause");
}

static unsigned int start_spinners(const struct scene *scene, pid_t *pids)
{
	unsigned int nr = scene->busy ? sysconf(_SC_NPROCESSORS_ONLN) : 0, i;

	if (nr > MAX_SPINNERS)
		errx(1, "%u CPUs are too many", nr);
	for (i = 0; i < nr; i++) {
		pids[i] = fork();
		must(pids[i] >= 0, "fork");
		if (!pids[i])
			spin();
	}
	return nr;
}

static void stop_spinners(const pid_t *pids, unsigned int nr)
{
	while (nr--)
		must(!kill(pids[nr], SIGKILL) && waitpid(pids[nr], NULL, 0) > 0, "kill");
}

/* At random, and the same ones each time, but for when they begin */
static __u64 *draw_deadlines(unsigned int n, __u64 first)
{
	__u64 *deadlines = zeros(n, sizeof(*deadlines));
	unsigned int i;

	srandom(1);
	for (i = 0; i < n; i++)
		deadlines[i] = first + (double)random() / RAND_MAX * SPAN_NS;
	return deadlines;
}

static void collect(const struct waiter *waiter, const __u64 *deadlines, unsigned int n)
{
	struct expiry expiries[BATCH], *expiry;
	unsigned int nr;

	for (; n; n -= nr) {
		nr = waiter->wait(expiries);
		for (expiry = expiries; expiry < expiries + nr; expiry++) {
			seen[expiry->number] = expiry->seen - deadlines[expiry->number];
			fired[expiry->number] = expiry->fired - deadlines[expiry->number];
		}
	}
}

static void run(const struct waiter *waiter, unsigned int n, __u64 tick_ns)
{
	__u64 first, *deadlines;

	waiter->open(n, tick_ns);
	first = now_ns() + LEAD_NS;
	deadlines = draw_deadlines(n, first);
	waiter->arm(deadlines, n);
	if (now_ns() >= first)
		errx(1, "%s: it took too long to arm %u", waiter->name, n);
	collect(waiter, deadlines, n);
	waiter->close();
	free(deadlines);
}

static int compare(const void *left, const void *right)
{
	const __s64 *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

/* @kind is "" or "_seen". */
static void report_as(const char *impl, const struct scene *scene, const struct tick *tick,
		      const char *kind, const char *what, const char *unit, double value)
{
	char metric[64];

	snprintf(metric, sizeof(metric), "lateness.%s_%s%s_%s", scene->name, tick->name, kind,
		 what);
	report(metric, impl, scene->n, unit, value);
}

/* Sorts @late and tells how many are early. */
static unsigned int report_late(const char *impl, const struct scene *scene,
				const struct tick *tick, const char *kind, __s64 *late)
{
	const struct quantile *quantile;
	unsigned int early, rank;

	qsort(late, scene->n, sizeof(*late), compare);
	for (quantile = quantiles; quantile->name; quantile++) {
		rank = (scene->n * quantile->per_mille + 999) / 1000;
		report_as(impl, scene, tick, kind, quantile->name, "ticks",
			  (double)late[rank - 1] / tick->ns);
	}
	for (early = 0; early < scene->n && late[early] < 0; early++)
		;
	report_as(impl, scene, tick, kind, "early", "count", early);
	return early;
}

/* Each tick is a wheel of its own. */
static void lateness_of_wheel(const struct waiter *waiter, const struct scene *scene)
{
	const struct tick *tick;

	for (tick = ticks; tick->name; tick++) {
		run(waiter, scene->n, tick->ns);
		report_late(waiter->name, scene, tick, "_seen", seen);
		if (report_late(waiter->name, scene, tick, "", fired))
			errx(1, "some of %s's were early", waiter->name);
	}
}

static void lateness_of_other(const struct waiter *waiter, const struct scene *scene)
{
	const struct tick *tick;

	run(waiter, scene->n, 0);
	for (tick = ticks; tick->name; tick++)
		report_late(waiter->name, scene, tick, "_seen", seen);
}

static void lateness_in(const struct scene *scene)
{
	pid_t pids[MAX_SPINNERS];
	unsigned int nr = start_spinners(scene, pids);

	seen = zeros(scene->n, sizeof(*seen));
	fired = zeros(scene->n, sizeof(*fired));
	lateness_of_wheel(&hwheel_waiter, scene);
	lateness_of_wheel(&library_waiter, scene);
	lateness_of_other(&timerfd_waiter, scene);
	lateness_of_other(&heap_waiter, scene);
	free(seen);
	free(fired);
	stop_spinners(pids, nr);
}

void bench_lateness(void)
{
	const struct scene *scene;

	for (scene = real; scene->name; scene++)
		lateness_in(scene);
}

void bench_lateness_counted(void)
{
	const struct scene *scene;

	for (scene = counted; scene->name; scene++)
		lateness_in(scene);
}
