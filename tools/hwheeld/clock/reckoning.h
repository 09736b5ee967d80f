/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How a node reckons the ensemble's time, without a server or a clock of its own.
 *
 * The ensemble's time is the time that its leader gives changes, plus a correction, which all nodes
 * read in one znode. A leader has an epoch, and a wall clock that may step; the next leader has
 * another one. The first node that notices writes a new correction, with which the time goes on as
 * that node had it; the others take that over. A correction never moves the time ahead, so that no
 * delay is cut short; the time loses what the nodes do not know exactly, some milliseconds.
 *
 * Each second a node changes a znode of its own: a sample. All clocks are related by two lines: the
 * ensemble's time is CLOCK_BOOTTIME plus an offset, give or take a bound, which grows with the age
 * of its sample.
 */
#ifndef RECKONING_H
#define RECKONING_H

#include <stdbool.h>
#include <stdint.h>

#define RECKONING_SAMPLES	16

/* The leader's epoch, of the number of a change */
#define RECKONING_EPOCH(zxid)	((int64_t)((uint64_t)(zxid) >> 32))

struct correction {
	int64_t ns;
	int64_t epoch;			/* of the leader whose clock it corrects */
};

/* How the ensemble's time, or the leader's, relates to CLOCK_BOOTTIME */
struct line {
	int64_t offset_ns;
	uint64_t bound_ns;
	uint64_t boot_ns;		/* when the bound was that */
};

/* A change of a znode, and when the leader made it */
struct sample {
	struct line leader;
	int64_t zxid;
};

/* What a node read in the znode of the correction, after the sample */
struct reading {
	struct correction correction;
	uint64_t mtime_ns;		/* by the clock of the leader that wrote it */
	int64_t zxid;
	int32_t version;
};

struct reckoning {
	struct correction correction;
	struct line lines[RECKONING_SAMPLES];	/* of this correction */
	unsigned int count;
	unsigned int next;
	struct line held;		/* of the correction before, until there is a sample */
	uint64_t covered_until_ns;	/* other nodes may still go by the held line */
	bool is_doubtful;		/* this node may have been paused, or has just begun */
	unsigned int patience;
};

/* All that a node knows is in doubt: it takes over what others reckon, if any of them lives. */
void reckoning_doubt(struct reckoning *reckoning, uint64_t boot_ns);

/* A change that was asked for at @before_ns, and whose answer came at @after_ns */
void sample_take(struct sample *sample, uint64_t before_ns, uint64_t after_ns, int64_t mtime_ms,
		 int64_t zxid);

/*
 * Goes on with a sample and a reading. Returns true if the correction no longer holds; @correction
 * is what to write then, if the znode has not changed since the reading.
 */
bool reckoning_hear(struct reckoning *reckoning, const struct sample *sample,
		    const struct reading *reading, uint64_t boot_ns, struct correction *correction);

/* The correction that reckoning_hear() returned with this sample is written. */
void reckoning_correct(struct reckoning *reckoning, const struct sample *sample,
		       const struct correction *correction, uint64_t boot_ns);

/*
 * What to write if no node knows the time: the leader's wall clock, but not less than the time when
 * the correction was written last.
 */
struct correction reckoning_resume(const struct sample *sample, const struct reading *reading);

/* The ensemble's time as of @boot_ns */
struct line reckoning_line(const struct reckoning *reckoning, uint64_t boot_ns);

#endif /* RECKONING_H */
