// SPDX-License-Identifier: GPL-2.0-only
/*
 * A timerfd for each timeout: made, set, and closed. The cost of finding
 * those that have expired, with epoll for instance, is not included.
 */
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "facility.h"
#include "peer.h"

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

/* As a peer, with an epoll instance that they are in */

static int epoll;

static void open_peer(unsigned int room, __u64 tick_ns)
{
	(void)tick_ns;
	timerfd_open(room);
	epoll = epoll_create1(EPOLL_CLOEXEC);
	must(epoll >= 0, "epoll_create1");
}

static void set_at(unsigned int i, __u64 deadline)
{
	struct itimerspec at = itimerspec_of(deadline);

	must(!timerfd_settime(fds[i], TFD_TIMER_ABSTIME, &at, NULL), "timerfd_settime");
}

static void arm_at(unsigned int first, unsigned int nr, const __u64 *deadlines)
{
	unsigned int i;

	for (i = first; i < first + nr; i++) {
		struct epoll_event event = { .events = EPOLLIN, .data.u32 = i };

		if (fds[i] < 0) {
			create(&i, 1);
			must(!epoll_ctl(epoll, EPOLL_CTL_ADD, fds[i], &event), "epoll_ctl");
		}
		set_at(i, deadlines[i]);
	}
}

static void move(const unsigned int *which, unsigned int nr, __u64 deadline)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		set_at(which[i], deadline);
}

static void block(void)
{
	struct epoll_event event;
	__u64 expirations;

	must(epoll_wait(epoll, &event, 1, -1) == 1, "epoll_wait");
	must(read(fds[event.data.u32], &expirations, sizeof(expirations)) > 0, "read");
}

const struct peer timerfd_peer = {
	.name	= "timerfd",
	.open	= open_peer,
	.arm	= arm_at,
	.move	= move,
	.block	= block,
	.close	= timerfd_close,
};
