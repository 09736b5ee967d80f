// SPDX-License-Identifier: GPL-2.0-only
/*
 * Users who each have a timeout every 10 ms: a worker each where one could do the work of all. A
 * process with a timerfd each has no worker. All deadlines are edges of the wheels, which are the
 * same for all wheels.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/hwheel.h>

#include "commands.h"
#include "helpers.h"

#define FIRST_USER	5000
#define MOST		100U
#define TICK		(10 * MSEC)
#define WARM_UP		(2 * SEC)
#define SPAN		(5 * SEC)
#define SAMPLES		(SPAN / TICK)

/* Set while the processes measure; what they measured, each its own */
static struct shared {
	int		measuring;
	unsigned int	nr[MOST];
	__u64		late[MOST][SAMPLES];
} *shared;

static int open_hwheel(void)
{
	return open("/dev/hwheel", O_RDWR);
}

static void wait_hwheel(int fd, __u64 deadline)
{
	struct hwheel_op op = { .flags = HWHEEL_ABSOLUTE, .time_ns = deadline };
	struct hwheel_event event;

	must(!ioctl(fd, HWHEEL_IOC_ARM, &op), "ARM");
	must(read(fd, &event, sizeof(event)) == sizeof(event), "read");
}

static int open_timerfd(void)
{
	return timerfd_create(CLOCK_MONOTONIC, 0);
}

static void wait_timerfd(int fd, __u64 deadline)
{
	struct itimerspec at = { .it_value = { deadline / SEC, deadline % SEC } };
	__u64 expired;

	must(!timerfd_settime(fd, TFD_TIMER_ABSTIME, &at, NULL), "timerfd_settime");
	must(read(fd, &expired, sizeof(expired)) == sizeof(expired), "read");
}

static const struct way {
	const char	*name;
	int		(*open)(void);
	void		(*wait)(int fd, __u64 deadline);
} ways[] = {
	{ "hwheel", open_hwheel, wait_hwheel },
	{ "timerfd", open_timerfd, wait_timerfd },
};

static void run_user(const struct way *way, unsigned int user)
{
	unsigned int *nr = &shared->nr[user];
	__u64 deadline;
	int fd;

	must(!setresuid(FIRST_USER + user, 0, 0), "setresuid");
	fd = way->open();
	must(fd >= 0, way->name);
	for (;;) {
		deadline = (now_ns() / TICK + 1) * TICK;
		way->wait(fd, deadline);
		if (__atomic_load_n(&shared->measuring, __ATOMIC_RELAXED) && *nr < SAMPLES)
			shared->late[user][(*nr)++] = now_ns() - deadline;
	}
}

/* The sum of the numbers in the line of @path that begins with @name */
static double sum_of(const char *path, const char *name)
{
	FILE *file = fopen(path, "r");
	char line[4096], *word;
	double sum = 0;

	must(file, path);
	while (fgets(line, sizeof(line), file)) {
		word = strtok(line, " \t\n");
		if (!word || strcmp(word, name))
			continue;
		while ((word = strtok(NULL, " \t\n")))
			sum += strtod(word, NULL);
	}
	fclose(file);
	return sum;
}

static int compare(const void *a, const void *b)
{
	const __u64 *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void report_all(const struct way *way, unsigned int users, double switches,
		       double interrupts)
{
	__u64 *late = zeros(users * SAMPLES, sizeof(*late));
	unsigned long n = 0;
	unsigned int i;

	for (i = 0; i < users; i++) {
		memcpy(&late[n], shared->late[i], shared->nr[i] * sizeof(*late));
		n += shared->nr[i];
	}
	must(n > users, "events");
	qsort(late, n, sizeof(*late), compare);
	report("accounts.events", way->name, users, "1/s", (double)n * SEC / SPAN);
	report("accounts.switches", way->name, users, "times", switches / n);
	report("accounts.interrupts", way->name, users, "1/s", interrupts * SEC / SPAN);
	report("accounts.late_median", way->name, users, "us", late[n / 2] / 1e3);
	report("accounts.late_p99", way->name, users, "us", late[n * 99 / 100] / 1e3);
	free(late);
}

static void measure_users(const struct way *way, unsigned int users)
{
	double switches, interrupts;
	pid_t pids[MOST];
	unsigned int i;

	memset(shared, 0, sizeof(*shared));
	for (i = 0; i < users; i++) {
		pids[i] = fork();
		must(pids[i] >= 0, "fork");
		if (!pids[i])
			run_user(way, i);
	}
	sleep_ns(WARM_UP);
	switches = sum_of("/proc/stat", "ctxt");
	interrupts = sum_of("/proc/interrupts", "LOC:");
	__atomic_store_n(&shared->measuring, 1, __ATOMIC_RELAXED);
	sleep_ns(SPAN);
	__atomic_store_n(&shared->measuring, 0, __ATOMIC_RELAXED);
	switches = sum_of("/proc/stat", "ctxt") - switches;
	interrupts = sum_of("/proc/interrupts", "LOC:") - interrupts;
	for (i = 0; i < users; i++)
		must(!kill(pids[i], SIGKILL) && waitpid(pids[i], NULL, 0) == pids[i], "kill");
	report_all(way, users, switches, interrupts);
}

void bench_accounts(void)
{
	static const unsigned int users[] = { 1, 10, 64, MOST };
	unsigned int i, way;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	must(shared != MAP_FAILED, "mmap");
	for (i = 0; i < sizeof(users) / sizeof(*users); i++)
		for (way = 0; way < sizeof(ways) / sizeof(*ways); way++)
			measure_users(&ways[way], users[i]);
}
