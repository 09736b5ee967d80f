// SPDX-License-Identifier: GPL-2.0-only
/*
 * A timerfd for each timeout: made, set, and closed. The cost of finding
 * those that have expired, with epoll for instance, is not included.
 */
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "facility.h"

#define OTHER_FILES	100

static int *fds;

static void timerfd_open(unsigned int room)
{
	struct rlimit limit = { room + OTHER_FILES, room + OTHER_FILES };

	must(!setrlimit(RLIMIT_NOFILE, &limit), "RLIMIT_NOFILE");
	fds = handles(room, sizeof(*fds));
}

static void create(const unsigned int *which, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

		must(fd >= 0, "timerfd_create");
		fds[which[i]] = fd;
	}
}

static inline void set_timer(unsigned int i, const struct itimerspec *in)
{
	must(!timerfd_settime(fds[i], 0, in, NULL), "timerfd_settime");
}

static void end(const unsigned int *which, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		must(!close(fds[which[i]]), "close");
		fds[which[i]] = 0;
	}
}

#include "one_timer_each.h"

static void timerfd_close(void)
{
	must(!close_range(3, ~0U, 0), "close_range");
	free(fds);
}

const struct facility timerfd = {
	.name	= "timerfd",
	.open	= timerfd_open,
	.arm	= arm,
	.close	= timerfd_close,
	.steps	= steps,
};
