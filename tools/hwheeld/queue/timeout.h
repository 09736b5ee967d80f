/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The index in memory: all timeouts by key, by the token of their lease, and in the order of the
 * log, along newer from the oldest one of their shard.
 *
 * A timeout that a change in the store is about is busy. Nothing else happens to it until the
 * change has ended; requests about it wait on its list meanwhile.
 */
#ifndef TIMEOUT_H
#define TIMEOUT_H

#include "queue/queue.h"

enum timeout_state {
	TIMEOUT_NEW,			/* its put is not committed: nobody sees it yet */
	TIMEOUT_PENDING,
	TIMEOUT_DUE,			/* on its queue's list, unless it is busy */
	TIMEOUT_LEASED,
};

/* Made when a timeout is leased, as most are cancelled before that */
struct lease {
	UT_hash_handle by_token;
	struct timeout *timeout;
	uint64_t end_ns;
	unsigned char token[TOKEN_SIZE];
};

struct timeout {
	UT_hash_handle by_key;
	struct timeout *older, *newer;		/* in the log; or older is NULL */
	struct timeout *prev_due, *next_due;	/* on the queue's list; or prev is NULL */
	struct queue *queue;
	struct alarm *alarm;			/* for the deadline, or the lease's end */
	struct lease *lease;
	struct request *waiters;
	uint64_t seq;				/* of the record that has all of it */
	uint64_t deadline_ns;			/* service's time, or wall time if absolute */
	uint64_t due_ns;			/* service's time at which it was due */
	char *payload;
	uint32_t payload_length;
	uint32_t deliveries;
	uint16_t shard;
	uint8_t state;
	bool absolute;
	bool busy;
	bool rang;				/* it became due, or its lease ended, while busy */
	char key[];
};

/*
 * A walk goes through all timeouts, log by log and in the order of each log. Between two steps
 * timeouts may come and go: one that gets a new record comes again, and none is passed over.
 */
struct walk {
	struct walk *prev, *next;	/* others */
	unsigned int shard;
	struct timeout *last;		/* where it is; NULL: before the oldest one of the shard */
};

struct timeout *timeout_find(const struct service *service, const struct key *key);
struct timeout *timeout_find_leased(const struct service *service,
				    const unsigned char token[TOKEN_SIZE]);

/* Adds one that is new and busy. It takes over a place in the queue, which the caller counted. */
struct timeout *timeout_add(struct queue *queue, const struct key *key);

/* Its text is the timeout's. */
struct key timeout_key(const struct timeout *timeout);

/* Removes it from all lists, and frees it. */
void timeout_remove(struct timeout *timeout);

/* Gives it a place in another queue, which the caller counted; the old one may be freed. */
void timeout_move(struct timeout *timeout, struct queue *queue);

/* On its queue's list of those that are due, at its end, or off it */
void timeout_add_due(struct timeout *timeout);
void timeout_drop_due(struct timeout *timeout);

/* Becomes what a record of a put or restart says, but for its queue and lease. */
void timeout_take_over(struct timeout *timeout, const struct record *record);

/* Its latest full record is @seq, later than all others. */
void timeout_logged(struct timeout *timeout, uint64_t seq);

void timeout_lease(struct timeout *timeout, const unsigned char token[TOKEN_SIZE], uint64_t end_ns);
void timeout_end_lease(struct timeout *timeout);

/* Fills in all that a put record has of it, but the time. */
void timeout_describe(const struct timeout *timeout, struct record *record);

size_t timeout_count(const struct service *service);

/* Begins before the oldest timeout of the shard. timeout_end_walk() has to follow. */
void timeout_begin_walk(struct service *service, struct walk *walk, unsigned int shard);
void timeout_end_walk(struct service *service, struct walk *walk);

/* Returns the next one, or NULL at the end. */
struct timeout *timeout_walk(const struct service *service, struct walk *walk);

/* What one with such texts adds to the service's timeouts_bytes, and to its timeouts_room */
size_t timeout_bytes_of(size_t key_length, size_t payload_length);
size_t timeout_room_of(size_t key_length, size_t payload_length);

#endif /* TIMEOUT_H */
