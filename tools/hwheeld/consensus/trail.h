/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The trail: the commits in the logs of this node's shards, in the order in which their records
 * have numbers here. Cleaning removes them from its oldest end.
 */
#ifndef TRAIL_H
#define TRAIL_H

#include <stddef.h>
#include <stdint.h>

/*
 * Gives numbers to @count records, and returns the first one. Records get numbers as they become
 * known, in loading or when they are committed, so that a larger number is later news.
 */
uint64_t trail_numbers(size_t count);

/* A commit of a shard, whose last record has the number before @end. Returns its place. */
size_t trail_add(unsigned int shard, unsigned int tenure, uint64_t number, uint64_t end);

/* The commit at the place is not in the log any more; or it was removed before. */
void trail_forget(size_t place);

/*
 * Removes those that end at @before or earlier, step by step in the background. Commits that cannot
 * be removed now are removed with the next ones.
 */
void trail_remove(uint64_t before);

#endif /* TRAIL_H */
