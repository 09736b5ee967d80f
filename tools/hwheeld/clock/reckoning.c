// SPDX-License-Identifier: GPL-2.0-only
#include "clock/now.h"
#include "clock/reckoning.h"

/* By then all nodes that can ask have heard of a new epoch. */
#define RECKONING_COVER_NS	(3 * NS_PER_S)

static uint64_t reckoning_bound(const struct line *line, uint64_t boot_ns)
{
	uint64_t age = boot_ns > line->boot_ns ? boot_ns - line->boot_ns : 0;

	return line->bound_ns + NOW_DRIFT_NS(age);
}

/* The most that the time can be, less CLOCK_BOOTTIME, and the least */
static int64_t reckoning_top(const struct line *line, uint64_t boot_ns)
{
	return line->offset_ns + (int64_t)reckoning_bound(line, boot_ns);
}

static int64_t reckoning_low(const struct line *line, uint64_t boot_ns)
{
	return line->offset_ns - (int64_t)reckoning_bound(line, boot_ns);
}

struct line reckoning_sample(uint64_t before_ns, uint64_t after_ns, uint64_t time_ns,
			     uint64_t bound_ns)
{
	uint64_t middle = before_ns + (after_ns - before_ns) / 2;

	return (struct line) {
		.boot_ns = middle,
		.offset_ns = (int64_t)(time_ns - middle),
		.bound_ns = (after_ns - before_ns + 1) / 2 + bound_ns,
	};
}

/* The sample whose bound is the least by now. The keeper's line is exact. */
static struct line reckoning_best(const struct reckoning *reckoning, uint64_t boot_ns)
{
	const struct line *best = reckoning->count ? reckoning->lines : &reckoning->held;
	struct line line;

	for (unsigned int i = 1; i < reckoning->count; i++)
		if (reckoning_bound(&reckoning->lines[i], boot_ns) <
		    reckoning_bound(best, boot_ns))
			best = &reckoning->lines[i];
	line = *best;
	line.bound_ns = reckoning->keeps ? 0 : reckoning_bound(best, boot_ns);
	line.boot_ns = boot_ns;
	return line;
}

struct line reckoning_line(const struct reckoning *reckoning, uint64_t boot_ns)
{
	struct line line = reckoning_best(reckoning, boot_ns);
	int64_t top = reckoning_top(&reckoning->held, boot_ns);

	if (boot_ns < reckoning->covered_until_ns && top > reckoning_top(&line, boot_ns))
		line.bound_ns = (uint64_t)(top - line.offset_ns);
	return line;
}

/* A node that knew nothing has nothing that others may still go by. */
static void reckoning_adopt(struct reckoning *reckoning, uint64_t epoch, uint64_t boot_ns)
{
	reckoning->held = reckoning_line(reckoning, boot_ns);
	reckoning->covered_until_ns = reckoning->epoch ? boot_ns + RECKONING_COVER_NS : 0;
	reckoning->epoch = epoch;
	reckoning->keeps = false;
	reckoning->count = 0;
	reckoning->next = 0;
}

/* A clock has stood still, or stepped: there is no time that both can mean. */
static bool reckoning_is_outside(const struct reckoning *reckoning, const struct line *sample,
				 uint64_t boot_ns)
{
	struct line line = reckoning_best(reckoning, boot_ns);

	return reckoning_low(sample, boot_ns) > reckoning_top(&line, boot_ns) ||
	       reckoning_top(sample, boot_ns) < reckoning_low(&line, boot_ns);
}

void reckoning_hear(struct reckoning *reckoning, const struct line *sample, uint64_t epoch,
		    uint64_t boot_ns)
{
	if (epoch < reckoning->epoch || (epoch == reckoning->epoch && reckoning->keeps))
		return;
	if (epoch > reckoning->epoch || reckoning_is_outside(reckoning, sample, boot_ns))
		reckoning_adopt(reckoning, epoch, boot_ns);
	reckoning->lines[reckoning->next] = *sample;
	reckoning->next = (reckoning->next + 1) % RECKONING_SAMPLES;
	if (reckoning->count < RECKONING_SAMPLES)
		reckoning->count++;
}

void reckoning_keep(struct reckoning *reckoning, uint64_t epoch, uint64_t boot_ns)
{
	struct line line = reckoning_best(reckoning, boot_ns);

	if (epoch <= reckoning->epoch)
		return;
	line.offset_ns = reckoning_low(&line, boot_ns);
	line.bound_ns = 0;
	reckoning_adopt(reckoning, epoch, boot_ns);
	reckoning->keeps = true;
	reckoning->lines[0] = line;
	reckoning->count = 1;
}

void reckoning_begin(struct reckoning *reckoning, uint64_t epoch, uint64_t boot_ns,
		     uint64_t time_ns)
{
	*reckoning = (struct reckoning) {
		.epoch = epoch, .keeps = true, .count = 1,
		.lines[0] = { .offset_ns = (int64_t)(time_ns - boot_ns), .boot_ns = boot_ns },
	};
}
