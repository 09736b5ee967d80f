/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A record of the log: what happened to one timeout. Back ends keep records as bytes, which are
 * the same on every machine.
 *
 * The log is read from its oldest end. A put or restart says all that there is to know about a
 * timeout; cancel and acknowledge end it. A record about a key that is unknown at its place in
 * the log means nothing: the records before it were cleaned away, and the timeout, if it still
 * exists, was appended again behind it.
 */
#ifndef RECORD_H
#define RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KEY_MAX		256
#define QUEUE_MAX	64
#define PAYLOAD_MAX	65536
#define TOKEN_SIZE	16

/* The name of a timeout. hash_key() takes its hashes, once for a request. */
struct key {
	const char *text;
	uint32_t length;
	unsigned int hash;		/* of this node's index; not in the log, as what follows */
	unsigned int shard;		/* of the cluster; 0: there is none */
};

enum record_type {
	RECORD_PUT = 1,
	RECORD_RESTART,
	RECORD_CANCEL,
	RECORD_LEASE,
	RECORD_ACK,
};

struct record {
	enum record_type type;
	uint64_t seq;			/* its number in the log, by the store, and not in it */
	bool absolute;			/* deadline_ns is wall time, not the service's time */
	uint32_t deliveries;
	uint64_t at_ns;			/* the service's time of this record, see now.h */
	uint64_t wall_ns;		/* and the wall clock then */
	uint64_t deadline_ns;
	uint64_t lease_ns;		/* service's time at which the lease ends; 0: not leased */
	unsigned char token[TOKEN_SIZE];
	struct key key;
	const char *queue;
	const char *payload;
	uint32_t queue_length;
	uint32_t payload_length;
};

/* How many bytes record_encode() writes */
size_t record_size(const struct record *record);

void record_encode(const struct record *record, unsigned char *bytes);

/* @record then points into @bytes; its key has no hashes. Returns false if they are no record. */
bool record_decode(struct record *record, const unsigned char *bytes, size_t size);

#endif /* RECORD_H */
