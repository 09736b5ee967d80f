/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A connection, and how many there may be. On the Unix socket a client is a user; on TCP an
 * address, which has to have the token, or another node, which has the nodes' own: see auth.h.
 */
#ifndef CLIENT_H
#define CLIENT_H

#include <stdbool.h>

#include "loop.h"
#include "service.h"

struct client {
	struct loop_source hangup;
	struct service *service;
	struct alarm *limit;		/* the request has to be there, and its answer gone */
	struct account *account;
	struct certificate *certificate;	/* of its TLS session, or NULL */
	struct request *request;	/* under way */
	struct client *prev, *next;
	int fd;
	bool is_by_tcp;
	bool is_plain;			/* no TLS */
	bool is_permitted;		/* by its user; the token is looked at later */
	bool is_stranger;		/* it has not shown that it is permitted */
	bool is_too_many;		/* connections */
	bool is_account_full;		/* they are this client's own */
	bool is_watched;
	bool is_gone;
};

struct client *client_new(struct service *service, int fd, bool is_by_tcp, bool is_plain);
void client_free(struct client *client);

/* It has shown that it is permitted. */
void client_admit(struct client *client);

/* The loop looks no more whether it hangs up; request_watch() has it look. */
void client_unwatch(struct client *client);

#endif /* CLIENT_H */
