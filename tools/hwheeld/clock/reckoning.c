// SPDX-License-Identifier: GPL-2.0-only
#include "clock/now.h"
#include "clock/reckoning.h"

/* ZooKeeper cuts times after milliseconds. */
#define RECKONING_CUT_NS	NS_PER_MS

/* By then all nodes that are connected have read a new correction. */
#define RECKONING_COVER_NS	(2 * NS_PER_S)

/* So many heartbeats a node in doubt leaves the correction to others. */
#define RECKONING_PATIENCE	4

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

void sample_take(struct sample *sample, uint64_t before_ns, uint64_t after_ns, int64_t mtime_ms,
		 int64_t zxid)
{
	uint64_t middle = before_ns + (after_ns - before_ns) / 2;
	uint64_t mtime = (uint64_t)mtime_ms * NS_PER_MS + RECKONING_CUT_NS / 2;

	sample->leader.boot_ns = middle;
	sample->leader.offset_ns = (int64_t)(mtime - middle);
	sample->leader.bound_ns = (after_ns - before_ns + 1) / 2 + RECKONING_CUT_NS / 2;
	sample->zxid = zxid;
}

/* The sample whose bound is the least by now */
static struct line reckoning_best(const struct reckoning *reckoning, uint64_t boot_ns)
{
	const struct line *best = reckoning->count ? reckoning->lines : &reckoning->held;
	struct line line;

	for (unsigned int i = 1; i < reckoning->count; i++)
		if (reckoning_bound(&reckoning->lines[i], boot_ns) <
		    reckoning_bound(best, boot_ns))
			best = &reckoning->lines[i];
	line = *best;
	line.bound_ns = reckoning_bound(best, boot_ns);
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

static void reckoning_forget(struct reckoning *reckoning, uint64_t boot_ns)
{
	reckoning->held = reckoning_line(reckoning, boot_ns);
	reckoning->covered_until_ns = 0;
	reckoning->count = 0;
	reckoning->next = 0;
}

void reckoning_doubt(struct reckoning *reckoning, uint64_t boot_ns)
{
	reckoning_forget(reckoning, boot_ns);
	reckoning->is_doubtful = true;
	reckoning->patience = RECKONING_PATIENCE;
}

/* A node in doubt has nothing that the others may still go by. */
static void reckoning_adopt(struct reckoning *reckoning, const struct correction *correction,
			    uint64_t boot_ns)
{
	reckoning_forget(reckoning, boot_ns);
	if (!reckoning->is_doubtful)
		reckoning->covered_until_ns = boot_ns + RECKONING_COVER_NS;
	reckoning->correction = *correction;
}

static void reckoning_add(struct reckoning *reckoning, const struct sample *sample)
{
	struct line *line = &reckoning->lines[reckoning->next];

	*line = sample->leader;
	line->offset_ns += reckoning->correction.ns;
	reckoning->next = (reckoning->next + 1) % RECKONING_SAMPLES;
	if (reckoning->count < RECKONING_SAMPLES)
		reckoning->count++;
	reckoning->is_doubtful = false;
}

/* The leader's clock has stepped: there is no time that both can mean. */
static bool reckoning_is_outside(const struct reckoning *reckoning, const struct sample *sample,
				 uint64_t boot_ns)
{
	struct line line = reckoning_best(reckoning, boot_ns), other = sample->leader;

	if (!reckoning->count)
		return false;
	other.offset_ns += reckoning->correction.ns;
	return reckoning_low(&other, boot_ns) > reckoning_top(&line, boot_ns) ||
	       reckoning_top(&other, boot_ns) < reckoning_low(&line, boot_ns);
}

bool reckoning_hear(struct reckoning *reckoning, const struct sample *sample,
		    const struct reading *reading, uint64_t boot_ns, struct correction *correction)
{
	const struct correction *read = &reading->correction;
	bool is_known = RECKONING_EPOCH(sample->zxid) == read->epoch;
	struct line line;

	if (read->ns != reckoning->correction.ns || read->epoch != reckoning->correction.epoch)
		reckoning_adopt(reckoning, read, boot_ns);
	if (sample->zxid < reading->zxid)
		return false;
	if (is_known && !reckoning_is_outside(reckoning, sample, boot_ns)) {
		reckoning_add(reckoning, sample);
		return false;
	}
	if (reckoning->is_doubtful && reckoning->patience) {
		reckoning->patience--;
		return false;
	}
	/* The new time is at most the old one, whatever both are within their bounds. */
	line = reckoning_best(reckoning, boot_ns);
	correction->ns = reckoning_low(&line, boot_ns) - reckoning_top(&sample->leader, boot_ns);
	correction->epoch = RECKONING_EPOCH(sample->zxid);
	return true;
}

void reckoning_correct(struct reckoning *reckoning, const struct sample *sample,
		       const struct correction *correction, uint64_t boot_ns)
{
	reckoning_adopt(reckoning, correction, boot_ns);
	reckoning_add(reckoning, sample);
}

struct correction reckoning_resume(const struct sample *sample, const struct reading *reading)
{
	struct correction correction = { 0, RECKONING_EPOCH(sample->zxid) };
	const struct line *leader = &sample->leader;
	int64_t least = (int64_t)leader->boot_ns + leader->offset_ns - (int64_t)leader->bound_ns;
	int64_t floor = (int64_t)(reading->mtime_ns + RECKONING_CUT_NS) + reading->correction.ns;

	if (RECKONING_EPOCH(reading->zxid) == reading->correction.epoch && floor > least)
		correction.ns = floor - least;
	return correction;
}
