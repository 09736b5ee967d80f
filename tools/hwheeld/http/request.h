/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A request, from its header to its answer. It moves forward: route.c names what it is about, and
 * decide() answers it or has it wait: for a commit, for a timeout that another commit is about, for
 * timeouts that become due, or for another node. decide() is called again where what it waited for
 * may have changed what there is to decide. answer.h has how it ends.
 */
#ifndef REQUEST_H
#define REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#include <microhttpd.h>

#include "http/client.h"
#include "log/record.h"
#include "service.h"

struct json_object;
struct list_filter;

/* Why a request gives up what it waits for */
enum request_end {
	REQUEST_LATE,			/* it has taken too long */
	REQUEST_GONE,			/* its client has hung up */
	REQUEST_STOPPING,		/* the daemon stops: nothing becomes due for it any more */
	REQUEST_ENDING,			/* no other node answers any more */
};

/* What a take asks for, and when, if it waits */
struct request_take {
	uint64_t max;			/* timeouts; 0: it is not read yet */
	uint64_t wait_ns;
	uint64_t lease_ns;
	uint64_t began_ns;		/* on CLOCK_BOOTTIME */
	uint64_t end_ns;		/* of the wait; 0: it does not wait */
	uint64_t lease_until_ns;	/* a lease that began with the wait */
};

struct request {
	struct service *service;
	struct client *client;		/* NULL: a part of another request, as is the connection */
	struct MHD_Connection *connection;
	const char *method;
	char *path;			/* as it came: nothing is decoded */
	char *body;
	size_t length;
	size_t room;

	/* What it is about, by its path: a key, a queue or a token */
	char name[KEY_MAX + 1];
	size_t name_length;
	struct key key;
	void (*decide)(struct request *request);
	struct json_object *json;	/* its body, once it is read */
	struct change *change;		/* that a put asks for, by the JSON, until it is decided */
	struct request_take take;
	struct list_filter *filter;	/* that a list asks for, once it is read */

	/* While it waits: ends that, with an answer, or leaves it for some of the reasons */
	void (*give_up)(struct request *request, enum request_end why);
	void *waits_for;
	struct request *prev, *next;	/* those that wait for the same timeout, or in its queue */

	struct MHD_Response *response;	/* there is an answer */
	unsigned int status;
	bool is_routed;
	bool is_suspended;
	bool is_held;			/* suspended, but not in libmicrohttpd */
	bool is_too_large;
	bool is_by_node;		/* it comes from another node */
	bool only_creates;		/* with If-None-Match, once a put is read */
	bool was_swept;			/* no other node has what it takes */

	/* A part of another request: takes its answer, and frees it. @object: NULL: it is empty */
	void *part_of;
	void (*take_answer)(struct request *request, unsigned int status,
			    struct json_object *object);
};

struct request *request_new(struct service *service, struct client *client,
			    struct MHD_Connection *connection, const char *method,
			    const char *path);
void request_free(struct request *request);

/* Bytes of the body. Returns false if it is too large now, or all bodies together are. */
bool request_append(struct request *request, const char *data, size_t size);
void request_drop_body(struct request *request);

/* A parameter of the URL, as it came, or NULL */
const char *request_parameter(const struct request *request, const char *name);
const char *request_header(const struct request *request, const char *name);

/* A put with If-None-Match: *, or a part of one */
bool request_only_creates(const struct request *request);

/*
 * Waits until give_up(), or an answer, which comes not before decide() has returned. @what is
 * give_up()'s.
 */
void request_wait(struct request *request, void *what,
		  void (*give_up)(struct request *request, enum request_end why));

/*
 * The same for an answer that comes soon: up to so many requests are held, which costs less. A held
 * request's client may hang up, and then the request ends without an answer.
 */
#define REQUEST_HELD_MOST	64
void request_hold(struct request *request, void *what,
		  void (*give_up)(struct request *request, enum request_end why));

/* It waits no more; libmicrohttpd sends what the answer is. */
void request_resume(struct request *request);

/* From now on the client's request, or its reading of the answer, may take so long. */
void request_limit_time(struct client *client, uint64_t ns);

/* Notices that the client hangs up while the request waits. */
void request_watch(struct request *request);
bool request_is_gone(const struct request *request);

/* All that wait, and may give up for this reason */
void request_give_up_all(struct service *service, enum request_end why);

#endif /* REQUEST_H */
