// SPDX-License-Identifier: GPL-2.0-only
#include <sys/socket.h>
#include <unistd.h>

#include "heartbeat.h"
#include "must.h"
#include "rate.h"

struct connection {
	uint64_t id;	/* of its timeout; 0: no such connection */
	uint64_t last;	/* when the last heartbeat that was refreshed had been read */
	uint32_t beats;
	int fd;		/* -1 once closed */
};

struct server {
	struct job job;
	unsigned int open;
	struct connection connections[UINT16_MAX + 1];	/* by the client's port */
};

static void accept_one(struct server *server, int listener)
{
	struct sockaddr_in client;
	socklen_t length = sizeof(client);
	int fd = accept4(listener, (struct sockaddr *)&client, &length,
			 SOCK_NONBLOCK | SOCK_CLOEXEC);
	uint16_t port = ntohs(client.sin_port);
	struct connection connection = { .fd = fd, .last = clock_ns() };

	must_sys(fd, "accept");
	/* After the clock, which thus is a lower bound, as it is for a heartbeat */
	connection.id = job_arm(&server->job, IDLE_TIMEOUT, port);
	server->connections[port] = connection;
	job_watch(&server->job, fd, port);
	server->open++;
}

static void close_connection(struct server *server, struct connection *connection)
{
	if (connection->fd < 0)
		return;
	close(connection->fd);
	connection->fd = -1;
	server->open--;
}

static void refresh(struct server *server, struct connection *connection)
{
	uint64_t read_at = clock_ns();
	int error = hwheel_refresh(server->job.wheel, connection->id, IDLE_TIMEOUT);

	if (error == -ENOENT) {
		/* It has expired meanwhile: the event is on its way */
		record_line(&server->job.record, "late", connection->id, clock_ns());
		return;
	}
	must(error, "refresh");
	connection->last = read_at;
	connection->beats++;
}

static void hear(struct server *server, struct connection *connection)
{
	char beats[64];
	ssize_t bytes = recv(connection->fd, beats, sizeof(beats), 0);

	if (bytes > 0) {
		refresh(server, connection);
	} else if (bytes == 0 || errno != EAGAIN) {
		job_cancel(&server->job, connection->id);
		close_connection(server, connection);
	}
}

static void expire(const struct hwheel_event *event, void *data)
{
	struct server *server = data;

	close_connection(server, &server->connections[event->cookie & UINT16_MAX]);
}

static void print_progress(struct server *server)
{
	static uint64_t next;
	uint64_t now = clock_ns();

	if (now < next)
		return;
	next = now + SEC;
	printf("heartbeat: %u connections open, %lu timed out\n", server->open,
	       server->job.fired);
}

static void serve(struct server *server)
{
	struct epoll_event events[JOB_READ];
	int count;

	while (server->open || job_open(&server->job) > 0) {
		count = epoll_wait(server->job.epoll, events, JOB_READ, JOB_PATIENCE);
		if (!count)
			return;
		for (int i = 0; i < count; i++)
			if (events[i].data.u32 != JOB_WHEEL)
				hear(server, &server->connections[events[i].data.u32]);
		/* Closes connections, so not before the batch has been looked at */
		job_take_events(&server->job, expire, server);
		print_progress(server);
	}
}

static void record_connections(struct server *server)
{
	for (unsigned int port = 0; port <= UINT16_MAX; port++) {
		const struct connection *connection = &server->connections[port];

		if (connection->id)
			record_line(&server->job.record, "beat", connection->id,
				    connection->beats, connection->last);
	}
}

void heartbeat_serve(const struct job_order *order, int listener, int go)
{
	static struct server server;

	job_start(&server.job, "heartbeat", order);
	for (int i = 0; i < CONNECTIONS; i++)
		accept_one(&server, listener);
	must_sys(write(go, "", 1), "go");
	serve(&server);
	job_linger(&server.job);
	record_connections(&server);
	rate_measure(&server.job.record);
	job_finish(&server.job);
}
