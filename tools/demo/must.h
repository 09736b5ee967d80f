/* SPDX-License-Identifier: GPL-2.0-only */
/* End the program with a message when a call that cannot fail here does. */
#ifndef DEMO_MUST_H
#define DEMO_MUST_H

#include <err.h>
#include <errno.h>

/* For the library, which returns -errno */
static inline int must(int ret, const char *what)
{
	if (ret < 0) {
		errno = -ret;
		err(1, "%s", what);
	}
	return ret;
}

/* For system calls, which set errno */
static inline long must_sys(long ret, const char *what)
{
	if (ret < 0)
		err(1, "%s", what);
	return ret;
}

#endif /* DEMO_MUST_H */
