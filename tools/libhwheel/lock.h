/* SPDX-License-Identifier: LGPL-2.1-only OR MIT */
/*
 * A lock of one word, inline. pthread_mutex_lock() and its unlock take 55 instructions, which is
 * more than the wheel takes to arm a timeout; these take 12.
 *
 * Source: U. Drepper, Futexes Are Tricky, the third mutex.
 */
#ifndef LOCK_H
#define LOCK_H

#include <linux/futex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "wheel.h"

/* 32-bit machines whose time has 64 bits from the beginning */
#ifndef SYS_futex
#define SYS_futex	SYS_futex_time64
#endif

enum { UNLOCKED, LOCKED, AWAITED };

struct lock {
	uint32_t word;
};

static SLOW void lock_wait(struct lock *lock)
{
	while (__atomic_exchange_n(&lock->word, AWAITED, __ATOMIC_ACQUIRE) != UNLOCKED)
		syscall(SYS_futex, &lock->word, FUTEX_WAIT_PRIVATE, AWAITED, NULL);
}

static SLOW void lock_wake(struct lock *lock)
{
	syscall(SYS_futex, &lock->word, FUTEX_WAKE_PRIVATE, 1);
}

static inline void lock_take(struct lock *lock)
{
	uint32_t word = UNLOCKED;

	if (__builtin_expect(!__atomic_compare_exchange_n(&lock->word, &word, LOCKED, false,
							  __ATOMIC_ACQUIRE, __ATOMIC_RELAXED), 0))
		lock_wait(lock);
}

static inline void lock_leave(struct lock *lock)
{
	if (__builtin_expect(__atomic_exchange_n(&lock->word, UNLOCKED, __ATOMIC_RELEASE) ==
			     AWAITED, 0))
		lock_wake(lock);
}

#endif /* LOCK_H */
