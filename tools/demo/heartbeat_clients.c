// SPDX-License-Identifier: GPL-2.0-only
#include <sys/socket.h>
#include <unistd.h>

#include "chance.h"
#include "heartbeat.h"
#include "must.h"

#define STEPS		20	/* a beat is sent in so many steps, to spread the load */
#define STEP		(BEAT / STEPS)
#define PER_STEP	(CONNECTIONS / STEPS)
#define SILENT_FROM	(200 * MSEC)	/* when clients fall silent: the first, */
#define SILENT_UNTIL	(2400 * MSEC)	/* and the last, so that 3 s see it all */
#define AMPLE		(BEATING + JOB_PATIENCE * MSEC)

struct clients {
	struct heartbeat_client *all;
	unsigned int silent_open;
	int epoll;
};

static void choose_silent(struct clients *clients, uint64_t seed)
{
	bool silent[CONNECTIONS] = { false };

	chance_pick(&seed, silent, CONNECTIONS, SILENT);
	for (int i = 0; i < CONNECTIONS; i++)
		if (silent[i])
			clients->all[i].silent_at =
				SILENT_FROM + chance(&seed, SILENT_UNTIL - SILENT_FROM);
	clients->silent_open = SILENT;
}

static void connect_one(struct clients *clients, int i, const struct sockaddr_in *server)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLRDHUP, .data.u32 = i };
	int fd = must_sys(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
	struct sockaddr_in own;
	socklen_t length = sizeof(own);

	must_sys(connect(fd, (const struct sockaddr *)server, sizeof(*server)), "connect");
	must_sys(getsockname(fd, (struct sockaddr *)&own, &length), "getsockname");
	must_sys(epoll_ctl(clients->epoll, EPOLL_CTL_ADD, fd, &event), "epoll_ctl");
	clients->all[i].fd = fd;
	clients->all[i].port = ntohs(own.sin_port);
}

static void beat(struct heartbeat_client *client, uint64_t now)
{
	if (client->closed || (client->silent_at && now >= client->silent_at))
		return;
	/* One that the server has closed meanwhile fails; look() will find that out */
	if (send(client->fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1)
		client->beats++;
}

/* The server sends nothing, so whatever is readable has been closed */
static void look(struct clients *clients)
{
	struct epoll_event events[JOB_READ];
	int count = epoll_wait(clients->epoll, events, JOB_READ, 0);

	for (int i = 0; i < count; i++) {
		struct heartbeat_client *client = &clients->all[events[i].data.u32];

		client->closed = clock_ns();
		close(client->fd);
		clients->silent_open -= !!client->silent_at;
	}
}

static void sleep_until(uint64_t when)
{
	struct timespec time = { .tv_sec = when / SEC, .tv_nsec = when % SEC };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
}

static void beat_all(struct clients *clients)
{
	uint64_t start = clock_ns();
	uint64_t now = 0;

	for (unsigned int step = 0; now < BEATING || (clients->silent_open && now < AMPLE);
	     step++) {
		sleep_until(start + step * STEP);
		now = clock_ns() - start;
		for (int i = 0; i < PER_STEP; i++)
			beat(&clients->all[step % STEPS * PER_STEP + i], now);
		look(clients);
	}
}

void heartbeat_clients(struct heartbeat_client *all, uint64_t seed,
		       const struct sockaddr_in *server, int go)
{
	struct clients clients = { .all = all };
	char byte;

	clients.epoll = must_sys(epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
	choose_silent(&clients, seed);
	for (int i = 0; i < CONNECTIONS; i++)
		connect_one(&clients, i, server);
	if (must_sys(read(go, &byte, 1), "go") != 1)
		errx(1, "the server is gone");
	beat_all(&clients);
	/* Exit hangs up whatever is still open */
}
