/* SPDX-License-Identifier: GPL-2.0-only */
/* Whole numbers as people write them: 5000, 100k, 1.5M, 1e6, 0x10. */
#ifndef NUMBER_H
#define NUMBER_H

#include <linux/types.h>

/* Returns NULL, or what is wrong with @text. Writes @number only on success. */
const char *number_parse(const char *text, __u64 *number);

#endif /* NUMBER_H */
