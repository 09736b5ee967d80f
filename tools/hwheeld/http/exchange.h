/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One request of a client, from its header to its answer. A request that cannot be answered at
 * once is suspended: libmicrohttpd does nothing with its connection until the answer is there.
 */
#ifndef EXCHANGE_H
#define EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>

#include <json-c/json.h>
#include <microhttpd.h>

struct change;
struct client;
struct timeout;

struct exchange {
	struct MHD_Connection *connection;
	struct client *client;
	const char *method;
	char *path;				/* as it came: nothing is decoded */
	char *body;
	size_t length;
	size_t room;
	struct MHD_Response *response;		/* there is an answer */
	unsigned int status;
	bool routed;
	bool suspended;
	bool held;				/* suspended, but not in libmicrohttpd */
	bool too_large;
	bool by_node;				/* it comes from another node */
	bool was_swept;				/* no other node has what it takes */
	struct change *change;			/* that it waits for */
	struct timeout *timeout;		/* or that it waits for, on its list */
	struct exchange *prev, *next;		/* on the list that it waits on */

	/* What it waits for is not here: ends that, with an answer. NULL: nothing of this sort */
	void (*give_up)(struct exchange *exchange);
	void *elsewhere;			/* what give_up() ends */

	/* A part of another request: takes its answer, and frees it. NULL: it has a connection. */
	void (*take_answer)(struct exchange *exchange, unsigned int status,
			    struct json_object *object);
};

/*
 * It ends with one of these. Each takes over @object. A part of another request is of a kind that
 * ends with exchange_answer() or exchange_error().
 */
void exchange_answer(struct exchange *exchange, unsigned int status, struct json_object *object);
void exchange_answer_text(struct exchange *exchange, unsigned int status, const char *type,
			  char *text, size_t length);
void exchange_empty(struct exchange *exchange, unsigned int status);

/* @text tells a person what is wrong; nothing of it comes from the client. */
void exchange_error(struct exchange *exchange, unsigned int status, const char *text);

/* The answer comes later: not before the request's handler has returned to libmicrohttpd. */
void exchange_suspend(struct exchange *exchange);

/*
 * The same for an answer that comes soon: up to so many requests are held, which costs less. A held
 * request's client may hang up, and then the request ends without an answer.
 */
#define HELD_MOST	64
void exchange_hold(struct exchange *exchange);
size_t exchange_held(void);

/* A parameter of the URL, as it came, or NULL */
const char *exchange_parameter(const struct exchange *exchange, const char *name);
const char *exchange_header(const struct exchange *exchange, const char *name);

/* Has the client hung up? */
bool exchange_is_gone(const struct exchange *exchange);

/* A part of another request has neither connection nor client: NULL. */
struct exchange *exchange_new(struct MHD_Connection *connection, struct client *client,
			      const char *method, const char *path);
void exchange_free(struct exchange *exchange);

/* Bytes of the body. Returns false if it is too large now, or all bodies together are. */
bool exchange_append(struct exchange *exchange, const char *data, size_t size);

/* Hands the answer to libmicrohttpd, which has resumed it. */
enum MHD_Result exchange_send(struct exchange *exchange);

/* From now on each answer closes its connection, and new requests get no other. */
void exchange_stop(void);
bool exchange_is_stopping(void);

/* Since the last call: is there an answer for libmicrohttpd to send? It does not notice itself. */
bool exchange_was_resumed(void);

/* Those under way, and the bytes of their bodies */
size_t exchange_count(void);
size_t exchange_bytes(void);

#endif /* EXCHANGE_H */
