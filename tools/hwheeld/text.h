/* SPDX-License-Identifier: GPL-2.0-only */
/* The texts that clients send: numbers, durations, dates, keys, names of queues, tokens. */
#ifndef TEXT_H
#define TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "log/record.h"

/* A token in hexadecimal digits, with a zero behind it */
#define TEXT_TOKEN	(2 * TOKEN_SIZE + 1)

/* Returns false if @text is anything else than digits of @base, or the number too large. */
bool text_number(const char *text, int base, uint64_t *number);

/* A decimal number from 1 to @most */
bool text_count(const char *text, uint64_t most, uint64_t *number);

/* Seconds, or a duration with a unit. Returns NULL, or what is wrong. */
const char *text_duration(const char *text, uint64_t *ns);

/* The wall clock's nanoseconds have to fit: seconds since 1970, in the year 2255 */
#define TEXT_DATE_LAST	9000000000.0

/*
 * A point in time by RFC 3339, such as 2026-11-24T18:30:00.5+01:00, or in one of the forms of HTTP
 * (RFC 9110, 5.6.7), such as Tue, 24 Nov 2026 17:30:00 GMT. A second 60 is the next second. Returns
 * false for all else, and for times before 1970 or behind TEXT_DATE_LAST.
 */
bool text_date(const char *text, uint64_t *wall_ns);

/* 1 to KEY_MAX bytes of UTF-8 without control characters */
bool text_is_key(const char *key, size_t length);

/* 1 to QUEUE_MAX letters, digits, dots, dashes or underscores */
bool text_is_queue(const char *name, size_t length);

/* Decodes %XX into @to, of @room bytes and a zero. Returns false if it is wrong, or too long. */
bool text_decode(const char *text, char *to, size_t room, size_t *length);

void text_token(const unsigned char token[TOKEN_SIZE], char text[TEXT_TOKEN]);
bool text_read_token(const char *text, unsigned char token[TOKEN_SIZE]);

/* A client's mistake: the status, and the name that it concerns */
struct text_wrong {
	unsigned int status;		/* of the answer */
	const char *name;		/* of what is wrong, as the client has it; or NULL */
	size_t length;			/* of the name */
};

/* Returns how much of it, and at most 64 bytes, are UTF-8 without control characters. */
size_t text_printable(const char *text, size_t length);

/* Bytes that strict_json() needs, and what becomes of its objects, at most */
size_t text_json_bytes(const char *text, size_t length);

#endif /* TEXT_H */
