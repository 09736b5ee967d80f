// SPDX-License-Identifier: GPL-2.0-only
/*
 * A library to be preloaded, for a wheel without room: while the file named by FAIL_MAP exists, no
 * more records are made than the first ones, as if the memory cgroup of the daemon were full.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/hwheel.h>

int ioctl(int fd, unsigned long request, ...)
{
	const char *path = getenv("FAIL_MAP");
	va_list arguments;
	void *argument;

	va_start(arguments, request);
	argument = va_arg(arguments, void *);
	va_end(arguments);
	if (request == HWHEEL_IOC_MAP && !((struct hwheel_map *)argument)->lists && path &&
	    !access(path, F_OK)) {
		errno = ENOMEM;
		return -1;
	}
	return (int)syscall(SYS_ioctl, fd, request, argument);
}
