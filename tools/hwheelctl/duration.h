/* SPDX-License-Identifier: GPL-2.0-only */
/* Durations as people write and read them: 250ms, 1.5s, 2m, 2d. */
#ifndef DURATION_H
#define DURATION_H

#include <linux/types.h>

#define DURATION_TEXT	32	/* bytes that any duration_format() needs */

/**
 * duration_parse() - read a duration with a unit: ns, us, ms, s, m, h or d
 * @text: such as "250ms", "1.5s", "2m"
 * @ns:   out: the duration; written only on success
 *
 * A fraction must come out in whole nanoseconds: nothing is rounded.
 *
 * Return: NULL, or what is wrong with @text.
 */
const char *duration_parse(const char *text, __u64 *ns);

/**
 * duration_format() - write a duration in the largest unit that keeps it >= 1
 * @ns:   the duration
 * @text: out: such as "10 ms" or "1.25 s"; cut, not rounded, after three decimals
 *
 * Return: @text.
 */
char *duration_format(__u64 ns, char text[DURATION_TEXT]);

#endif /* DURATION_H */
