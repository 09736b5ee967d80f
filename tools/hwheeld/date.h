/* SPDX-License-Identifier: GPL-2.0-only */
/* Points in time, as texts that clients send */
#ifndef DATE_H
#define DATE_H

#include <stdbool.h>
#include <stdint.h>

/* The wall clock's nanoseconds have to fit: seconds since 1970, in the year 2255 */
#define DATE_LAST	9000000000.0

/*
 * RFC 3339, such as 2026-11-24T18:30:00.5+01:00, or one of the forms of HTTP (RFC 9110, 5.6.7),
 * such as Tue, 24 Nov 2026 17:30:00 GMT. A second 60 is the next second. Returns false for all
 * else, and for times before 1970 or behind DATE_LAST.
 */
bool date_read(const char *text, uint64_t *wall_ns);

#endif /* DATE_H */
