// SPDX-License-Identifier: GPL-2.0-only
/*
 * RPC deadlines: 20,000 requests, each with a timeout of 1 s, to a server in
 * another process that answers 95 % of them. An answer cancels the timeout; the
 * others fire.
 *
 * Requests and answers are packets on a socket pair, each an array of request
 * numbers. A number is also the timeout's cookie.
 */
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "chance.h"
#include "clock.h"
#include "job.h"
#include "must.h"

#define REQUESTS	20000
#define UNANSWERED	1000
#define DEADLINE	SEC
#define PACKET		64	/* requests in a packet, at most */
#define WINDOW		2048	/* requests without an outcome, at most: answers stay prompt */
#define SOCKET		0	/* epoll's data.u32 */

struct client {
	struct job job;
	unsigned int sent;
	unsigned int answered;
	int socket;
};

static bool silent[REQUESTS];

/* --- server --- */

static void answer(int socket, const uint32_t *packet, unsigned int count)
{
	uint32_t answers[PACKET];
	unsigned int length = 0;

	for (unsigned int i = 0; i < count; i++)
		if (!silent[packet[i]])
			answers[length++] = packet[i];
	if (length)
		must_sys(send(socket, answers, length * sizeof(*answers), 0), "answer");
}

static void serve(int socket)
{
	uint32_t packet[PACKET];
	long bytes;

	while ((bytes = must_sys(recv(socket, packet, sizeof(packet), 0), "recv")))
		answer(socket, packet, bytes / sizeof(*packet));
}

/* --- client --- */

static void send_packet(struct client *client)
{
	uint32_t packet[PACKET];
	unsigned int length = 0;

	while (length < PACKET && client->sent < REQUESTS) {
		uint32_t number = client->sent++;

		job_arm(&client->job, DEADLINE, number);
		packet[length++] = number;
	}
	must_sys(send(client->socket, packet, length * sizeof(*packet), 0), "send");
}

/* Whole packets only: one with a single request costs as much as a full one */
static void send_requests(struct client *client)
{
	while (client->sent < REQUESTS && job_open(&client->job) + PACKET <= WINDOW)
		send_packet(client);
}

static void take_answers(struct client *client)
{
	uint32_t packet[PACKET];
	ssize_t bytes;

	while ((bytes = recv(client->socket, packet, sizeof(packet), MSG_DONTWAIT)) > 0)
		for (size_t i = 0; i < bytes / sizeof(*packet); i++) {
			job_cancel(&client->job, packet[i]);
			client->answered++;
		}
	if (bytes == 0 || errno != EAGAIN)
		errx(1, "the server is gone");
}

static void print_progress(struct client *client)
{
	static uint64_t next;
	uint64_t now = clock_ns();

	if (now < next)
		return;
	next = now + SEC;
	printf("rpc: %u sent, %u answered, %u timed out\n", client->sent, client->answered,
	       client->job.fired);
}

static void call(struct client *client)
{
	struct epoll_event events[2];

	job_watch(&client->job, client->socket, SOCKET);
	while (client->sent < REQUESTS || job_open(&client->job) > 0) {
		send_requests(client);
		if (!epoll_wait(client->job.epoll, events, 2, JOB_PATIENCE))
			return;
		take_answers(client);
		job_take_events(&client->job, NULL, NULL);
		print_progress(client);
	}
}

/* An answer that comes too late cancels nothing. */
static void check(struct client *client)
{
	struct job *job = &client->job;

	if (client->answered != REQUESTS - UNANSWERED)
		job_wrong(job, "another number of answers", client->answered);
	if (job->fired != UNANSWERED + job->refused)
		job_wrong(job, "another number of requests timed out", job->fired);
}

int main(int argc, char **argv)
{
	struct job_order order = job_order(argc, argv);
	static struct client client;
	uint64_t seed = order.seed;
	double ticks[3];
	int sockets[2];
	int status;

	chance_pick(&seed, silent, REQUESTS, UNANSWERED);
	must_sys(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), "socketpair");
	if (!must_sys(fork(), "fork")) {
		close(sockets[1]);
		serve(sockets[0]);
		return 0;
	}
	close(sockets[0]);
	client.socket = sockets[1];
	job_start(&client.job, "rpc", &order, REQUESTS);
	call(&client);
	job_linger(&client.job);
	close(client.socket);
	must_sys(wait(&status), "wait");
	check(&client);
	job_lateness(&client.job, ticks);
	if (status)
		job_wrong(&client.job, "the server failed", status);
	return job_finish(&client.job, REQUESTS,
			  "\"rpc\": { \"sent\": %u, \"cancelled\": %u, \"fired\": %u, \"early\": %u },\n",
			  client.job.armed, client.job.cancelled, client.job.fired,
			  client.job.early);
}
