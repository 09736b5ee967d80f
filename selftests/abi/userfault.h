/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory that holds up whoever writes to it, so that a test can do something in the middle
 * of a call. That is what userfaultfd is for.
 */
#ifndef _HWHEEL_SELFTESTS_USERFAULT_H
#define _HWHEEL_SELFTESTS_USERFAULT_H

#include "common.h"

#include <linux/userfaultfd.h>
#include <sys/syscall.h>

/* A userfaultfd that notices writes, or -1 where there is none, or not for us */
static inline int open_userfaultfd(void)
{
	struct uffdio_api api = {
		.api = UFFD_API,
		.features = UFFD_FEATURE_PAGEFAULT_FLAG_WP,
	};
	int uffd = syscall(SYS_userfaultfd, O_CLOEXEC);

	if (uffd < 0 || !ioctl(uffd, UFFDIO_API, &api))
		return uffd;
	close(uffd);
	return -1;
}

static inline int protect(int uffd, void *page, __u64 mode)
{
	struct uffdio_writeprotect protect = {
		.range = { (uintptr_t)page, sysconf(_SC_PAGESIZE) },
		.mode = mode,
	};

	return ioctl(uffd, UFFDIO_WRITEPROTECT, &protect) ? -errno : 0;
}

/* A thread that writes to @page, which is there, from now on sleeps until it is released. */
static inline int hold_up(int uffd, void *page)
{
	struct uffdio_register area = {
		.range = { (uintptr_t)page, sysconf(_SC_PAGESIZE) },
		.mode = UFFDIO_REGISTER_MODE_WP,
	};

	if (ioctl(uffd, UFFDIO_REGISTER, &area))
		return -errno;
	return protect(uffd, page, UFFDIO_WRITEPROTECT_MODE_WP);
}

/* Waits until somebody has got as far as that. */
static inline int await_writer(int uffd)
{
	struct uffd_msg message;

	if (read(uffd, &message, sizeof(message)) != sizeof(message))
		return -errno;
	return message.event == UFFD_EVENT_PAGEFAULT ? 0 : -EPROTO;
}

static inline int let_go_on(int uffd, void *page)
{
	return protect(uffd, page, 0);
}

#endif /* _HWHEEL_SELFTESTS_USERFAULT_H */
