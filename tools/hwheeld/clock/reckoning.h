/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How a node reckons the cluster's time. One node keeps it: the time is that node's CLOCK_BOOTTIME
 * plus an offset. The others ask it each second: a sample. All clocks are related by lines: the
 * time is CLOCK_BOOTTIME plus an offset, give or take a bound, which grows with the age of the
 * sample.
 *
 * A keeper has an epoch; the next one has a larger one. That goes on with the least that the time
 * may be as it has it. So the time never moves ahead, and no delay is cut short; it loses what
 * that node did not know exactly, some milliseconds.
 */
#ifndef RECKONING_H
#define RECKONING_H

#include <stdbool.h>
#include <stdint.h>

#define RECKONING_SAMPLES	16

/* How the time relates to CLOCK_BOOTTIME */
struct line {
	int64_t offset_ns;
	uint64_t bound_ns;
	uint64_t boot_ns;		/* when the bound was that */
};

struct reckoning {
	uint64_t epoch;			/* 0: nothing is known */
	bool keeps;			/* this node does, in this epoch */
	struct line lines[RECKONING_SAMPLES];	/* of this epoch */
	unsigned int count;
	unsigned int next;
	struct line held;		/* of the epoch before */
	uint64_t covered_until_ns;	/* other nodes may still go by the held line */
};

/*
 * A node that was asked at @before_ns, and whose answer came at @after_ns, has its time as
 * @time_ns, give or take @bound_ns.
 */
struct line reckoning_sample(uint64_t before_ns, uint64_t after_ns, uint64_t time_ns,
			     uint64_t bound_ns);

/* Goes on with a sample. One of an earlier epoch means nothing. */
void reckoning_hear(struct reckoning *reckoning, const struct line *sample, uint64_t epoch,
		    uint64_t boot_ns);

/* This node keeps the time that it has. An epoch that is not larger means nothing. */
void reckoning_keep(struct reckoning *reckoning, uint64_t epoch, uint64_t boot_ns);

/* No node has the time: this one keeps it, and begins with @time_ns. */
void reckoning_begin(struct reckoning *reckoning, uint64_t epoch, uint64_t boot_ns,
		     uint64_t time_ns);

/* The time as of @boot_ns */
struct line reckoning_line(const struct reckoning *reckoning, uint64_t boot_ns);

#endif /* RECKONING_H */
