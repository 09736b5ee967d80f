// SPDX-License-Identifier: GPL-2.0-only
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "helpers.h"
#include "libhwheel.h"
#include "thread.h"

static bool has_name(const char *pid, const char *wanted)
{
	char path[300], name[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%s/comm", pid);
	file = fopen(path, "r");
	if (!file)
		return false;
	if (!fgets(name, sizeof(name), file))
		name[0] = '\0';
	fclose(file);
	name[strcspn(name, "\n")] = '\0';
	return !strcmp(name, wanted);
}

int thread_of(const char *name)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	int pid = 0;

	must(proc, "/proc");
	while (!pid && (entry = readdir(proc)))
		if (has_name(entry->d_name, name))
			pid = atoi(entry->d_name);
	closedir(proc);
	if (!pid)
		errx(1, "%s can't be found", name);
	return pid;
}

int thread_of_worker(void)
{
	char mine[32];

	snprintf(mine, sizeof(mine), "hwheel/p%d", getpid());
	return thread_of(mine);
}

static __u64 run_time(clockid_t clock)
{
	struct timespec time;

	must(!clock_gettime(clock, &time), "the clock of a thread");
	return time.tv_sec * SEC + time.tv_nsec;
}

/* Not from /proc/PID/schedstat, which user-mode kernels do not have. */
__u64 thread_run_time(int pid)
{
	clockid_t clock;

	errno = clock_getcpuclockid(pid, &clock);
	must(!errno, "clock_getcpuclockid()");
	return run_time(clock);
}

__u64 own_run_time(void)
{
	return run_time(CLOCK_THREAD_CPUTIME_ID);
}

__u64 thread_sleeps(int pid)
{
	char path[64], line[256];
	__u64 sleeps;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "r");
	must(file, path);
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "voluntary_ctxt_switches: %llu", &sleeps) != 1)
			continue;
		fclose(file);
		return sleeps;
	}
	errx(1, "%s does not tell", path);
}

int thread_of_default(void)
{
	static struct hwheel *handle;
	unsigned long id;
	char name[32];

	if (!handle) {
		must(!hwheel_open(&handle, 0), "open");
		must(!hwheel_arm(handle, UINT64_MAX, 0, &id), "arm");
	}
	snprintf(name, sizeof(name), "hwheel/u%u", getuid());
	return thread_of(name);
}
