// SPDX-License-Identifier: GPL-2.0-only
/*
 * Servers. What a message costs uv_server, an example, with 10,000 connections that each have a
 * timeout of 30 s: all instructions of its thread, those of the kernel for it included, with the
 * wheel inside, with libuv's own timers, and without timeouts. Clients speak all at once or one
 * after the other. Where the kernel's vary more than timeouts cost, server_user has valgrind count
 * the program's own.
 *
 * And how often a server with 1,000 requests a second wakes up for its timeouts of 30 s alone. One
 * request in twenty gets no answer, and the others get theirs within a second.
 */
#include <arpa/inet.h>
#include <err.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands.h"
#include "heap.h"
#include "peer.h"
#include "thread.h"

#define PORT		7011
#define CONNECTIONS	10000
#define ROUNDS		3
#define MANY_ROUNDS	10	/* connecting varies */
#define MESSAGE		64

static int clients[CONNECTIONS];

#define VALGRIND	"valgrind", "--tool=cachegrind", "--cache-sim=no", \
			"--cachegrind-out-file=/dev/null", "--log-file=valgrind.log"
#define SERVER		"./uv_server", "7011", "30000"

static pid_t start(const char *timeouts, bool counted)
{
	char text[8];
	int out[2];
	pid_t pid;

	must(!pipe(out), "pipe");
	pid = fork();
	must(pid >= 0, "fork");
	if (!pid) {
		must(dup2(out[1], STDOUT_FILENO) >= 0 && !close(out[0]), "dup2");
		if (counted)
			execlp("valgrind", VALGRIND, SERVER, timeouts, NULL);
		else
			execl("./uv_server", SERVER, timeouts, NULL);
		err(1, "exec");
	}
	must(read(out[0], text, sizeof(text)) > 0, "uv_server");
	must(!close(out[0]) && !close(out[1]), "close");
	return pid;
}

static int connect_one(void)
{
	const struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_port = htons(PORT),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	must(fd >= 0, "socket");
	must(!connect(fd, (const struct sockaddr *)&address, sizeof(address)), "connect");
	return fd;
}

static void say(int fd)
{
	static const char message[MESSAGE];

	must(send(fd, message, MESSAGE, 0) == MESSAGE, "send");
}

static void hear(int fd)
{
	char message[MESSAGE];

	must(recv(fd, message, MESSAGE, MSG_WAITALL) == MESSAGE, "recv");
}

static void speak_at_once(void)
{
	unsigned int i;

	for (i = 0; i < CONNECTIONS; i++)
		say(clients[i]);
	for (i = 0; i < CONNECTIONS; i++)
		hear(clients[i]);
}

static void speak_in_turn(void)
{
	unsigned int i;

	for (i = 0; i < CONNECTIONS; i++) {
		say(clients[i]);
		hear(clients[i]);
	}
}

/* In the first round the server's memory comes into being. */
static void speak(const char *metric, const char *timeouts, pid_t server, void (*round)(void))
{
	unsigned int i;
	__u64 before;

	round();
	before = thread_run_time(server);
	for (i = 0; i < ROUNDS; i++)
		round();
	report(metric, timeouts, CONNECTIONS, "instructions",
	       (double)(thread_run_time(server) - before) / ROUNDS / CONNECTIONS);
}

static void connect_all(void)
{
	unsigned int i;

	for (i = 0; i < CONNECTIONS; i++)
		clients[i] = connect_one();
}

/* It has read all that was sent. */
static void end(pid_t server)
{
	unsigned int i;

	must(!kill(server, SIGTERM) && waitpid(server, NULL, 0) == server, "kill");
	for (i = 0; i < CONNECTIONS; i++)
		close(clients[i]);
}

static void serve(const char *timeouts)
{
	pid_t server = start(timeouts, false);

	connect_all();
	speak("server.at_once", timeouts, server, speak_at_once);
	speak("server.in_turn", timeouts, server, speak_in_turn);
	end(server);
}

/* The program's own instructions from its beginning to its end */
static __u64 user_instructions(const char *timeouts, void (*round)(void), unsigned int rounds)
{
	pid_t server = start(timeouts, true);
	char line[256], *digit;
	__u64 count = 0;
	FILE *log;

	for (connect_all(); rounds; rounds--)
		round();
	end(server);
	log = fopen("valgrind.log", "r");
	must(log, "valgrind.log");
	while (fgets(line, sizeof(line), log)) {
		if (!strstr(line, " refs:"))
			continue;
		for (digit = strstr(line, " refs:"); *digit; digit++)
			if (*digit >= '0' && *digit <= '9')
				count = 10 * count + (__u64)(*digit - '0');
	}
	fclose(log);
	return count;
}

static void serve_counted(const char *timeouts, const char *metric, void (*round)(void))
{
	__u64 before = user_instructions(timeouts, round, 1);
	__u64 after = user_instructions(timeouts, round, 1 + MANY_ROUNDS);

	report(metric, timeouts, CONNECTIONS, "instructions",
	       (double)(after - before) / MANY_ROUNDS / CONNECTIONS);
}

/* Requests */

#define PERIOD	MSEC
#define LIMIT	(30 * SEC)
#define WARM	(31 * SEC)
#define COUNTED	(60 * SEC)
#define TICK	(10 * MSEC)

static unsigned int answers_at[1024];	/* lists of requests by the ms, as numbers + 1 */

/* Waits until then, and returns how often it woke up for timeouts. */
static unsigned int wait_until(const struct peer *peer, int fd, __u64 until)
{
	struct pollfd file = { .fd = fd, .events = POLLIN };
	unsigned int rings = 0;
	struct timespec left;
	__u64 now;

	while ((now = now_ns()) < until) {
		left = (struct timespec){ .tv_nsec = (long)(until - now) };
		if (!ppoll(&file, 1, &left, NULL))
			continue;
		rings++;
		peer->take();
	}
	return rings;
}

static void request_all(const struct peer *peer, int (*fd_of)(void))
{
	const unsigned int nr = (WARM + COUNTED) / PERIOD;
	unsigned int *next = zeros(nr, sizeof(*next)), *list, i, number, rings = 0, woken;
	__u64 *deadlines = zeros(nr, sizeof(*deadlines)), start;

	memset(answers_at, 0, sizeof(answers_at));
	peer->open(nr, TICK);
	start = now_ns();
	for (i = 0; i < nr; i++) {
		woken = wait_until(peer, fd_of(), start + i * PERIOD);
		rings += i >= WARM / PERIOD ? woken : 0;
		for (list = &answers_at[i % 1024]; (number = *list); *list = next[number - 1])
			peer->cancel(number - 1, 1);
		deadlines[i] = now_ns() + LIMIT;
		peer->arm(i, 1, deadlines);
		if (i % 20 == 0)
			continue;
		list = &answers_at[(i + 1 + i * 7919 % 1000) % 1024];
		next[i] = *list;
		*list = i + 1;
	}
	report("server.wakeups", peer->name, nr, "1/s", (double)rings / (COUNTED / SEC));
	peer->close();
	free(deadlines);
	free(next);
}

static const char *const kinds[] = { "none", "wheel", "libuv" };

static void allow_descriptors(void)
{
	const struct rlimit limit = { 2 * CONNECTIONS, 2 * CONNECTIONS };

	must(!setrlimit(RLIMIT_NOFILE, &limit), "setrlimit");
}

void bench_server(void)
{
	unsigned int i;

	allow_descriptors();
	for (i = 0; i < 3; i++)
		serve(kinds[i]);
	request_all(&heap_peer, heap_fd);
	request_all(&local_peer, local_fd);
}

void bench_server_user(void)
{
	unsigned int i;

	allow_descriptors();
	for (i = 0; i < 3; i++) {
		serve_counted(kinds[i], "server.user_at_once", speak_at_once);
		serve_counted(kinds[i], "server.user_in_turn", speak_in_turn);
	}
}
