/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_FRACTION_H
#define _HWHEEL_FRACTION_H

#include <linux/math64.h>

/*
 * @n / @d in units of 2^-63, rounded down; less than 2, and @d less than 2^63. That is
 * mul_u64_u64_div_u64(BIT_ULL(63), n, d), which before Linux 6.12 was exact on 64-bit x86
 * only.
 */
static inline u64 hwheel_fraction(u64 n, u64 d)
{
	u64 rest, fraction = div64_u64_rem(n, d, &rest);
	unsigned int i;

	for (i = 0; i < 63; i++) {
		rest <<= 1;
		fraction <<= 1;
		if (rest >= d) {
			rest -= d;
			fraction++;
		}
	}
	return fraction;
}

#endif /* _HWHEEL_FRACTION_H */
