/* SPDX-License-Identifier: GPL-2.0-only */
/* Texts in URLs. */
#ifndef PERCENT_H
#define PERCENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Decodes %XX into @to, which has room for @room bytes and a zero. Returns false if it is wrong,
 * or too long.
 */
bool percent_decode(const char *text, char *to, size_t room, size_t *length);

/* A number from 1 to @most */
bool percent_number(const char *text, uint64_t most, uint64_t *number);

#endif /* PERCENT_H */
