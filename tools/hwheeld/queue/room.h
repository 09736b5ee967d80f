/* SPDX-License-Identifier: GPL-2.0-only */
/* What keeps new timeouts out, while those that there are go on */
#ifndef ROOM_H
#define ROOM_H

#include "service.h"

enum room_reason {
	ROOM_MEMORY,
	ROOM_TIMEOUTS,
	ROOM_WHEEL,
	ROOM_REASONS,			/* there is room */
};

/* By the reason: a word, and a sentence */
extern const struct room_text {
	const char *word;
	const char *sentence;
} room_texts[ROOM_REASONS];

/* Is there room for so many more timeouts, and so many more bytes of them in memory? */
enum room_reason room_lacks(const struct service *service, size_t timeouts, size_t bytes);

/* The same for any new timeout */
enum room_reason room_lacks_any(const struct service *service);

#endif /* ROOM_H */
