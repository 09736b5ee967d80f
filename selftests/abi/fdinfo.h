/* SPDX-License-Identifier: GPL-2.0-only */
/* What /proc/PID/fdinfo/FD tells of a file: lines "NAME:\tVALUE" */
#ifndef _HWHEEL_SELFTESTS_FDINFO_H
#define _HWHEEL_SELFTESTS_FDINFO_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Stores a line's value. Returns 0, -EEXIST if two lines have the name, or another errno. */
static inline int fdinfo_value(pid_t pid, int fd, const char *name, char *value, size_t size)
{
	size_t length = strlen(name);
	char path[64], line[256];
	int ret = -ENOENT;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", pid, fd);
	file = fopen(path, "r");
	if (!file)
		return -errno;
	while (fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = 0;
		if (strncmp(line, name, length) || strncmp(line + length, ":\t", 2))
			continue;
		ret = ret == -ENOENT ? 0 : -EEXIST;
		if (snprintf(value, size, "%s", line + length + 2) >= (int)size)
			ret = -EOVERFLOW;
	}
	fclose(file);
	return ret;
}

/* The number in a line of the calling process's own file, or a negative errno */
static inline long long fdinfo_number(int fd, const char *name)
{
	char value[64] = "", *end;
	long long n;
	int ret = fdinfo_value(getpid(), fd, name, value, sizeof(value));

	if (ret)
		return ret;
	n = strtoll(value, &end, 10);
	return *value && !*end ? n : -EPROTO;
}

#endif
