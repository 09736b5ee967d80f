/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A connection, who is at its other end, and what that one may do. On the Unix socket it is a
 * user; on TCP an address that has to know the token, or another node, which has the nodes' own.
 */
#ifndef CLIENT_H
#define CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "http/exchange.h"
#include "loop.h"

struct account;
struct alarm;
struct poll;

struct client {
	struct loop_source hangup;
	struct alarm *limit;		/* the request has to be there, and its answer gone */
	struct account *account;
	struct exchange *exchange;	/* what it is at */
	struct poll *poll;		/* and waits for */
	struct client *prev, *next;
	int fd;
	bool by_tcp;
	bool plain;			/* no TLS */
	bool permitted;			/* by its user; the token is looked at later */
	bool stranger;			/* it has not shown that it is permitted */
	bool too_many;			/* connections */
	bool account_full;		/* they are this client's own */
	bool watched;
	bool gone;
};

#define CLIENT_TOKEN_MOST	256

/* The secret in a file's first line. Returns 0 or a negative errno, and says what is wrong. */
int client_read_token(const char *path, char token[CLIENT_TOKEN_MOST + 1]);

/* For the group whose members may use the socket; returns 0 or a negative errno */
int client_begin(void);

/* That group, or (gid_t)-1, which chown() takes for none */
gid_t client_group(void);

struct client *client_new(int fd, bool by_tcp, bool plain);
void client_free(struct client *client);

/* Answers a request that is not permitted, or beyond a limit. Returns true if it did. */
bool client_refuse(struct client *client, struct exchange *exchange);

/* From now on the request, or the reading of the answer, may take its time. */
void client_limit_time(struct client *client);

/* Notices that it hangs up while the request is suspended. */
void client_watch(struct exchange *exchange);
void client_unwatch(struct client *client);

/* Answers the requests that wait for other nodes: nobody hears of these any more. */
void client_give_up_all(void);

size_t client_count(void);

#endif /* CLIENT_H */
