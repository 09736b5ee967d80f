// SPDX-License-Identifier: GPL-2.0-only
/*
 * Very many clients of idle_server or uv_server: all connect, some hang up, some speak until the
 * server has closed all silent ones, and the others are silent.
 *
 *   many_clients PORT CONNECTIONS
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define SPEAKERS	10	/* every tenth connection speaks, and every tenth hangs up */
#define ROUND_MS	100
#define PAUSE		500

static struct pollfd *fds;
static size_t count, hung_up, closed, wrong;

static bool speaks(size_t i)
{
	return i % SPEAKERS == 0;
}

static bool hangs_up(size_t i)
{
	return i % SPEAKERS == 1;
}

static int connect_to(uint16_t port)
{
	const struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)))
		err(1, "connect");
	return fd;
}

static void speak(void)
{
	for (size_t i = 0; i < count; i++)
		if (speaks(i) && fds[i].fd >= 0 && send(fds[i].fd, "x", 1, MSG_NOSIGNAL) != 1)
			wrong++;
}

static void open_all(uint16_t port)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		err(1, "getrlimit");
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		err(1, "setrlimit");
	fds = calloc(count, sizeof(*fds));
	if (!fds)
		err(1, "calloc");
	for (size_t i = 0; i < count; i++)
		fds[i] = (struct pollfd) { .fd = -1, .events = POLLIN };
	for (size_t i = 0; i < count; i++) {
		fds[i].fd = connect_to(port);
		/* The first ones must not be silent while the others connect. */
		if (i % PAUSE == 0)
			speak();
	}
}

static void hang_up_some(void)
{
	for (size_t i = 0; i < count; i++) {
		if (!hangs_up(i))
			continue;
		close(fds[i].fd);
		fds[i].fd = -1;
		hung_up++;
	}
}

/* An end is right for those that are silent, and an echo for the others. */
static void look_at(size_t i)
{
	char byte[64];
	ssize_t got = recv(fds[i].fd, byte, sizeof(byte), MSG_DONTWAIT);

	if (got < 0 && errno == EAGAIN)
		return;
	wrong += speaks(i) == (got <= 0);
	if (got > 0)
		return;
	close(fds[i].fd);
	fds[i].fd = -1;
	closed++;
}

static void look(void)
{
	poll(fds, count, ROUND_MS);
	for (size_t i = 0; i < count; i++)
		if (fds[i].fd >= 0 && fds[i].revents)
			look_at(i);
}

int main(int argc, char **argv)
{
	size_t speakers = 0, silent = 0;

	if (argc != 3)
		errx(2, "usage: %s PORT CONNECTIONS", argv[0]);
	count = strtoul(argv[2], NULL, 10);
	open_all((uint16_t)atoi(argv[1]));
	hang_up_some();
	for (size_t i = 0; i < count; i++) {
		speakers += speaks(i);
		silent += !speaks(i) && !hangs_up(i);
	}
	while (closed < silent && !wrong) {
		speak();
		look();
	}
	printf("%zu connected, %zu hung up, %zu silent ones closed, %zu spoke, %zu wrong\n",
	       count, hung_up, closed, speakers, wrong);
	return wrong ? 1 : 0;
}
