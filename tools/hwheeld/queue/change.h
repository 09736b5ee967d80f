/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A change of timeouts, on its way through the store. It makes its timeouts busy, submits a
 * record for each, and has them free again when it is committed or refused. A request that comes
 * upon a busy timeout waits, and is then looked at anew.
 */
#ifndef CHANGE_H
#define CHANGE_H

#include "http/exchange.h"
#include "queue/timeout.h"
#include "queue/wish.h"
#include "store/store.h"

struct change {
	struct store_request request;		/* first, as done() knows no more */
	struct exchange *exchange;		/* to be answered; NULL: nobody is, any more */
	struct timeout **timeouts;		/* NULL: it was removed */
	struct record *records;
	struct wish *wishes;			/* of a put: what is to be */
	size_t count;
	unsigned int status;			/* of the answer, once it is committed */
	struct json_object *answer;		/* its body, or NULL */
	uint64_t lease_ns;			/* of a take: how long leases are */

	/* It is committed: make it so in memory, and answer. */
	void (*apply)(struct change *change);

	/* It is refused: take back what was done in memory; the answer is given. Or NULL. */
	void (*undo)(struct change *change);
};

/* The store for all changes */
void change_begin(struct store *store);

struct change *change_new(struct exchange *exchange, size_t count);

/* timeouts[] and records[] are filled in; the records' time is not. */
void change_submit(struct change *change);

/* The request waits until the timeout is not busy. */
void change_wait_for(struct timeout *timeout, struct exchange *exchange);

/* They are answered that the store is lost. */
void change_fail_waiters(struct timeout *timeout);

/* The request has taken too long. It is answered, and what it asked for may happen. */
void change_give_up(struct exchange *exchange);

/* Removes old records, if there are enough that mean nothing any more. */
void change_clean(void);

/* Record @seq is in the log now, behind all others. */
void change_note(uint64_t seq, const struct record *record);

/* For the loading: the numbers of the log's records */
void change_loaded(uint64_t first, uint64_t next);

/* Those under way */
size_t change_count(void);

/* Records in the log, as far as is known */
uint64_t change_log_size(void);

#endif /* CHANGE_H */
