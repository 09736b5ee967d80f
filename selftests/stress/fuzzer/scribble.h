/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_FUZZER_SCRIBBLE_H
#define _HWHEEL_FUZZER_SCRIBBLE_H

#include <stddef.h>
#include <linux/types.h>

#include "random.h"

int scribble_begin(__u64 seed);
void scribble_over(struct random *rnd, __u64 *words, size_t size);
void scribble_end(void);

#endif /* _HWHEEL_FUZZER_SCRIBBLE_H */
