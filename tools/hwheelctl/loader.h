/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Loaders: threads that put load on a wheel, each through a file of its own.
 *
 * A loader arms timeouts at its rate, in batches, with delays spread evenly from half of
 * the order's delay up to it. Some are doomed to be cancelled, and some to be refreshed once,
 * a quarter of the delay after they were armed; all others expire. It goes on until each has
 * had its end.
 */
#ifndef LOADER_H
#define LOADER_H

#include <pthread.h>
#include <stdbool.h>
#include <linux/types.h>

#include "libhwheel.h"
#include "quantile.h"

/* The order for all loaders together */
struct order {
	__u64 rate;		/* to be armed each second; 0: as fast as it goes */
	__u64 count;		/* to be armed; 0: as many as fit into time_ns */
	__u64 time_ns;
	__u64 delay_ns;
	__u64 seed;
	unsigned int cancel;	/* percent */
	unsigned int refresh;	/* percent */
	unsigned int threads;
	unsigned int batch;
	bool calls;		/* no mapped timeouts */
	struct hwheel_config config;
};

/* Written by one thread; others may read it meanwhile */
struct tally {
	__u64 armed;
	__u64 refreshed;
	__u64 cancelled;
	__u64 too_late;	/* to be cancelled or refreshed: it had expired */
	__u64 expired;
	__u64 stopped;
	__u64 refused;	/* to be armed: there was no room */
	__u64 early;
};

struct doom;

struct loader {
	const struct order *order;
	pthread_t thread;
	struct hwheel *wheel;
	struct hwheel_batch *batch;
	struct tally tally;
	struct quantile late;		/* ns */
	__u64 bins[HWHEEL_LATENESS_BINS];
	struct doom *dooms;		/* a ring, in the order in which they are to be met */
	uint32_t dooms_size;		/* a power of two */
	uint32_t dooms_first;
	uint32_t dooms_end;
	struct doom *batch_dooms;	/* of the batch's operations */
	__u64 random;
	__u64 tick_ns;
	__u64 max;			/* timeouts that the file may hold */
	__u64 share;			/* how many to arm, if there is a count */
	__u64 begun;			/* arms that were tried and not refused */
	__u64 start_ns;
	__u64 arming_ns;		/* how long it armed, once it is done with that */
	int error;			/* that ended it, or 0 */
	bool started;
	bool over;			/* the thread is done; set last */
};

/* Returns 0 or a negative errno; loader_close() closes what this has opened. */
int loader_open(struct loader *loader, const struct order *order, unsigned int number);
int loader_start(struct loader *loader);
void loader_join(struct loader *loader);
void loader_close(struct loader *loader);

/* All loaders stop their files, and end. From a signal handler, too */
void loaders_stop(void);

/* Armed, and without an end so far */
__u64 tally_open(const struct tally *tally);
void tally_add(struct tally *sum, const struct tally *other);

#endif /* LOADER_H */
