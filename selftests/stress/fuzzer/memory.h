/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_FUZZER_MEMORY_H
#define _HWHEEL_FUZZER_MEMORY_H

#include "random.h"

/* As much as the largest argument takes, a batch, in whole pages of any size */
#define MEMORY_MAX	(65536 * 3)

/**
 * struct memory - addresses for arguments, good and bad
 * @user:  writable, then read-only, then writable again, then inaccessible; MEMORY_MAX each
 * @alias: the same memory, all of it writable
 */
struct memory {
	char	*user;
	char	*alias;
};

/**
 * struct spot - where an argument is
 * @user:     its address
 * @alias:    where we can write and read it, whatever @user allows
 * @readable: how many bytes from its beginning can be read at @user
 * @writable: how many can be written
 */
struct spot {
	char	*user;
	char	*alias;
	size_t	readable;
	size_t	writable;
};

int memory_map(struct memory *memory);
struct spot memory_good(const struct memory *memory, struct random *rnd, size_t size);
struct spot memory_any(const struct memory *memory, struct random *rnd, size_t size);

#endif /* _HWHEEL_FUZZER_MEMORY_H */
