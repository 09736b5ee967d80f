/* SPDX-License-Identifier: GPL-2.0-only */
/* Figures since the daemon began; the loop's thread counts. */
#ifndef METRICS_H
#define METRICS_H

#include <stdint.h>

#define METRICS_FIRST_NS	62500ULL

/* Bin i has what is below 2^i * METRICS_FIRST_NS; the last one all else */
#define METRICS_BINS	20

struct metrics_histogram {
	uint64_t bins[METRICS_BINS];
	uint64_t sum_ns;
	uint64_t max_ns;
};

struct metrics {
	uint64_t put;			/* created */
	uint64_t restarted;
	uint64_t cancelled;
	uint64_t leased;
	uint64_t acknowledged;
	uint64_t leases_ended;		/* without an acknowledgment */
	uint64_t leases_returned;	/* the client had gone before it got them */
	uint64_t due;
	uint64_t clients_refused;
	uint64_t requests_too_slow;
	uint64_t answers[6];		/* by their status' first digit */
	uint64_t wall_steps;
	uint64_t clock_corrections;	/* keepers of the time that nodes share */
	uint64_t clock_epoch;		/* of the keeper */
	struct metrics_histogram lateness;	/* from the deadline until it is due */
	struct metrics_histogram delivery;	/* until its lease is committed */
};

void metrics_add(struct metrics_histogram *histogram, uint64_t ns);

#endif /* METRICS_H */
