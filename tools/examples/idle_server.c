// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/*
 * A server with very many connections: it echoes what it reads, and closes each connection that
 * says nothing for too long.
 *
 * Each connection is an object, and the cookie of its timeout points to it. hwheel_set() takes back
 * an event that was not taken, so a client that has just spoken is not hung up; and so does
 * hwheel_withdraw(), so that the object may be freed. epoll is edge-triggered, which asks for
 * reading until there is nothing left. Events of the wheel stay readable until they are taken, so
 * the wheel is level-triggered: 256 of them at a time are enough.
 *
 *   idle_server PORT MILLISECONDS
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

#define BATCH	256

struct connection {
	int fd;
	uint64_t id;		/* of its timeout */
};

static struct hwheel *wheel;
static uint64_t idle_ns;
static int epoll_fd;
static unsigned long open_now, most, hung_up, timed_out;

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

/* A limit of 1,024 descriptors is what programs begin with, not what they may have. */
static void allow_descriptors(void)
{
	struct rlimit limit;

	must_sys(getrlimit(RLIMIT_NOFILE, &limit), "getrlimit");
	limit.rlim_cur = limit.rlim_max;
	must_sys(setrlimit(RLIMIT_NOFILE, &limit), "setrlimit");
}

static void watch(int fd, void *what, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = what };

	must_sys(epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event), "epoll_ctl");
}

static int listen_on(uint16_t port)
{
	const struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = must_sys(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), "socket");
	const int yes = 1;

	must_sys(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)), "setsockopt");
	must_sys(bind(fd, (const struct sockaddr *)&address, sizeof(address)), "bind");
	must_sys(listen(fd, 4096), "listen");
	return fd;
}

/* From now on it may be idle for so long, whether its timeout is pending or not. */
static int set_idle(struct connection *connection)
{
	return hwheel_set(wheel, &connection->id, idle_ns, (uintptr_t)connection);
}

static void connect_one(int fd)
{
	struct connection *connection = calloc(1, sizeof(*connection));

	if (!connection || set_idle(connection)) {
		warnx("no room for another connection");
		free(connection);
		close(fd);
		return;
	}
	connection->fd = fd;
	watch(fd, connection, EPOLLIN | EPOLLET);
	open_now++;
	if (open_now > most)
		most = open_now;
}

static void accept_all(int listener)
{
	int fd;

	while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0)
		connect_one(fd);
	/* Out of descriptors: the others wait until some connections end. */
	if (errno != EAGAIN && errno != EMFILE && errno != ECONNABORTED)
		warn("accept");
}

static void end_connection(struct connection *connection)
{
	close(connection->fd);
	free(connection);
	open_now--;
}

/* No event comes: one thread takes all, and it has taken none of this connection. */
static void hang_up(struct connection *connection)
{
	must(hwheel_withdraw(wheel, connection->id), "withdraw");
	end_connection(connection);
	hung_up++;
}

/* Echoes as much as there is. A client that does not read its echoes is hung up. */
static bool echo_all(int fd, bool *heard)
{
	char bytes[4096];
	ssize_t count;

	while ((count = read(fd, bytes, sizeof(bytes))) > 0) {
		*heard = true;
		if (send(fd, bytes, (size_t)count, MSG_NOSIGNAL) != count)
			return false;
	}
	return count < 0 && errno == EAGAIN;
}

static void serve(struct connection *connection)
{
	bool heard = false;

	if (!echo_all(connection->fd, &heard) || (heard && set_idle(connection)))
		hang_up(connection);
}

static void expire_some(void)
{
	struct hwheel_event events[BATCH];
	int count = hwheel_next_events(wheel, events, BATCH);

	if (count == -EAGAIN || count == -EINTR)
		return;
	must(count, "events");
	for (int i = 0; i < count; i++) {
		end_connection((struct connection *)(uintptr_t)events[i].cookie);
		timed_out++;
	}
}

static void tell(void)
{
	printf("open %lu, most %lu, hung up %lu, timed out %lu\n", open_now, most, hung_up,
	       timed_out);
}

/* Events of the wheel come last, so that no object is freed that the round still has. */
static void serve_round(int listener)
{
	struct epoll_event events[BATCH];
	int count = epoll_wait(epoll_fd, events, BATCH, -1);
	unsigned long before = open_now;
	bool expired = false;

	for (int i = 0; i < count; i++) {
		if (events[i].data.ptr == &epoll_fd)
			accept_all(listener);
		else if (events[i].data.ptr == wheel)
			expired = true;
		else
			serve(events[i].data.ptr);
	}
	if (expired)
		expire_some();
	if (before && !open_now)
		tell();
}

int main(int argc, char **argv)
{
	int listener, error;

	if (argc != 3)
		errx(2, "usage: %s PORT MILLISECONDS", argv[0]);
	setvbuf(stdout, NULL, _IOLBF, 0);
	idle_ns = strtoull(argv[2], NULL, 10) * 1000000;
	allow_descriptors();
	must(hwheel_open(&wheel, HWHEEL_NONBLOCK | HWHEEL_ANYWHERE), HWHEEL_DEVICE);
	error = hwheel_map(wheel, 16384);
	if (error != -EOPNOTSUPP)
		must(error, "map");
	epoll_fd = must_sys(epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
	listener = listen_on((uint16_t)atoi(argv[1]));
	watch(listener, &epoll_fd, EPOLLIN);
	watch(hwheel_fd(wheel), wheel, EPOLLIN);
	puts("ready");
	for (;;)
		serve_round(listener);
}
