// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/*
 * Lanes: how a thread gets one of a wheel, and gives it up.
 *
 * A thread has a reference to the map of each of its lanes, so that the memory of a lane stays when
 * another thread closes the wheel. The lanes of a wheel that is closed are shut: no fast path takes
 * them. The thread drops them when it asks for its next lane.
 */
#include "map.h"
#include "record.h"

/* Of threads that have none, and of wheels that are not mapped. It is shut. */
static struct lane nobody;

__thread struct lane *lanes[SLOTS] = { [0 ... SLOTS - 1] = &nobody };

/* All that the thread has */
static __thread struct lane *mine;

/* Each thread that has lanes has a value of the key, so that end_thread() runs for it. */
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int begin_error;

/* Removes a lane that is shut from the thread's slots. */
static void forget(const struct lane *lane)
{
	for (unsigned int i = 0; i < SLOTS; i++)
		if (lanes[i] == lane)
			lanes[i] = &nobody;
}

/* The caller holds the lock. No thread has the lane any more. */
static void orphan(struct lane *lane)
{
	struct map *map = lane->map;

	if (lane->wheel) {
		lane_unload(lane);
		lane->wheel = NULL;
		lane->next = map->orphans;
		map->orphans = lane;
	}
	map_put(map);
}

static void end_thread(void *unused)
{
	struct lane *lane, *next;

	(void)unused;
	map_lock();
	for (lane = mine; lane; lane = next) {
		next = lane->next;
		forget(lane);
		/* In a child the fork has wiped the lane. */
		if (lane->map)
			orphan(lane);
	}
	map_unlock();
	mine = NULL;
}

/* A child finds the lock free. */
static void begin(void)
{
	if (pthread_key_create(&key, end_thread) ||
	    pthread_atfork(map_lock, map_unlock, map_unlock))
		begin_error = -ENOMEM;
}

/* Before the first lock. Returns 0 or -ENOMEM. */
int lanes_begin(void)
{
	pthread_once(&once, begin);
	return begin_error;
}

/* Drops the lanes of wheels that were closed, and those of a parent, which were wiped. */
static void prune(void)
{
	struct lane **link = &mine, *lane;

	while ((lane = *link)) {
		if (lane->wheel) {
			link = &lane->next;
			continue;
		}
		*link = lane->next;
		forget(lane);
		if (lane->map)
			map_put(lane->map);
	}
}

static void lane_init(struct lane *lane, struct map *map, unsigned int i)
{
	lane->map = map;
	lane->number = i + 1;
	lane->base = map->base;
	lane->list = &map->lists[i % map->nr_lists].head;
	lane->latest = map->offset_ns ? 0 : LATEST;
	lane_load(lane);
}

static struct lane *lane_new(struct map *map)
{
	struct lane *lane = map->orphans;

	if (lane) {
		map->orphans = lane->next;
		lane_inherit(lane);
		return lane;
	}
	if (map->nr_lanes == MAX_LANES)
		return NULL;
	lane = &map->lanes[map->nr_lanes];
	lane_init(lane, map, map->nr_lanes);
	__atomic_store_n(&map->nr_lanes, map->nr_lanes + 1, __ATOMIC_RELEASE);
	return lane;
}

static struct lane *lane_get(struct hwheel *wheel, struct map *map)
{
	struct lane *lane;

	prune();
	lane = lane_new(map);
	if (lane) {
		map->users++;
		lane->wheel = wheel;
		lane->next = mine;
		mine = lane;
	}
	return lane;
}

static struct lane *find(const struct hwheel *wheel)
{
	struct lane *lane = mine;

	while (lane && __atomic_load_n(&lane->wheel, __ATOMIC_RELAXED) != wheel)
		lane = lane->next;
	return lane;
}

/* NULL: there are too many threads, or there is no memory to notice the thread's end. */
static struct lane *find_or_get(struct hwheel *wheel, struct map *map)
{
	struct lane *lane = find(wheel);

	if (lane)
		return lane;
	if (pthread_setspecific(key, &mine))
		return NULL;
	map_lock();
	lane = lane_get(wheel, map);
	map_unlock();
	return lane;
}

/* The thread's lane of a wheel that has a map. Returns 0 or a negative errno. */
int lane_of(struct hwheel *wheel, struct lane **lane)
{
	struct map *map = __atomic_load_n(&wheel->map, __ATOMIC_ACQUIRE);

	if (!map->header)
		return -EBADF;
	*lane = find_or_get(wheel, map);
	if (!*lane)
		return -EUSERS;
	(*lane)->size = __atomic_load_n(&map->size, __ATOMIC_ACQUIRE) / RECORD_SIZE - 1;
	if (wheel->slot != LAST_SLOT)
		*slot_of(wheel) = *lane;
	return 0;
}

/* With the lock held, by the thread that closes the wheel, when no other one uses it. */
void lane_shut(struct lane *lane)
{
	__atomic_store_n(&lane->wheel, NULL, __ATOMIC_RELAXED);
	lane->latest = 0;
	lane->span = 0;
	lane->size = 0;
}
