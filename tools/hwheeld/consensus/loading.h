/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads the log of a shard that this node has taken over, the oldest commit first. */
#ifndef LOADING_H
#define LOADING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Calls @each with the bytes of each commit, which returns false if they are damaged, and then
 * @done: @next is the number behind the last commit.
 */
void loading_begin(unsigned int shard,
		   bool (*each)(const char *bytes, size_t length, unsigned int shard,
				uint64_t number),
		   void (*done)(unsigned int shard, uint64_t next, bool is_whole));

#endif /* LOADING_H */
