/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How long the log is, and what of it is to be cleaned: clean.h does it. Each shard has a log of
 * its own, with numbers of its own; without shards there is one.
 */
#ifndef LOG_H
#define LOG_H

#include "log/record.h"
#include "service.h"

/* The log is cleaned by segments of so many bytes, as log_cost() counts them. */
#define LOG_SEGMENT_BYTES	262144

/*
 * A commit has a key of the store, which each new owner reads. So much counts for it beside its
 * records, so that cleaning joins commits of fewer than about six records.
 */
#define LOG_COMMIT_BYTES	4096

/* A part of the log, whose last record has the number before @end */
struct segment {
	struct segment *prev, *next;
	uint64_t end;
	size_t bytes;
};

struct log {
	struct timeout *oldest;		/* those of the shard, in the order of the log */
	size_t timeouts;		/* how many of them there are, and their bytes */
	size_t timeouts_bytes;
	uint64_t first;			/* number of the oldest record */
	uint64_t next;			/* behind the last one that is committed */
	struct segment *segments;	/* the oldest first */
	uint64_t segments_count;
	size_t bytes;			/* behind the last segment */
	size_t total;
	uint64_t owed;			/* bytes that are to be cleaned */
	struct alarm *pause;		/* nothing is cleaned until it rings */
	bool is_cleaning;
};

/* Bytes of the store that a record of @size takes up, at most: SQLite fills pages of 1 KiB. */
static inline size_t log_cost(size_t size)
{
	if (size <= 300)
		return size + size / 4 + 16;
	return size <= 490 ? 520 : size <= 980 ? 1032 : size + size / 128 + 1032;
}

/* The logs are empty. The service has its shards. */
void log_begin(struct service *service);

unsigned int log_count(const struct service *service);

/* A record is in the log of its shard now, behind all others there. */
void log_note(struct service *service, const struct record *record);

/*
 * A commit is in the log of its shard now, behind all others there; @first is the number of its
 * first record. Stores that have no keys for commits do not note them.
 */
void log_note_commit(struct service *service, unsigned int shard, uint64_t first);

/* Records before @first are removed. */
void log_cleaned(struct log *log, uint64_t first);

/* The shard is another node's, and so is its log: all of its timeouts are forgotten already. */
void log_forget(struct log *log);

/* Records in all logs, as far as is known, and their bytes */
uint64_t log_size(const struct service *service);
uint64_t log_bytes(const struct service *service);

#endif /* LOG_H */
