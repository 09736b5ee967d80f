// SPDX-License-Identifier: GPL-2.0-only
/*
 * A run of a mapping on the worker: the worker drains the lists, expires due timeouts, publishes
 * the new entries of the ring, once, and wakes the threads that poll. The rest of the work waits
 * for the next run, in a pass that follows at once, if the time is used up.
 *
 * Models: mapped.pml, reap.pml and shutdown.pml in selftests/models/.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/cred.h>
#include <linux/jiffies.h>
#include <linux/printk.h>
#include <linux/ratelimit.h>
#include <linux/uidgid.h>

#include "device/account.h"
#include "device/file.h"
#include "device/waiters.h"
#include "engine/source.h"
#include "engine/wheel.h"
#include "drain.h"
#include "expire.h"
#include "list.h"
#include "mapping.h"
#include "part.h"
#include "ring.h"
#include "source.h"
#include "stop.h"

/*
 * One line a minute, whatever programs do, that says how many it stands for. If the console is
 * slow, timeouts of this account wait.
 */
static void warn_of_damage(const struct hwheel_mapping *map)
{
	static struct ratelimit_state minutes =
		RATELIMIT_STATE_INIT_FLAGS(minutes, 60 * HZ, 1, RATELIMIT_MSG_ON_RELEASE);
	static atomic_t left_out;

	if (__ratelimit(&minutes))
		pr_warn("a mapped list of uid %u was damaged (left out before: %d such lines)\n",
			from_kuid(&init_user_ns, map->file->account->key.uid),
			atomic_xchg(&left_out, 0));
	else
		atomic_inc(&left_out);
}

static struct hwheel_mapping *mapping_of(struct hwheel_source *source)
{
	return container_of(source, struct hwheel_mapping, source);
}

/* Returns how many events there are to be told. */
static u64 publish_quietly(struct hwheel_mapping *map)
{
	hwheel_source_tell(&map->source, &map->counts);
	return hwheel_map_ring_publish(map);
}

static void publish(struct hwheel_mapping *map)
{
	u64 events = publish_quietly(map);

	if (events)
		hwheel_waiters_wake(&map->file->wait, min_t(u64, events, UINT_MAX));
}

/* Timeouts that are filed never end. */
static enum hwheel_source_next go(struct hwheel_mapping *map)
{
	map->counts.filed = 0;
	hwheel_source_tell(&map->source, &map->counts);
	return HWHEEL_SOURCE_GONE;
}

/*
 * The worker leaves the program alone from now on. poll() and the lists show it, as a timeout
 * that is armed from now on would not end.
 */
static enum hwheel_source_next give_up(struct hwheel_mapping *map)
{
	hwheel_map_lists_close(map);
	/*
	 * Pairs with the look in hwheel_mapped_file_poll(): a thread that sees @damaged finds the
	 * lists closed, as the exchanges are fully ordered.
	 */
	WRITE_ONCE(map->published.damaged, true);
	hwheel_waiters_end(&map->file->wait);
	warn_of_damage(map);
	return go(map);
}

/* The thread that stops the file may have been killed, so the worker wakes those who wait. */
static enum hwheel_source_next stop(struct hwheel_mapping *map)
{
	bool through;

	hwheel_map_part_extend(map);
	through = hwheel_map_stop_walk(map);
	if (!through) {
		publish(map);
		return HWHEEL_SOURCE_AGAIN;
	}
	publish_quietly(map);
	/* Pairs with hwheel_mapped_file_poll(): a thread that sees the end sees all events. */
	smp_store_release(&map->published.stopped, true);
	hwheel_waiters_end(&map->file->wait);
	return HWHEEL_SOURCE_GONE;
}

/*
 * Returns false if there was no time for all. A drain that is not through in half of the time waits
 * for the expiry: a flood of submissions keeps no timeout waiting that was filed before.
 */
static bool drain_and_expire(struct hwheel_mapping *map)
{
	bool through;

	if (!map->order.place)
		hwheel_map_drain(map);
	hwheel_map_part_extend(map);
	through = !map->corrupt && hwheel_map_expire(map);
	publish(map);
	if (through && hwheel_map_move(map))
		publish(map);
	if (through && !hwheel_map_is_drained(map)) {
		hwheel_map_part_extend(map);
		hwheel_map_drain(map);
		hwheel_source_tell(&map->source, &map->counts);
		return false;
	}
	return through;
}

/*
 * Is a program that has kicked, or submitted so many, likely to submit more soon? The worker does
 * not expect that of a program whose last record came alone, and now another one: lingering would
 * take the worker as long again, to save the program a kick. A program that kicks more often is
 * polled instead, so its kicks wake the worker twice in a tick at most.
 */
static bool goes_on(struct hwheel_mapping *map, u64 drained, bool kicked)
{
	u64 reached = hwheel_mapping_wheel(map)->reached;
	bool rested = reached > map->busy + 1, was_alone = map->alone;

	if (!drained && !kicked)
		return false;
	map->busy = reached;
	map->alone = rested && drained <= 1;
	return !was_alone || !map->alone;
}

/* Pushers stop kicking. Returns whether they had to. */
static bool take_kick(struct hwheel_mapping *map)
{
	bool kicked = map->kicked;

	map->kicked = false;
	if (kicked)
		hwheel_map_lists_wake(map);
	return kicked;
}

static enum hwheel_source_next work(struct hwheel_mapping *map)
{
	u64 before = map->counts.drained;
	bool kicked = take_kick(map), through = drain_and_expire(map);

	if (map->corrupt)
		return give_up(map);
	if (!through)
		return HWHEEL_SOURCE_AGAIN;
	map->source.edge = hwheel_slots_next(&map->slots);
	if (goes_on(map, map->counts.drained - before, kicked) || !hlist_empty(&map->drain.again))
		return HWHEEL_SOURCE_ACTIVE;
	return HWHEEL_SOURCE_IDLE;
}

/* Nobody reads the events of a file that is closed. */
static enum hwheel_source_next map_run(struct hwheel_source *source)
{
	struct hwheel_mapping *map = mapping_of(source);

	if (READ_ONCE(map->closing))
		return go(map);
	hwheel_map_part_begin(map);
	/* Pairs with hwheel_map_stop_begin(). */
	return smp_load_acquire(&map->stopping) ? stop(map) : work(map);
}

static bool map_park(struct hwheel_source *source)
{
	return hwheel_map_lists_park(mapping_of(source));
}

/* Until the next run pushers still kick, which does nothing. */
static void map_wake(struct hwheel_source *source)
{
	mapping_of(source)->kicked = true;
}

static const struct hwheel_source_ops map_source_ops = {
	.run	= map_run,
	.park	= map_park,
	.wake	= map_wake,
};

void hwheel_map_source_init(struct hwheel_mapping *map, struct hwheel *wheel)
{
	hwheel_source_init(&map->source, wheel, &map_source_ops);
}
