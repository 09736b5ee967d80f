// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/*
 * A heartbeat server: connections that say nothing for too long are closed.
 *
 * All that a client sends is a heartbeat, and refreshes the connection's timeout.
 *
 *   heartbeat PORT MILLISECONDS
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "libhwheel.h"

#define ROOM	1024	/* for so many descriptors at first */
#define BATCH	64

static struct hwheel *wheel;
static uint64_t timeout_ns;
static uint64_t *ids;		/* of the connections' timeouts, by descriptor; 0: none */
static size_t room;
static int epoll_fd;

static void must(int result, const char *what)
{
	if (result < 0)
		errx(1, "%s: %s", what, strerror(-result));
}

static int must_sys(int result, const char *what)
{
	if (result < 0)
		err(1, "%s", what);
	return result;
}

static void watch(int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	must_sys(epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event), "epoll_ctl");
}

static int listen_on(uint16_t port)
{
	const struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = must_sys(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
	const int yes = 1;

	/* A server that closes idle connections leaves their ports waiting, and may start again. */
	must_sys(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)), "setsockopt");
	must_sys(bind(fd, (const struct sockaddr *)&address, sizeof(address)), "bind");
	must_sys(listen(fd, 128), "listen");
	return fd;
}

/* A limit of 1,024 descriptors is what programs begin with, not what they may have. */
static void allow_descriptors(void)
{
	struct rlimit limit;

	must_sys(getrlimit(RLIMIT_NOFILE, &limit), "getrlimit");
	limit.rlim_cur = limit.rlim_max;
	must_sys(setrlimit(RLIMIT_NOFILE, &limit), "setrlimit");
}

static void make_room(size_t fd)
{
	size_t before = room;

	while (fd >= room)
		room = room ? 2 * room : ROOM;
	if (room == before)
		return;
	ids = reallocarray(ids, room, sizeof(*ids));
	if (!ids)
		err(1, "reallocarray");
	memset(ids + before, 0, (room - before) * sizeof(*ids));
}

static void accept_one(int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0)
		return;
	make_room((size_t)fd);
	must(hwheel_set(wheel, &ids[fd], timeout_ns, (uint64_t)fd), "set");
	watch(fd);
	printf("%d: connected\n", fd);
}

static void close_connection(int fd, const char *why)
{
	printf("%d: %s\n", fd, why);
	ids[fd] = 0;
	close(fd);
}

/*
 * The timeout is moved. If it has expired, and the client has spoken before the event was taken,
 * the connection gets another timeout, and the event does not come.
 */
static void put_off(int fd)
{
	uint64_t before = ids[fd];

	must(hwheel_set(wheel, &ids[fd], timeout_ns, (uint64_t)fd), "set");
	if (ids[fd] != before)
		printf("%d: late, and goes on\n", fd);
}

static void hear(int fd)
{
	char bytes[512];
	ssize_t count = read(fd, bytes, sizeof(bytes));

	if (count > 0) {
		put_off(fd);
	} else if (count == 0 || errno != EAGAIN) {
		hwheel_withdraw(wheel, ids[fd]);
		close_connection(fd, "hung up");
	}
}

/* The connection may have hung up meanwhile, and its descriptor be another one's. */
static void expire_some(void)
{
	struct hwheel_event events[BATCH];
	int count = hwheel_next_events(wheel, events, BATCH);

	if (count == -EAGAIN)
		return;
	must(count, "events");
	for (int i = 0; i < count; i++) {
		int fd = (int)events[i].cookie;

		if (ids[fd] == events[i].id)
			close_connection(fd, "timed out");
	}
}

/*
 * Events of the wheel come last: a client that was heard in this round is not idle, and no
 * descriptor is closed that the round still has an event for.
 */
static void serve_round(int listener)
{
	struct epoll_event events[BATCH];
	int count = epoll_wait(epoll_fd, events, BATCH, -1);
	bool expired = false;

	for (int i = 0; i < count; i++) {
		int fd = events[i].data.fd;

		if (fd == listener)
			accept_one(listener);
		else if (fd == hwheel_fd(wheel))
			expired = true;
		else
			hear(fd);
	}
	if (expired)
		expire_some();
}

int main(int argc, char **argv)
{
	int listener, error;

	if (argc != 3)
		errx(2, "usage: %s PORT MILLISECONDS", argv[0]);
	setvbuf(stdout, NULL, _IOLBF, 0);
	timeout_ns = strtoull(argv[2], NULL, 10) * 1000000;
	allow_descriptors();
	must(hwheel_open(&wheel, HWHEEL_NONBLOCK | HWHEEL_ANYWHERE), HWHEEL_DEVICE);
	/* A heartbeat then costs no system call for its timeout. All works without it, too. */
	error = hwheel_map(wheel, ROOM);
	if (error != -EOPNOTSUPP)
		must(error, "map");
	epoll_fd = must_sys(epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
	listener = listen_on((uint16_t)atoi(argv[1]));
	watch(listener);
	watch(hwheel_fd(wheel));
	puts("ready");
	for (;;)
		serve_round(listener);
}
