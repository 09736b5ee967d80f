/* SPDX-License-Identifier: GPL-2.0-only */
/* Exit codes, and messages that name the command which mends what is wrong. */
#ifndef FAIL_H
#define FAIL_H

#include <stdbool.h>

/* Also in the help of hwheelctl and in hwheelctl(1) */
enum {
	DONE		= 0,
	FAILED		= 1,
	MISUSED		= 2,
	NOT_LOADED	= 3,
	NOT_PERMITTED	= 4,
};

/* Each says on stderr what is wrong, and returns the exit code. @error: a negative errno */
int fail(const char *what, int error);

/* hwheel_open() failed. */
int fail_open(int error);

/* Reports a file that only root can read: @path, on the file system @type at @mount */
int fail_kernel_file(const char *path, const char *type, const char *mount, int error);

bool module_loaded(void);

#endif /* FAIL_H */
