/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _USER_BENCH_FACILITY_H
#define _USER_BENCH_FACILITY_H

#include <time.h>

#include <linux/hwheel.h>

#include "helpers.h"

/* How many are done in one go, at most: by those who can, in one system call. */
#define BATCH	256

/* How many of those that are left are in the next batch */
static inline unsigned int batch_of(unsigned int left)
{
	return left < BATCH ? left : BATCH;
}

/* Which timeouts something is done to: some of those that are pending, or more of them */
enum which {
	ANY,		/* at random, in random order */
	SAME,		/* as before */
	NEWEST,		/* those that were armed last, the last one first */
	NEWEST_AGAIN,	/* those of NEWEST, the last one last: so it is the newest again */
	MORE,		/* not pending yet */
};

/**
 * struct step - what is measured
 * @metric: name of the result; NULL: something that has to be done in between
 * @which:  to which timeouts
 * @run:    does it to @nr of them, given by their numbers
 */
struct step {
	const char	*metric;
	enum which	which;
	void		(*run)(const unsigned int *which, unsigned int nr);
};

/**
 * struct facility - something that keeps timeouts for a program
 * @name:   in the results
 * @open:   makes room for timeouts with numbers below @room
 * @begin:  optional: takes memory for all of them at once
 * @arm:    makes some pending
 * @settle: optional: waits until what was put off is done
 * @close:  ends all
 * @steps:  what is measured in turn, over and over; at the end all is as before. The end
 *          of the array has no @run.
 * @newest_steps: steps in which the order of arming matters
 */
struct facility {
	const char		*name;
	void			(*open)(unsigned int room);
	void			(*begin)(void);
	void			(*arm)(const unsigned int *which, unsigned int nr);
	void			(*settle)(void);
	void			(*close)(void);
	const struct step	*steps;
	const struct step	*newest_steps;
};

extern const struct facility hwheel, library, timerfd, posix, io_uring, heap;

/* How long each timeout is to take, at random, and at least: so long that none expires */
extern __u64 *delays;
#define FAR	(100000 * SEC)

/* A wheel of the program's own */
static inline struct hwheel_config own_wheel(unsigned int room, __u64 tick_ns)
{
	return (struct hwheel_config){
		.tick_ns = tick_ns,
		.max_timeouts = room,
		.kind = HWHEEL_KIND_HASHED,
		.clock = CLOCK_MONOTONIC,
	};
}

static inline struct itimerspec itimerspec_of(__u64 ns)
{
	return (struct itimerspec){ .it_value = { .tv_sec = ns / SEC, .tv_nsec = ns % SEC } };
}

#endif /* _USER_BENCH_FACILITY_H */
