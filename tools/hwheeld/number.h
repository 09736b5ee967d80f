/* SPDX-License-Identifier: GPL-2.0-only */
/* Whole numbers as people write them. */
#ifndef NUMBER_H
#define NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/* Returns false if @text is anything else than digits of @base, or too large. */
bool number_parse(const char *text, int base, uint64_t *number);

#endif /* NUMBER_H */
