/* SPDX-License-Identifier: GPL-2.0-only */
/* The contents of a commit: records, each with its length in front. */
#ifndef CONTENTS_H
#define CONTENTS_H

#include "log/record.h"

/* How many bytes a record adds */
size_t contents_cost(const struct record *record);

/* Writes so many bytes. Returns where the next record goes. */
unsigned char *contents_write(unsigned char *to, const struct record *record);

/*
 * Calls @each for each record, with numbers from @first on; their keys have no hashes. Returns
 * false if something is damaged.
 */
bool contents_read(const void *bytes, size_t size, uint64_t first,
		   void (*each)(void *data, struct record *record), void *data);

#endif /* CONTENTS_H */
