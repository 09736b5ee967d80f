/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Small pieces of a shard's log become large ones, as reading each one takes a round trip. A batch
 * has a piece for each shard that it is about, and without this a log of 100,000 timeouts has
 * 25,000 of them.
 *
 * Sixteen pieces that follow each other are replaced by one with all of their bytes, in one
 * request; sixteen of those are, once more: so a record is written three times at most. What the
 * log says stays the same, byte by byte: so nothing else has to know, and it does not matter
 * whether a request of unknown outcome has happened. (Log-structured merge trees do this, with
 * tiers: O'Neil and others, 1996.)
 */
#ifndef MERGING_H
#define MERGING_H

#include <stddef.h>
#include <stdint.h>

void merging_begin(void);
void merging_end(void);

/*
 * A piece was committed: the last one of its shard. @bytes are taken over. @place is its place in
 * the trail.
 */
void merging_add(unsigned int shard, unsigned int tenure, uint64_t number, size_t place,
		 char *bytes, size_t size);

/* Sends requests, as long as only few are on their way. */
void merging_go_on(void);

#endif /* MERGING_H */
