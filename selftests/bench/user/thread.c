// SPDX-License-Identifier: GPL-2.0-only
#include <dirent.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "helpers.h"
#include "thread.h"

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

int thread_of_worker(void)
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

/* From a line of a file of the thread's that has @format */
static __u64 read_figure(int pid, const char *name, const char *format)
{
	char path[64], line[256];
	__u64 figure;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	file = fopen(path, "r");
	must(file, path);
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, format, &figure) != 1)
			continue;
		fclose(file);
		return figure;
	}
	errx(1, "%s does not tell", path);
}

__u64 thread_run_time(int pid)
{
	return read_figure(pid, "schedstat", "%llu");
}

__u64 thread_sleeps(int pid)
{
	return read_figure(pid, "status", "voluntary_ctxt_switches: %llu");
}
