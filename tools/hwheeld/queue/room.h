/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What keeps new timeouts out, while those that there are go on. On disk each timeout has room for
 * all records until its end, and cleaning has room for what it copies. So when the disk is full,
 * timeouts are taken and ended until none is left.
 */
#ifndef ROOM_H
#define ROOM_H

#include "service.h"

struct request;

enum room_reason {
	ROOM_RESERVE,
	ROOM_MEMORY,
	ROOM_TIMEOUTS,
	ROOM_WHEEL,
	ROOM_DISK,
	ROOM_REASONS,			/* there is room */
};

/* By the reason: a word, and a sentence */
extern const struct room_text {
	const char *word;
	const char *sentence;
} room_texts[ROOM_REASONS];

/* What is to be added: timeouts, and what they need in memory and on disk */
struct room_need {
	size_t timeouts;
	size_t bytes;
	size_t log;			/* bytes, until they have ended */
	size_t replaced;		/* bytes of records that come in the place of others */
};

enum room_reason room_lacks(struct service *service, const struct room_need *need);

/* The same for any new timeout */
enum room_reason room_lacks_any(struct service *service);

/* Must the log be cleaned before the next write? */
bool room_is_full(const struct service *service);

/* The same, or before one that waits? */
bool room_is_tight(const struct service *service);

/* Takes more of the disk. Returns true if the log has room now. */
bool room_widen(struct service *service);

/*
 * If the log has no room for so many bytes, beside what takes and ends need, the request waits, and
 * is then decided on again.
 */
bool room_wait(struct request *request, size_t bytes);

/* The log was cleaned, or could not be. */
void room_go_on(struct service *service);

#endif /* ROOM_H */
