/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests to other nodes. libcurl makes them, in the loop, and keeps the connections. A node shows
 * the secret that all nodes of a cluster have.
 */
#ifndef PEER_H
#define PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <curl/curl.h>

#include "service.h"

/* Long polls have connections of their own: they would keep other requests waiting. */
enum peer_sort {
	PEER_REQUEST,
	PEER_POLL,
	PEER_SORTS,
};

/* Embedded in its owner, which keeps it until done() */
struct peer_call {
	void (*done)(struct peer_call *call);
	enum peer_sort sort;
	unsigned int status;		/* of the answer; 0: there is none */
	bool was_sent;			/* without an answer: it may have happened */
	bool is_away;			/* nobody listens at the address: nothing was sent */
	char *answer;			/* with a zero behind it; the owner frees it */
	size_t length;
	CURL *handle;			/* peer's own, as what follows */
	struct alarm *limit;
	struct curl_slist *headers;
	char *address;
};

/* Returns 0 or a negative errno, and says on stderr what is wrong. */
int peer_begin(struct service *service);
void peer_end(void);

/* May the secret go there? Without TLS, to loopback addresses alone. */
bool peer_is_safe(const char *address);

/* What this node listens at, for other nodes: the beginning of a URL */
const char *peer_own_address(void);

/*
 * @address: as above, of another node. @path: with its parameters. @body: NULL: none; the owner
 * keeps it until done(). @header: one more line, or NULL. @ms: the request ends after so long, at
 * the latest. done() is called from the loop.
 */
void peer_request(struct peer_call *call, const char *address, const char *method,
		  const char *path, const char *body, const char *header, long ms);

/*
 * Before the loop runs: asks, and waits for the answer, for so long at most. Returns 0 if there is
 * one, as after a request, or a negative errno.
 */
int peer_ask(struct peer_call *call, const char *address, const char *path, long ms);

/* In done(): why there is no answer that can be passed on, and what that means; or NULL */
const char *peer_failure(const struct peer_call *call);

/* done() is not called from now on. The other node notices. */
void peer_cancel(struct peer_call *call);

#endif /* PEER_H */
