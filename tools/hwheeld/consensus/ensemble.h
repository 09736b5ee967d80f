/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ensemble of ZooKeeper's servers: one session, and calls that end in the loop's thread. Calls
 * end in the order in which they were made. A call without a connection ends with an error, too.
 */
#ifndef ENSEMBLE_H
#define ENSEMBLE_H

#include <stdbool.h>
#include <stdint.h>

#ifndef THREADED
#define THREADED
#endif
#include <zookeeper/zookeeper.h>

/* Embedded in its owner, which keeps it until done() */
struct ensemble_call {
	struct ensemble_call *next;
	void (*done)(struct ensemble_call *call);
	int error;			/* ZOK, or one of ZOO_ERRORS */
	uint64_t ended_ns;		/* CLOCK_BOOTTIME, when the answer was there */
	struct Stat stat;		/* of what exists or was set */
	char *value;			/* of get, with a zero behind it; the owner frees it */
	int length;			/* -1: none */
	struct String_vector names;	/* of children; freed after done() */
};

struct ensemble_events {
	void (*connected)(bool is_new);		/* with a new session? */
	void (*disconnected)(void);		/* calls that end now may have happened or not */
	void (*expired)(void);			/* all calls have ended, and locks are gone */
	void (*changed)(const char *path);	/* something that children or exists looked at */
};

/* Returns 0 or a negative errno. @secret: NAME:PASSWORD for digest ACLs, or NULL */
int ensemble_open(const char *servers, unsigned int session_ms, const char *secret,
		  const struct ensemble_events *events);
void ensemble_close(void);

/* Waits for the connection. Returns false if there is none after @ms. */
bool ensemble_wait(unsigned int ms);

/* Does the error tell of the connection, so that a call before the loop may be tried again? */
bool ensemble_is_lost(int error);

/* Readable when ensemble_reap() has calls that have ended, or events */
int ensemble_fd(void);
void ensemble_reap(void);

/* Has the loop call done(). Any thread may do so, for a call that ensemble.c knows nothing of. */
void ensemble_post(struct ensemble_call *call);

/* Begins a session if none could begin when the last one ended. */
void ensemble_retry(void);

int64_t ensemble_session(void);

/* For so long after an answer was asked for, and has come, the session has surely not ended. */
uint64_t ensemble_sure_ns(void);

/* For what is created */
const struct ACL_vector *ensemble_acl(void);

/* The handle, for calls that wait, before the loop runs */
zhandle_t *ensemble_handle(void);

void ensemble_create(struct ensemble_call *call, const char *path, const char *value, int mode);
void ensemble_delete(struct ensemble_call *call, const char *path);
void ensemble_exists(struct ensemble_call *call, const char *path, bool watch);
void ensemble_get(struct ensemble_call *call, const char *path);
void ensemble_children(struct ensemble_call *call, const char *path, bool watch);
void ensemble_set(struct ensemble_call *call, const char *path, const char *value, int version);
void ensemble_multi(struct ensemble_call *call, int count, const zoo_op_t *ops,
		    zoo_op_result_t *results);

#endif /* ENSEMBLE_H */
