// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/*
 * Free records: where they come from and go to.
 *
 * A lane whose magazine is empty takes, in this order, its spare one, one of its full ones, records
 * that other threads gave back to it, those of its reserve, those that no lane has had, those of
 * lanes without a thread, new ones, and those of other lanes; other lanes come first where the map
 * could not grow the last time.
 *
 * A stack that several threads use has a count of its changes beside its head: a thread that takes
 * from it reads links before, and its exchange fails if the stack has changed since, even if the
 * head is the same again.
 */
#include "map.h"
#include "record.h"

/* Stacks that any thread may push to and take from. A head is the lower half, from 1. */

static uint32_t head_of(uint64_t stack)
{
	return (uint32_t)stack;
}

static bool exchange_head(struct stack *stack, uint64_t *old, uint32_t head)
{
	return __atomic_compare_exchange_n(&stack->head, old, ((*old >> 32) + 1) << 32 | head,
					   false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

/* Magazines */

static struct magazine *loaded(const struct lane *lane)
{
	return (struct magazine *)((uintptr_t)(lane->top - 1) & -MAGAZINE_SIZE);
}

static union id *end_of(struct magazine *magazine)
{
	return magazine->ids + PLACES - 1;
}

static uint32_t number_of(const struct map *map, const struct magazine *magazine)
{
	return (uint32_t)(magazine - map->magazines) + 1;
}

static void load(struct lane *lane, struct magazine *magazine, bool is_full)
{
	magazine->bottom.generation = LAST_GENERATION;
	lane->top = is_full ? end_of(magazine) : magazine->ids;
}

static void push_magazine(const struct map *map, struct stack *stack, struct magazine *magazine)
{
	uint64_t old = __atomic_load_n(&stack->head, __ATOMIC_RELAXED);

	do
		__atomic_store_n(&magazine->link, head_of(old), __ATOMIC_RELAXED);
	while (!exchange_head(stack, &old, number_of(map, magazine)));
}

/* The link of a magazine that another thread has taken meanwhile may be anything. */
static struct magazine *pop_magazine(const struct map *map, struct stack *stack)
{
	uint64_t old = __atomic_load_n(&stack->head, __ATOMIC_ACQUIRE);
	struct magazine *magazine;

	do {
		if (!head_of(old))
			return NULL;
		magazine = &map->magazines[head_of(old) - 1];
	} while (!exchange_head(stack, &old,
				(uint32_t)__atomic_load_n(&magazine->link, __ATOMIC_RELAXED)));
	return magazine;
}

/*
 * Takes a page of magazines: a CPU may prefetch lines that another CPU writes. They are on no
 * stack: the first is returned, the lane keeps the others.
 */
static struct magazine *new_magazines(struct lane *lane)
{
	struct map *map = lane->map;
	uint32_t nr = __atomic_load_n(&map->nr_magazines, __ATOMIC_RELAXED);

	do {
		if (nr == map->max_magazines)
			return NULL;
	} while (!__atomic_compare_exchange_n(&map->nr_magazines, &nr, nr + MAGAZINES, false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	for (unsigned int i = 1; i < MAGAZINES; i++)
		push_magazine(map, &lane->empties, &map->magazines[nr + i]);
	return &map->magazines[nr];
}

/*
 * There is always an empty magazine: full ones need records, and each lane holds two. The lane's
 * own come first: those of other lanes are in the caches of other CPUs.
 */
static struct magazine *empty_magazine(struct lane *lane)
{
	struct map *map = lane->map;
	struct magazine *empty = pop_magazine(map, &lane->empties) ?: new_magazines(lane);
	unsigned int i = 0;

	while (!empty) {
		empty = pop_magazine(map, &map->lanes[i++].empties);
		i %= __atomic_load_n(&map->nr_lanes, __ATOMIC_ACQUIRE);
	}
	return empty;
}

/* The loaded magazine is full. Returns 0, as the operation that came to it. */
int lane_spill(struct lane *lane)
{
	struct magazine *full = loaded(lane);

	if (lane->is_full) {
		push_magazine(lane->map, &lane->full, lane->spare);
		lane->spare = empty_magazine(lane);
	}
	load(lane, lane->spare, false);
	lane->spare = full;
	lane->is_full = true;
	return 0;
}

/* The loaded magazine is empty. */
static bool take_spare(struct lane *lane)
{
	struct magazine *empty = loaded(lane);

	if (!lane->is_full)
		return false;
	load(lane, lane->spare, true);
	lane->spare = empty;
	lane->is_full = false;
	return true;
}

static bool take_full(struct lane *lane, struct lane *from)
{
	struct magazine *full = pop_magazine(lane->map, &from->full);

	if (!full)
		return false;
	push_magazine(lane->map, &from->empties, loaded(lane));
	load(lane, full, true);
	return true;
}

/* Single records that were given back */

/* A thread that sees the link sees that the timeout has ended: see mapped_query(). */
static void push_returned(const struct lane *lane, struct lane *home, uint32_t offset)
{
	struct hwheel_map_record *record = record_at(lane, offset);
	uint64_t old = __atomic_load_n(&home->returned.head, __ATOMIC_RELAXED);

	do
		__atomic_store_n(&record->cookie, head_of(old), __ATOMIC_RELEASE);
	while (!exchange_head(&home->returned, &old, offset));
}

static bool is_offset(const struct map *map, uint32_t offset)
{
	return offset && offset < __atomic_load_n(&map->size, __ATOMIC_RELAXED) &&
	       offset % RECORD_SIZE == 0;
}

/* Another thread may have taken them meanwhile: then their links may be anything. */
static unsigned int look_at(const struct lane *lane, uint32_t offset, union id *ids,
			    uint32_t *rest)
{
	unsigned int n = 0;

	for (; n < GROUP && is_offset(lane->map, offset); n++) {
		const struct hwheel_map_record *record = record_at(lane, offset);

		ids[n].generation = __atomic_load_n(&record->generation, __ATOMIC_RELAXED);
		ids[n].offset = offset;
		offset = (uint32_t)__atomic_load_n(&record->cookie, __ATOMIC_RELAXED);
	}
	*rest = offset;
	return n;
}

/* The loaded magazine is empty. */
static bool take_returned(struct lane *lane, struct lane *from)
{
	uint64_t old = __atomic_load_n(&from->returned.head, __ATOMIC_ACQUIRE);
	unsigned int n;
	uint32_t rest;

	do {
		n = look_at(lane, head_of(old), lane->top, &rest);
		if (!n)
			return false;
	} while (!exchange_head(&from->returned, &old, rest));
	lane->top += n;
	return true;
}

/* Records that the lane has had for itself from the beginning */

static uint16_t *home_of(const struct map *map, uint32_t offset)
{
	return &map->homes[(offset - RECORD_SIZE) / GROUP_SIZE];
}

static void set_home(struct lane *lane, uint32_t from, uint32_t to)
{
	for (; from < to; from += GROUP_SIZE)
		__atomic_store_n(home_of(lane->map, from), (uint16_t)lane->number,
				 __ATOMIC_RELAXED);
}

/* Most programs have one thread that arms, and one range. */
static void set_range(struct lane *lane, uint32_t from, uint32_t to)
{
	uint32_t count = (to - from) / RECORD_SIZE;

	if (from == lane->lo + lane->span * RECORD_SIZE) {
		lane->span += count;
	} else if (count > lane->span) {
		lane->lo = from;
		lane->span = count;
	}
}

/* Another thread has taken the records from the reserve's end to the end of the range. */
static void trim_range(struct lane *lane, uint32_t end)
{
	if (lane_is_home(lane, end) &&
	    __atomic_load_n(home_of(lane->map, end), __ATOMIC_RELAXED) != lane->number)
		lane->span = (end - lane->lo) / RECORD_SIZE;
}

static union range load_reserve(const struct lane *lane)
{
	return (union range){ __atomic_load_n(&lane->reserve.both, __ATOMIC_ACQUIRE) };
}

/* It fails if another thread has taken records. (The same range again is as good as the first.) */
static bool exchange_reserve(struct lane *lane, union range *old, union range new)
{
	return __atomic_compare_exchange_n(&lane->reserve.both, &old->both, new.both, false,
					   __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

/* The lane's reserve is empty, so no other thread changes it. */
static void set_reserve(struct lane *lane, union range range)
{
	set_home(lane, range.from, range.end);
	set_range(lane, range.from, range.end);
	__atomic_store_n(&lane->reserve.both, range.both, __ATOMIC_RELEASE);
}

static void fill(struct lane *lane, uint32_t from, uint32_t end)
{
	for (; from < end; from += RECORD_SIZE)
		*lane->top++ = (union id){ .generation = FIRST_GENERATION, .offset = from };
}

/* Takes the lane's reserve up to an offset for the loaded magazine, which is empty. */
static bool take_up_to(struct lane *lane, uint32_t (*end)(union range range))
{
	union range old = load_reserve(lane), rest;

	do {
		rest = old;
		rest.from = end(old);
	} while (!exchange_reserve(lane, &old, rest));
	trim_range(lane, old.end);
	fill(lane, old.from, rest.from);
	return old.from < rest.from;
}

/* For a whole magazine, but not so much of a small reserve that others find none */
static uint32_t end_of_some(union range range)
{
	uint32_t size = range.end - range.from, most = (PLACES - 2) * RECORD_SIZE;

	if (size / 4 < most)
		most = size / 4 < GROUP_SIZE ? GROUP_SIZE : size / 4;
	if (size < most)
		return range.end;
	return range.from + most / RECORD_SIZE * RECORD_SIZE;
}

static bool take_reserve(struct lane *lane)
{
	return take_up_to(lane, end_of_some);
}

/* The first group that was not begun, or the end */
static uint32_t first_group(union range range)
{
	uint32_t groups = (range.from - RECORD_SIZE + GROUP_SIZE - 1) / GROUP_SIZE;
	uint32_t from = groups * GROUP_SIZE + RECORD_SIZE;

	return from < range.end ? from : range.end;
}

/* From a lane, of the groups that it has not begun, the latter half. The own reserve is empty. */
static bool take_groups(struct lane *lane, struct lane *from)
{
	union range old = load_reserve(from), rest;
	uint32_t groups;

	do {
		groups = (old.end - first_group(old)) / GROUP_SIZE;
		if (!groups)
			return false;
		rest = old;
		rest.end -= (groups + 1) / 2 * GROUP_SIZE;
	} while (!exchange_reserve(from, &old, rest));
	set_reserve(lane, (union range){ .from = rest.end, .end = old.end });
	return take_reserve(lane);
}

/*
 * A part of what there is, in whole groups. A large one makes one range, which is the faster home;
 * when all is given out, threads take from each other.
 */
static uint32_t share_of(uint32_t size)
{
	uint32_t share = size / 8 / GROUP_SIZE * GROUP_SIZE;

	return share ?: GROUP_SIZE;
}

static bool carve(struct lane *lane)
{
	struct map *map = lane->map;
	uint32_t size = __atomic_load_n(&map->size, __ATOMIC_ACQUIRE), to;
	uint32_t from = __atomic_load_n(&map->fresh, __ATOMIC_RELAXED);

	do {
		if (from >= size)
			return false;
		to = from + share_of(size);
		if (to > size)
			to = size;
	} while (!__atomic_compare_exchange_n(&map->fresh, &from, to, false, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	lane->size = size / RECORD_SIZE - 1;
	set_reserve(lane, (union range){ .from = from, .end = to });
	return take_reserve(lane);
}

/* The lane keeps records of an orphan, as no thread arms the others of their groups there. */
static void settle(struct lane *lane, struct lane *orphan)
{
	for (const union id *id = loaded(lane)->ids; id < lane->top; id++)
		set_home(lane, id->offset, id->offset + RECORD_SIZE);
	orphan->span = 0;
}

static bool take_from_orphan(struct lane *lane, struct lane *orphan)
{
	if (take_groups(lane, orphan))
		return true;
	if (!take_full(lane, orphan) && !take_returned(lane, orphan))
		return false;
	settle(lane, orphan);
	return true;
}

/* With the lock held, so that no orphan gets a thread meanwhile */
static bool take_orphans(struct lane *lane)
{
	struct lane *orphan = lane->map->orphans;

	while (orphan && !take_from_orphan(lane, orphan))
		orphan = orphan->next;
	return orphan;
}

/* Others may carve what is new first. */
static int carve_new(struct hwheel *wheel, struct lane *lane)
{
	int error = 0;

	map_lock();
	while (!error && !carve(lane) && !take_orphans(lane))
		error = map_grow(wheel, lane->map);
	map_unlock();
	return error;
}

static bool take_from_others(struct lane *lane)
{
	struct map *map = lane->map;
	unsigned int nr = __atomic_load_n(&map->nr_lanes, __ATOMIC_ACQUIRE);

	for (unsigned int i = 0; i < nr; i++)
		if (take_returned(lane, &map->lanes[i]) || take_full(lane, &map->lanes[i]) ||
		    take_groups(lane, &map->lanes[i]))
			return true;
	return false;
}

/* Where the map could not grow the last time, it tries again once others have no records either. */
static int take_or_grow(struct hwheel *wheel, struct lane *lane)
{
	bool was_short = __atomic_load_n(&lane->map->is_short, __ATOMIC_RELAXED);
	int error;

	if (was_short && take_from_others(lane))
		return 0;
	error = carve_new(wheel, lane);
	return error && take_from_others(lane) ? 0 : error;
}

/* The loaded magazine is empty. Finds some records, or returns why there are none. */
int lane_refill(struct hwheel *wheel, struct lane *lane)
{
	if (take_spare(lane) || take_full(lane, lane) || take_returned(lane, lane) ||
	    take_reserve(lane) || carve(lane))
		return 0;
	return take_or_grow(wheel, lane);
}

/* A record of any home, that no thread refers to any more */
void lane_give_back(struct lane *lane, uint32_t generation, uint32_t offset)
{
	const struct map *map = lane->map;
	unsigned int home = __atomic_load_n(home_of(map, offset), __ATOMIC_RELAXED);

	if (home == lane->number)
		lane_keep(lane, (union id){ .generation = generation, .offset = offset });
	else
		push_returned(lane, &map->lanes[home - 1], offset);
}

void lane_load(struct lane *lane)
{
	lane->spare = empty_magazine(lane);
	load(lane, empty_magazine(lane), false);
}

/* A thread gets the lane of another one, which has ended. */
void lane_inherit(struct lane *lane)
{
	trim_range(lane, load_reserve(lane).end);
}

static void give_all_back(struct lane *lane)
{
	while (!lane_is_empty(lane)) {
		union id id = *--lane->top;

		/* A record that was never armed does not have its generation yet. */
		__atomic_store_n(&record_at(lane, id.offset)->generation, id.generation,
				 __ATOMIC_RELAXED);
		push_returned(lane, lane, id.offset);
	}
}

/* Gives what the thread has at hand to all others. */
void lane_unload(struct lane *lane)
{
	give_all_back(lane);
	/* No other thread takes from a group that this one has begun. */
	take_up_to(lane, first_group);
	give_all_back(lane);
	if (lane->is_full) {
		push_magazine(lane->map, &lane->full, lane->spare);
		lane->spare = empty_magazine(lane);
		lane->is_full = false;
	}
}
