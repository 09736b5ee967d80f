/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Loaders: threads that put load on a wheel, each through a file of its own.
 *
 * A loader arms time-outs at its rate, in batches, with delays spread evenly from half of
 * the order's delay up to it. Some are doomed to be cancelled, and some to be refreshed once,
 * a quarter of the delay after they were armed; all others expire. It goes on until each has
 * had its end.
 */
#ifndef LOADER_H
#define LOADER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "libhwheel.h"
#include "quantile.h"

/* What is to be done, by all loaders together */
struct order {
	uint64_t rate;		/* to be armed each second; 0: as fast as it goes */
	uint64_t count;		/* to be armed; 0: as many as fit into time_ns */
	uint64_t time_ns;
	uint64_t delay_ns;
	uint64_t seed;
	unsigned int cancel;	/* percent */
	unsigned int refresh;	/* percent */
	unsigned int threads;
	unsigned int batch;
	struct hwheel_config config;	/* zero: on the shared wheel */
};

/* Written by one thread; others may read it meanwhile */
struct tally {
	uint64_t armed;
	uint64_t refreshed;
	uint64_t cancelled;
	uint64_t too_late;	/* to be cancelled or refreshed: it had expired */
	uint64_t expired;
	uint64_t stopped;
	uint64_t refused;	/* to be armed: there was no room */
	uint64_t early;
};

struct doom;

struct loader {
	const struct order *order;
	pthread_t thread;
	struct hwheel *wheel;
	struct hwheel_batch *batch;
	struct tally tally;
	struct quantile late;		/* ns */
	uint64_t bins[HWHEEL_LATENESS_BINS];
	struct doom *dooms;		/* a ring, in the order in which they are to be met */
	uint32_t dooms_size;		/* a power of two */
	uint32_t dooms_first;
	uint32_t dooms_end;
	struct doom *batch_dooms;	/* of the batch's operations */
	uint64_t random;
	uint64_t tick_ns;
	uint64_t max;			/* time-outs that the file may hold */
	uint64_t share;			/* how many to arm; 0: no end */
	uint64_t begun;			/* arms that were tried */
	uint64_t start_ns;
	uint64_t arming_ns;		/* how long it armed, once it is done with that */
	int error;			/* that ended it, or 0 */
	bool started;
	bool over;			/* the thread is done; set last */
};

/* 0 or a negative errno; what was opened is closed by loader_close() */
int loader_open(struct loader *loader, const struct order *order, unsigned int number);
int loader_start(struct loader *loader);
void loader_join(struct loader *loader);
void loader_close(struct loader *loader);

/* All loaders stop their files, and end. From a signal handler, too */
void loaders_stop(void);

/* Armed, and without an end so far */
uint64_t tally_open(const struct tally *tally);
void tally_add(struct tally *sum, const struct tally *other);

#endif /* LOADER_H */
