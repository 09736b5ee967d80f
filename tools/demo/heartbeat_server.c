// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "heartbeat.h"
#include "must.h"

struct server {
	struct job *job;
	unsigned int open;
	int fds[UINT16_MAX + 1];	/* by the client's port; -1 once closed */
};

static void accept_one(struct server *server, int listener)
{
	struct sockaddr_in client;
	socklen_t length = sizeof(client);
	int fd = accept4(listener, (struct sockaddr *)&client, &length,
			 SOCK_NONBLOCK | SOCK_CLOEXEC);
	uint16_t port = ntohs(client.sin_port);

	must_sys(fd, "accept");
	job_arm(server->job, IDLE_TIMEOUT, port);
	server->fds[port] = fd;
	job_watch(server->job, fd, port);
	server->open++;
}

static void close_connection(struct server *server, uint16_t port)
{
	if (server->fds[port] < 0)
		return;
	close(server->fds[port]);
	server->fds[port] = -1;
	server->open--;
}

static void hear(struct server *server, uint16_t port)
{
	char beats[64];
	ssize_t bytes = recv(server->fds[port], beats, sizeof(beats), 0);

	if (bytes > 0) {
		job_refresh(server->job, IDLE_TIMEOUT, port);
	} else if (bytes == 0 || errno != EAGAIN) {
		job_cancel(server->job, port);
		close_connection(server, port);
	}
}

static void expire(const struct hwheel_event *event, void *data)
{
	close_connection(data, event->cookie);
}

static void print_progress(struct server *server)
{
	static uint64_t next;
	uint64_t now = clock_ns();

	if (now < next)
		return;
	next = now + SEC;
	printf("heartbeat: %u connections open, %u timed out\n", server->open,
	       server->job->fired);
}

static void serve(struct server *server)
{
	struct epoll_event events[JOB_READ];
	int count;

	while (server->open || job_open(server->job) > 0) {
		count = epoll_wait(server->job->epoll, events, JOB_READ, JOB_PATIENCE);
		if (!count)
			return;
		for (int i = 0; i < count; i++)
			if (events[i].data.u32 != JOB_WHEEL)
				hear(server, events[i].data.u32);
		/* Closes connections, so not before the batch has been looked at */
		job_take_events(server->job, expire, server);
		print_progress(server);
	}
}

void heartbeat_serve(struct job *job, int listener, int go)
{
	static struct server server;

	server.job = job;
	for (int i = 0; i < CONNECTIONS; i++)
		accept_one(&server, listener);
	must_sys(write(go, "", 1), "go");
	serve(&server);
	job_linger(job);
}

/*
 * A silent client is detected if its timeout fired and the client saw its connection closed. One is
 * falsely closed whose timeout has not fired, or was early. A machine that stalls may have the
 * server read nothing from another client for the whole timeout.
 */
int heartbeat_report(struct job *job, const struct heartbeat_client *clients)
{
	unsigned int connections = 0, silent = 0, detected = 0, closed = 0, beats = 0, stalled;
	unsigned int hwheel = rate_hwheel(), timerfd = rate_timerfd();
	double ticks[3];

	for (int i = 0; i < CONNECTIONS; i++) {
		const struct job_timeout *timeout = &job->timeouts[clients[i].port];

		connections += !!timeout->id;
		beats += clients[i].beats;
		silent += !!clients[i].silent_at;
		detected += clients[i].silent_at && clients[i].closed && timeout->fired;
		closed += clients[i].closed && !timeout->fired;
	}
	closed += job->early;
	stalled = job->fired - detected;
	if (connections != CONNECTIONS)
		job_wrong(job, "clients that the server does not have", CONNECTIONS - connections);
	if (detected != SILENT)
		job_wrong(job, "silent clients that were missed", SILENT - detected);
	if (closed)
		job_wrong(job, "falsely closed", closed);
	printf("heartbeat: %u connections, %u heartbeats, %u fell silent, %u of them detected\n",
	       connections, beats, silent, detected);
	if (stalled)
		printf("heartbeat: %u more timed out, as this machine stalled and read nothing\n",
		       stalled);
	job_lateness(job, ticks);
	printf("heartbeat: %u hwheel_refresh_at() a second, or %u timerfd_settime()\n", hwheel,
	       timerfd);
	return job_finish(job, CONNECTIONS,
			  "\"heartbeat\": { \"connections\": %u, \"silent\": %u, \"detected\": %u,\n"
			  "\"missed\": %u, \"false\": %u,\n"
			  "\"refreshes_per_second\": { \"hwheel\": %u, \"timerfd\": %u } },\n",
			  connections, silent, detected, silent - detected, closed, hwheel,
			  timerfd);
}
