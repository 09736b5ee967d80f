/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The configuration file: lines of NAME = VALUE, and comments behind #. What it leaves out has a
 * safe default. hwheeld(8) and the file as it is installed explain each one.
 */
#ifndef SETTINGS_H
#define SETTINGS_H

#include <stdint.h>

struct settings {
	/* These need a restart */
	char *database;
	char *synchronous;
	char *socket;
	uint64_t socket_mode;
	char *group;
	char *listen;
	char *token_file;
	char *certificate;
	char *certificate_key;
	char *etcd;			/* servers; NULL: the database is the store */
	char *etcd_ca;			/* certificates of their authority */
	char *etcd_certificate;		/* of this node, for them */
	char *etcd_key;
	uint64_t etcd_quota;		/* bytes that they are configured to take */
	uint64_t etcd_may_lose;		/* 1: whichever version they have */
	char *mark;			/* file with what this node has seen of the store */
	char *advertise;		/* ADDRESS:PORT for other nodes; NULL: what listen says */
	char *peer_token_file;		/* the secret of all nodes */
	char *peer_ca;			/* certificates of their authority; NULL: the system's */
	char *cluster;
	char *node;			/* NULL: the machine's name */
	uint64_t shards;
	uint64_t session;
	uint64_t tick;			/* in ns, as the other durations */
	uint64_t timeouts;
	uint64_t connections;

	/* A reload changes these */
	uint64_t memory;
	uint64_t queues;
	uint64_t queue_timeouts;
	uint64_t client_connections;
	uint64_t queue_polls;
	uint64_t body;
	uint64_t payload;
	uint64_t batch;
	uint64_t take;
	uint64_t bodies;
	uint64_t request_time;
	uint64_t wait;
	uint64_t lease;
	uint64_t lease_most;
	uint64_t delay;
	uint64_t grace;
};

/* Reads the file, or nothing if @path is NULL. Returns 0 or -EINVAL, and says what is wrong. */
int settings_read(struct settings *to, const char *path);

/* Takes over from @new what a reload changes, and frees @new. */
void settings_reload(struct settings *settings, struct settings *new);

#endif /* SETTINGS_H */
