// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/* Refreshes that are stores into memory that the module looks at. */
#include <stdbool.h>
#include <sys/mman.h>

#include "wheel.h"

/*
 * The module takes a store for no more than a day or a turn beyond the deadline that it knows
 * of, which is no more than some ticks before now: half of it is always within reach.
 */
static uint64_t reach_of(const struct hwheel_info *info)
{
	uint64_t turn = info->tick_ns * info->slots;

	if (info->kind != HWHEEL_KIND_SIMPLE || turn > HWHEEL_STORE_MAX_NS)
		return HWHEEL_STORE_MAX_NS / 2;
	return info->slots < 8 ? 0 : turn / 2;
}

int hwheel_map(struct hwheel *wheel)
{
	struct hwheel_info info;
	void *deadlines;
	size_t size;
	int error;

	if (wheel->deadlines)
		return 0;
	error = hwheel_info(wheel, &info);
	if (error)
		return error;
	if (!(info.features & HWHEEL_FEATURE_MMAP))
		return -EOPNOTSUPP;
	size = info.max_timeouts * sizeof(uint64_t);
	deadlines = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, wheel->fd, 0);
	if (deadlines == MAP_FAILED)
		return -errno;
	wheel->clock = info.clock;
	wheel->reach = reach_of(&info);
	wheel->deadlines = deadlines;
	wheel->size = size;
	return 0;
}

void hwheel__unmap(struct hwheel *wheel)
{
	if (wheel->deadlines)
		munmap(wheel->deadlines, wheel->size);
}

/* No id has an upper half that is 0. */
static bool has_word(const struct hwheel *wheel, uint64_t id)
{
	return HWHEEL_INDEX(id) < wheel->size / sizeof(uint64_t) && id >> 32;
}

/* The module writes 0 when the time-out ends, so one that has ended is left alone. */
static int store(struct hwheel *wheel, uint64_t id, uint64_t deadline_ns)
{
	uint64_t *word = &wheel->deadlines[HWHEEL_INDEX(id)];
	uint64_t old = __atomic_load_n(word, __ATOMIC_RELAXED);

	do {
		if (!old)
			return -ENOENT;
		if (deadline_ns < old)
			return 1;
	} while (!__atomic_compare_exchange_n(word, &old, deadline_ns, true,
					      __ATOMIC_RELEASE, __ATOMIC_RELAXED));
	return 0;
}

int hwheel__store_delay(struct hwheel *wheel, uint64_t id, uint64_t delay_ns)
{
	if (delay_ns > wheel->reach || !has_word(wheel, id))
		return 1;
	return store(wheel, id, hwheel_now(wheel) + delay_ns);
}

int hwheel__store(struct hwheel *wheel, uint64_t id, uint64_t deadline_ns)
{
	uint64_t now;

	if (!has_word(wheel, id))
		return 1;
	now = hwheel_now(wheel);
	if (deadline_ns < now || deadline_ns - now > wheel->reach)
		return 1;
	return store(wheel, id, deadline_ns);
}
