/* SPDX-License-Identifier: GPL-2.0-only */
/* Exit codes, and messages that name the command which mends what is wrong. */
#ifndef FAIL_H
#define FAIL_H

#include <stdbool.h>

#include "libhwheel.h"

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

/* An operation, or the configuration of a wheel, failed: a limit is named, with its parameter. */
int fail_arm(const struct hwheel *wheel, const char *what, int error);
int fail_configure(const char *what, int error);

/* Reports a file that only root can read: @path, on the file system @type at @mount */
int fail_kernel_file(const char *path, const char *type, const char *mount, int error);

/* The module lacks @tracepoint, or fields of it. */
int fail_module_differs(const char *tracepoint);

bool module_loaded(void);

/* Of the module that is loaded; empty if it does not tell */
void module_version(char *version, int size);

#endif /* FAIL_H */
