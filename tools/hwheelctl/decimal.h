/* SPDX-License-Identifier: GPL-2.0-only */
/* Decimal numbers with a unit that must come out as whole numbers: nothing is rounded. */
#ifndef DECIMAL_H
#define DECIMAL_H

#include <linux/types.h>
#include <stddef.h>

enum decimal {
	DECIMAL_READ,
	DECIMAL_NONE,		/* the text is no number */
	DECIMAL_TOO_LARGE,	/* not below 2^64 */
	DECIMAL_NOT_WHOLE,
};

/* Counts characters at the beginning of @text that a number may have */
size_t decimal_length(const char *text);

/* Reads @length characters, such as "1.5", in units of @unit. Writes @value only on success. */
enum decimal decimal_parse(const char *text, size_t length, __u64 unit, __u64 *value);

#endif /* DECIMAL_H */
