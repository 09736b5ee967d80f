/* SPDX-License-Identifier: GPL-2.0-only */
/* Points in time as hwheeld shows them: 2026-12-24T18:00:00.000Z */
#ifndef DATE_H
#define DATE_H

#include <linux/types.h>
#include <stdbool.h>

#define DATE_TEXT	32	/* bytes that any date_format() needs */

/* @wall_ns: since 1970, rounded up to milliseconds. Returns @text. */
char *date_format(__u64 wall_ns, char text[DATE_TEXT]);

/* Returns false for all that date_format() does not write. */
bool date_parse(const char *text, __u64 *wall_ns);

/* Of this machine's wall clock */
__u64 date_now(void);

#endif /* DATE_H */
