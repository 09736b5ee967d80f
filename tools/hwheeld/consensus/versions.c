// SPDX-License-Identifier: GPL-2.0-only
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock/alarm.h"
#include "clock/now.h"
#include "consensus/ensemble.h"
#include "consensus/versions.h"
#include "say.h"

/* All servers are asked again after so long, and while one is refused. */
#define VERSIONS_LOOK_NS		(10 * NS_PER_S)
#define VERSIONS_RETRY_NS	NS_PER_S

/* How long one server may take to answer */
#define VERSIONS_PATIENCE_S	2

/* Room for the line that has the version, and for one server of the list */
#define VERSIONS_ANSWER		256
#define VERSIONS_NAME		256
#define VERSIONS_TEXT		1024

static struct {
	const char *servers;
	bool may_lose;
	void (*changed)(void);
	struct ensemble_call call;	/* of a look that has ended */
	struct alarm *alarm;		/* of the next look */
	pthread_t thread;
	bool is_looking;		/* with the thread */
	size_t answers;			/* the thread's meanwhile, as found[] */
	char found[VERSIONS_TEXT];		/* what is wrong; empty: nothing */
	char refused[VERSIONS_TEXT];		/* of the last look */
} versions;

static void versions_ask(const struct addrinfo *where, char answer[VERSIONS_ANSWER])
{
	const struct timeval patience = { .tv_sec = VERSIONS_PATIENCE_S };
	int fd = socket(where->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ssize_t length = -1;

	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (!connect(fd, where->ai_addr, where->ai_addrlen) &&
	    send(fd, "srvr", 4, MSG_NOSIGNAL) == 4)
		length = recv(fd, answer, VERSIONS_ANSWER - 1, MSG_WAITALL);
	answer[length > 0 ? length : 0] = 0;
	if (fd >= 0)
		close(fd);
}

/* Writes what is wrong with the server, or nothing. Without a leader it serves nobody. */
static void versions_judge(const char *server, const char *answer, char text[VERSIONS_TEXT])
{
	unsigned int major, minor, patch;

	if (!*answer || strstr(answer, "not currently serving"))
		return;
	versions.answers++;
	if (sscanf(answer, "Zookeeper version: %u.%u.%u", &major, &minor, &patch) != 3)
		snprintf(text, VERSIONS_TEXT,
			 "the version of ZooKeeper at %s cannot be read by the command srvr",
			 server);
	else if (major < 3 || (major == 3 && (minor < 9 || (minor == 9 && patch < 4))))
		snprintf(text, VERSIONS_TEXT,
			 "ZooKeeper %u.%u.%u at %s may lose accepted timeouts: 3.9.4 is needed",
			 major, minor, patch, server);
}

/* HOST:PORT; an IPv6 address is in brackets. Returns false if it is something else. */
static bool versions_split(char *server, const char **host, const char **port)
{
	char *colon = strrchr(server, ':');

	if (!colon)
		return false;
	*colon = 0;
	*port = colon + 1;
	*host = server + (*server == '[');
	if (*server == '[' && colon[-1] == ']')
		colon[-1] = 0;
	return true;
}

/* A name may have the addresses of several servers. */
static void versions_look_at(const char *server, char text[VERSIONS_TEXT])
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *first = NULL;
	const char *host, *port;
	char name[VERSIONS_NAME], answer[VERSIONS_ANSWER];

	snprintf(name, sizeof(name), "%s", server);
	if (!versions_split(name, &host, &port) || getaddrinfo(host, port, &hints, &first))
		return;
	for (const struct addrinfo *it = first; it && !*text; it = it->ai_next) {
		versions_ask(it, answer);
		versions_judge(server, answer, text);
	}
	freeaddrinfo(first);
}

/* Finds the first server that is wrong. The list may have a path of all znodes behind it. */
static void versions_look_at_all(void)
{
	const char *from = versions.servers;
	size_t length;
	char server[VERSIONS_NAME];

	*versions.found = 0;
	versions.answers = 0;
	while (*from && *from != '/' && !*versions.found) {
		length = strcspn(from, ",/");
		snprintf(server, sizeof(server), "%.*s", (int)length, from);
		versions_look_at(server, versions.found);
		from += length + (from[length] == ',');
	}
}

static void versions_refuse(void)
{
	say(LOG_CRIT, "cluster: %s; zookeeper_may_lose = yes allows it", versions.found);
}

/* In the loop */

static void versions_ring(void *owner, uint64_t at_ns)
{
	versions_look();
}

static void versions_look_later(void)
{
	uint64_t pause = *versions.refused ? VERSIONS_RETRY_NS : VERSIONS_LOOK_NS;

	alarm_set(&versions.alarm, now_ns() + pause, versions_ring, NULL);
}

static void versions_looked(struct ensemble_call *call)
{
	if (!versions.is_looking)
		return;
	pthread_join(versions.thread, NULL);
	versions.is_looking = false;
	if (strcmp(versions.found, versions.refused)) {
		if (*versions.found)
			versions_refuse();
		memcpy(versions.refused, versions.found, sizeof(versions.refused));
		versions.changed();
	}
	versions_look_later();
}

static void *versions_look_aside(void *unused)
{
	versions_look_at_all();
	ensemble_post(&versions.call);
	return NULL;
}

void versions_look(void)
{
	if (versions.may_lose || versions.is_looking)
		return;
	versions.call.done = versions_looked;
	versions.is_looking = !pthread_create(&versions.thread, NULL, versions_look_aside, NULL);
	if (!versions.is_looking)
		versions_look_later();
}

bool versions_are_fine(void)
{
	return !*versions.refused;
}

bool versions_begin(const char *servers, bool may_lose, void (*changed)(void))
{
	versions.servers = servers;
	versions.changed = changed;
	versions.may_lose = may_lose;
	if (may_lose)
		return true;
	for (versions_look_at_all(); !versions.answers; versions_look_at_all()) {
		say(LOG_WARNING, "cluster: no server of %s answers the command srvr", servers);
		sleep(1);
	}
	if (*versions.found)
		versions_refuse();
	return !*versions.found;
}

void versions_end(void)
{
	if (versions.is_looking)
		pthread_join(versions.thread, NULL);
	versions.is_looking = false;
	alarm_clear(&versions.alarm);
}
