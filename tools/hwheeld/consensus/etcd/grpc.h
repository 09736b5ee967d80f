/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Calls of gRPC, by libcurl's HTTP/2 over TLS. One thread, that of the loop. All calls to a server
 * share a connection.
 */
#ifndef GRPC_H
#define GRPC_H

#include <curl/curl.h>

#include "consensus/etcd/protobuf.h"

enum grpc_status {
	GRPC_NOT_SENT = -2,		/* there was no connection */
	GRPC_LOST = -1,			/* it may have been done: there is no whole answer */
	GRPC_OK = 0,
	GRPC_INVALID = 3,
	GRPC_NOT_FOUND = 5,
	GRPC_FORBIDDEN = 7,
	GRPC_EXHAUSTED = 8,
	GRPC_OUT_OF_RANGE = 11,
	GRPC_UNAVAILABLE = 14,
	GRPC_UNAUTHENTICATED = 16,
};

#define GRPC_TEXT	128

struct grpc;

/* Embedded at the beginning of its owner, which keeps it until done(), or until it is cancelled */
struct grpc_call {
	const char *server;		/* https://HOST:PORT */
	const char *method;		/* /SERVICE/METHOD */
	long ms;			/* in which it has to end; 0: a stream, which does not */
	struct protobuf message;	/* that is sent; the call frees its bytes */
	void (*receive)(struct grpc_call *call, const unsigned char *bytes, size_t size);
	void (*done)(struct grpc_call *call);	/* not from within grpc_begin() */
	int status;			/* out: enum grpc_status, or another one of gRPC's */
	char text[GRPC_TEXT];		/* out: what the server says of it */

	/* The call's own */
	struct grpc *grpc;
	CURL *handle;
	size_t sent;
	bool is_paused;
	bool was_sent;
	bool has_status;
	bool has_message;
	unsigned char *answer;
	size_t length, room;
};

/* Returns NULL if libcurl cannot do it. The files are of TLS, or NULL. */
struct grpc *grpc_new(const char *ca, const char *certificate, const char *key);
void grpc_free(struct grpc *grpc);

/* Readable when grpc_reap() has something to do */
int grpc_fd(const struct grpc *grpc);
void grpc_reap(struct grpc *grpc);

void grpc_begin(struct grpc *grpc, struct grpc_call *call);

/* Sends another message on a stream. */
void grpc_send(struct grpc_call *call, struct protobuf *message);

/* Ends the call without done(). */
void grpc_cancel(struct grpc_call *call);

#endif /* GRPC_H */
