/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A job: one demonstration's handle, its epoll and its timeouts. What it does to a timeout and each
 * event that it reads goes through here, which counts what ended early, twice or otherwise wrong.
 */
#ifndef DEMO_JOB_H
#define DEMO_JOB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "libhwheel.h"

/* checkpatch would have the kernel's __printf() */
#define ATTRIBUTE(...)	__attribute__((__VA_ARGS__))

#define JOB_PATIENCE	10000	/* ms without any event until a job stops waiting */
#define JOB_READ	512	/* events per read() and per epoll_wait() */
#define JOB_TIMEOUTS	1024	/* room for so many at first */
#define JOB_WHEEL	UINT32_MAX	/* epoll's data.u32 for the handle */

/* What every program is started with */
struct job_order {
	const char *folder;	/* where NAME.json goes */
	uint64_t seed;
};

/* A timeout that was armed, by its cookie */
struct job_timeout {
	uint64_t id;
	uint64_t due;	/* the clock before the call, and the delay: no event may be before */
	uint64_t fired;	/* 0: no event so far */
	bool cancelled;
};

struct job {
	const char *name;
	const struct job_order *order;
	struct hwheel *wheel;
	struct job_timeout *timeouts;
	uint64_t *late;		/* in ns, of each that fired */
	uint64_t tick_ns;
	unsigned int cookies;	/* each is below */
	unsigned int armed;
	unsigned int cancelled;
	unsigned int fired;
	unsigned int early;
	unsigned int refused;	/* cancelled or refreshed too late */
	unsigned int wrong;
	int epoll;
};

/* PROGRAM FOLDER [SEED]; ends the program when the arguments are others */
struct job_order job_order(int argc, char **argv);

void job_start(struct job *job, const char *name, const struct job_order *order,
	       unsigned int cookies);
/*
 * From then on an operation is no system call, unless the processor has no 64-bit exchanges, which
 * mapped timeouts need.
 */
void job_map(struct hwheel *wheel, size_t count);

/* Prints how late events were, of all in ticks, and fills @ticks with p50, p99 and the maximum */
void job_lateness(struct job *job, double ticks[3]);

/*
 * Writes a member of run.json, @format, to NAME.json. Returns the program's status: 0 if each of
 * @expected timeouts was armed and ended once, and none early.
 */
int job_finish(struct job *job, unsigned int expected, const char *format, ...)
	ATTRIBUTE(format(printf, 3, 4));

/* Adds a descriptor to the job's epoll */
void job_watch(struct job *job, int fd, uint32_t data);

void job_arm(struct job *job, uint64_t delay_ns, uint32_t cookie);
/* These return false if the timeout has expired meanwhile: the event is on its way. */
bool job_refresh(struct job *job, uint64_t delay_ns, uint32_t cookie);
bool job_cancel(struct job *job, uint32_t cookie);

/* Counts a problem, and prints the first ones */
void job_wrong(struct job *job, const char *what, uint64_t which);

/* Reads all events that wait, and gives each to @seen unless that is NULL */
void job_take_events(struct job *job, void (*seen)(const struct hwheel_event *, void *),
		     void *data);

/* How many are armed and have had no outcome yet; below 0 if some had two */
static inline int job_open(const struct job *job)
{
	return job->armed - job->cancelled - job->fired;
}

/* Reads for a few ticks more, so that an event too many does not go unseen */
void job_linger(struct job *job);

#endif /* DEMO_JOB_H */
