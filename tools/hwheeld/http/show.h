/* SPDX-License-Identifier: GPL-2.0-only */
/* What there is, as JSON. */
#ifndef SHOW_H
#define SHOW_H

#include "http/exchange.h"
#include "queue/timeout.h"
#include "store/store.h"

struct json_object *show_timeout(const struct timeout *timeout, bool payload);

/* A timeout with its lease, for a client or for another node */
struct json_object *show_lease(const struct timeout *timeout, bool for_node);

/*
 * Makes what a node got with a lease what a client gets. Returns when the lease ends, in the
 * service's time; 0: the node did not say.
 */
uint64_t show_pass_lease(struct json_object *object);

void show_one(struct exchange *exchange, const char *key, size_t length);
void show_list(struct exchange *exchange);
void show_queues(struct exchange *exchange);
void show_health(struct exchange *exchange, struct store *store);
void show_cluster(struct exchange *exchange, struct store *store);

/* Writes a number in hexadecimal digits, and reads it. */
#define TOKEN_TEXT	(2 * TOKEN_SIZE + 1)
void show_token(const unsigned char token[TOKEN_SIZE], char text[TOKEN_TEXT]);
bool show_parse_token(const char *text, unsigned char token[TOKEN_SIZE]);

#endif /* SHOW_H */
