// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "clock/now.h"

#define NOW_BOOT_ID	"/proc/sys/kernel/random/boot_id"

/* An alarm that is farther away is set before its time. */
#define NOW_FAR_NS	(10 * NS_PER_S)

/* Alarms that come later by less are not set anew. */
#define NOW_JUMP_NS	(50 * NS_PER_MS)

static struct {
	char boot_id[40];
	int64_t offset_ns;
	bool is_shared;
	bool has_jumped;
	uint64_t bound_ns;		/* as of boot_ns */
	uint64_t boot_ns;
	uint64_t floor_ns;		/* of the service's time */
} now;

uint64_t now_clock_ns(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec;
}

int64_t now_offset(const struct store_time *stored, const char *boot_id, uint64_t boot_ns,
		   uint64_t wall_ns)
{
	uint64_t away = 0;

	if (!*stored->boot_id)
		return 0;
	if (!strcmp(stored->boot_id, boot_id))
		return stored->offset_ns;
	if (wall_ns > stored->wall_ns)
		away = wall_ns - stored->wall_ns;
	return (int64_t)(stored->at_ns + away - boot_ns);
}

int now_begin(struct store_time *stored)
{
	FILE *stream = fopen(NOW_BOOT_ID, "re");
	bool is_read;

	if (!stream)
		return -errno;
	is_read = fscanf(stream, "%39s", now.boot_id) == 1;
	fclose(stream);
	if (!is_read)
		return -EIO;
	if (!now.is_shared)
		now.offset_ns = now_offset(stored, now.boot_id, now_clock_ns(CLOCK_BOOTTIME),
					   now_wall_ns());
	now_mark(stored);
	return 0;
}

/* Without the floor */
static uint64_t now_reckon(uint64_t boot_ns)
{
	return boot_ns + (uint64_t)now.offset_ns;
}

static uint64_t now_bound(uint64_t boot_ns)
{
	return now.is_shared ? now.bound_ns + NOW_DRIFT_NS(boot_ns - now.boot_ns) : 0;
}

/* Alarms are set for when it is surely so late. */
void now_follow(int64_t offset_ns, uint64_t bound_ns, uint64_t boot_ns)
{
	int64_t least = now.offset_ns - (int64_t)now_bound(boot_ns);

	if (now.is_shared) {
		now.floor_ns = now_ns();
		now.has_jumped |= offset_ns - (int64_t)bound_ns > least + (int64_t)NOW_JUMP_NS;
	}
	now.is_shared = true;
	now.offset_ns = offset_ns;
	now.bound_ns = bound_ns;
	now.boot_ns = boot_ns;
}

bool now_is_shared(void)
{
	return now.is_shared;
}

bool now_has_jumped(void)
{
	bool has_jumped = now.has_jumped;

	now.has_jumped = false;
	return has_jumped;
}

double now_offset_of_wall(void)
{
	return (double)(int64_t)(now_ns() - now_wall_ns()) / 1e9;
}

/* A time that waits is ahead by as much as it has to wait. */
uint64_t now_bound_ns(void)
{
	uint64_t boot = now_clock_ns(CLOCK_BOOTTIME), time = now_reckon(boot);

	return now_bound(boot) + (now.floor_ns > time ? now.floor_ns - time : 0);
}

uint64_t now_ns(void)
{
	uint64_t time = now_reckon(now_clock_ns(CLOCK_BOOTTIME));

	return time > now.floor_ns ? time : now.floor_ns;
}

uint64_t now_after(uint64_t delay_ns)
{
	uint64_t boot = now_clock_ns(CLOCK_BOOTTIME);

	return now_reckon(boot) + now_bound(boot) + delay_ns;
}

bool now_has_come(uint64_t service_ns)
{
	uint64_t boot = now_clock_ns(CLOCK_BOOTTIME);

	return now_reckon(boot) >= service_ns + now_bound(boot);
}

uint64_t now_alarm_ns(uint64_t service_ns)
{
	uint64_t boot = now_clock_ns(CLOCK_BOOTTIME);
	uint64_t time = now_reckon(boot), at = service_ns + now_bound(boot);

	if (now.is_shared && at > time + NOW_FAR_NS)
		at -= (at - time) / 1024;
	return at;
}

uint64_t now_wall_ns(void)
{
	return now_clock_ns(CLOCK_REALTIME);
}

uint64_t now_on_boottime(uint64_t service_ns)
{
	uint64_t offset = (uint64_t)now.offset_ns;

	if (now.offset_ns < 0)
		return service_ns - offset;
	return service_ns > offset ? service_ns - offset : 0;
}

uint64_t now_from_boottime(uint64_t boot_ns)
{
	return boot_ns + (uint64_t)now.offset_ns;
}

/* Reads the wall clock first: the difference is then too large rather than too small. */
uint64_t now_from_wall(uint64_t wall_ns)
{
	uint64_t wall = now_wall_ns(), service = now_ns();

	if (now.is_shared)
		return wall_ns;
	if (wall_ns > wall)
		return service + (wall_ns - wall);
	return service > wall - wall_ns ? service - (wall - wall_ns) : 0;
}

uint64_t now_on_wall(uint64_t service_ns)
{
	return now.is_shared ? service_ns : now_wall_ns() + (service_ns - now_ns());
}

void now_mark(struct store_time *time)
{
	memcpy(time->boot_id, now.boot_id, sizeof(time->boot_id));
	time->at_ns = now_ns();
	time->wall_ns = now_wall_ns();
	time->offset_ns = now.offset_ns;
}
