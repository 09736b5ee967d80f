/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * 64-bit words that the worker shares with a program's threads. On 64 bits these are the plain
 * accesses. On 32 bits a plain access is one of two halves, so these take what the processor has
 * for atomic64_t; where it has nothing (CONFIG_GENERIC_ATOMIC64) no file is mapped.
 */
#ifndef _HWHEEL_MAPPED_WORD_H
#define _HWHEEL_MAPPED_WORD_H

#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/hwheel.h>
#include <linux/types.h>

#include <uapi/linux/hwheel.h>

#include "engine/state.h"

/* The engine's own word */
static_assert(HWHEEL_MAP_PENDING == HWHEEL_PENDING);
static_assert(HWHEEL_MAP_EXPIRED == HWHEEL_EXPIRED);
static_assert(HWHEEL_MAP_CANCELLED == HWHEEL_CANCELLED);
static_assert(HWHEEL_MAP_IDLE == HWHEEL_IDLE);
static_assert(HWHEEL_MAP_QUEUED == HWHEEL_QUEUED);
/* Not in a word that is PENDING: what the worker does with others keeps it. */
static_assert(HWHEEL_MAP_WITHDRAWN == HWHEEL_CLOSED);
static_assert(HWHEEL_MAP_NEVER == HWHEEL_NEVER);

/* An acquire */
static __always_inline u64 hwheel_map_word_load(const u64 *word)
{
	return atomic64_read_acquire((const atomic64_t *)word);
}

/* A release */
static __always_inline void hwheel_map_word_store(u64 *word, u64 value)
{
	atomic64_set_release((atomic64_t *)word, value);
}

/* Fully ordered if it succeeds; else @old is what the word is. */
static __always_inline bool hwheel_map_word_exchange(u64 *word, u64 *old, u64 new)
{
	return atomic64_try_cmpxchg((atomic64_t *)word, (s64 *)old, new);
}

/* Sets one of the low bits, whatever the others are, and returns what it was. Fully ordered. */
static inline bool hwheel_map_word_set(u64 *word, unsigned int bit)
{
	unsigned long *low = (unsigned long *)word;

	if (IS_ENABLED(CONFIG_CPU_BIG_ENDIAN) && !IS_ENABLED(CONFIG_64BIT))
		low++;
	return test_and_set_bit(bit, low);
}

#endif /* _HWHEEL_MAPPED_WORD_H */
