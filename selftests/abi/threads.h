/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Threads, by what they are called: the workers of wheels, and others of the kernel's.
 */
#ifndef _HWHEEL_THREADS_H
#define _HWHEEL_THREADS_H

#include "common.h"

#include <dirent.h>
#include <fnmatch.h>

/* @dir: where each thread has a folder; @pattern: as for a shell */
static inline bool is_called(const char *dir, const char *thread, const char *pattern)
{
	char path[300], name[64] = "";
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s/comm", dir, thread);
	file = fopen(path, "re");
	if (!file)
		return false;
	if (!fgets(name, sizeof(name), file))
		name[0] = '\0';
	fclose(file);
	name[strcspn(name, "\n")] = '\0';
	return !fnmatch(pattern, name, 0);
}

/* How many there are in that folder, or a negative errno; @last is one of them. */
static inline int look_for_threads(const char *dir, const char *pattern, pid_t *last)
{
	DIR *threads = opendir(dir);
	struct dirent *entry;
	int n = 0;

	if (!threads)
		return -errno;
	while ((entry = readdir(threads)))
		if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9' &&
		    is_called(dir, entry->d_name, pattern)) {
			*last = atoi(entry->d_name);
			n++;
		}
	closedir(threads);
	return n;
}

static inline int count_threads(const char *dir, const char *pattern)
{
	pid_t last;

	return look_for_threads(dir, pattern, &last);
}

/* The only one, or a negative errno */
static inline pid_t find_thread(const char *dir, const char *pattern)
{
	pid_t pid = -ESRCH;
	int n = look_for_threads(dir, pattern, &pid);

	return n > 1 ? -EEXIST : pid;
}

/* One that has exited may be seen for a moment longer. */
static inline int await_threads(const char *pattern, int n)
{
	return AWAIT(count_threads("/proc", pattern) == n);
}

#endif /* _HWHEEL_THREADS_H */
