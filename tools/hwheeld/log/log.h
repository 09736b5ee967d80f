/* SPDX-License-Identifier: GPL-2.0-only */
/* How long the log is, and what of it is to be cleaned: clean.h does it. */
#ifndef LOG_H
#define LOG_H

#include "log/record.h"
#include "service.h"

/* The log is cleaned by segments of so many bytes, as log_cost() counts them. */
#define LOG_SEGMENT_BYTES	262144

/* A part of the log, whose last record has the number before @end */
struct segment {
	struct segment *prev, *next;
	uint64_t end;
	size_t bytes;
};

/* Bytes of the store that a record of @size takes up, at most: SQLite fills pages of 1 KiB. */
static inline size_t log_cost(size_t size)
{
	if (size <= 300)
		return size + size / 4 + 16;
	return size <= 490 ? 520 : size <= 980 ? 1032 : size + size / 128 + 1032;
}

/* Record @seq is in the log now, behind all others. */
void log_note(struct service *service, uint64_t seq, const struct record *record);

/* Records before @first are removed. */
void log_cleaned(struct service *service, uint64_t first);

/* Records in the log, as far as is known */
uint64_t log_size(const struct service *service);

#endif /* LOG_H */
