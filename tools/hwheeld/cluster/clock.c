// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <time.h>

#include "../now.h"
#include "../say.h"
#include "clock.h"
#include "ensemble.h"
#include "tree.h"

/* So many changes are measured; the one that took the least time is the most exact. */
#define SAMPLES		8

/* Of the times that ZooKeeper gives */
#define RESOLUTION_NS	NS_PER_MS

static struct store_time measured;

static int sample(uint64_t *least)
{
	uint64_t before = now_clock_ns(CLOCK_BOOTTIME), took;
	char path[TREE_PATH];
	struct Stat stat;
	int error;

	tree_path(path, "/clock");
	error = zoo_set2(ensemble_handle(), path, "", 0, -1, &stat);
	took = now_clock_ns(CLOCK_BOOTTIME) - before;
	if (error) {
		say(LOG_ERR, "cluster: %s: %s", path, zerror(error));
		return -EIO;
	}
	if (took >= *least)
		return 0;
	*least = took;
	measured.at_ns = (uint64_t)stat.mtime * NS_PER_MS;
	measured.offset_ns = (int64_t)(measured.at_ns - before - took);
	measured.bound_ns = took + RESOLUTION_NS;
	return 0;
}

int clock_begin(void)
{
	uint64_t least = UINT64_MAX;
	int error = now_read_boot_id(measured.boot_id);

	for (int i = 0; i < SAMPLES && !error; i++)
		error = sample(&least);
	measured.wall_ns = now_wall_ns();
	return error;
}

void clock_time(struct store_time *time)
{
	*time = measured;
}
