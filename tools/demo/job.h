/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A job: one demonstration's handle, its epoll and its record file. Whatever it
 * does to a timeout and whatever it reads goes through here, and so into the
 * record.
 */
#ifndef DEMO_JOB_H
#define DEMO_JOB_H

#include <stdint.h>
#include <sys/epoll.h>

#include "libhwheel.h"
#include "record.h"

#define JOB_PATIENCE	10000	/* ms without any event until a job stops waiting */
#define JOB_READ	512	/* events per read() and per epoll_wait() */
#define JOB_TIMEOUTS	1024	/* room for so many at first */
#define JOB_WHEEL	UINT32_MAX	/* epoll's data.u32 for the handle */

/* What every program is started with */
struct job_order {
	const char *folder;	/* where the record files go */
	uint64_t seed;
};

struct job {
	const char *name;
	struct hwheel *wheel;
	struct record record;
	uint64_t tick_ns;
	unsigned long armed;
	unsigned long cancelled;
	unsigned long fired;
	int epoll;
};

/* PROGRAM FOLDER [SEED]; ends the program when the arguments are others */
struct job_order job_order(int argc, char **argv);

void job_start(struct job *job, const char *name, const struct job_order *order);
/*
 * From then on an operation is no system call, unless the processor has no 64-bit exchanges, which
 * mapped timeouts need.
 */
void job_map(struct hwheel *wheel, size_t count);
void job_finish(struct job *job);

/* Adds a descriptor to the job's epoll */
void job_watch(struct job *job, int fd, uint32_t data);

uint64_t job_arm(struct job *job, uint64_t delay_ns, uint64_t cookie);
int job_cancel(struct job *job, uint64_t id);

/* Reads all events that wait, and gives each to @seen unless that is NULL */
void job_take_events(struct job *job, void (*seen)(const struct hwheel_event *, void *),
		     void *data);

/* How many are armed and have had no outcome yet; below 0 if some had two */
static inline long job_open(const struct job *job)
{
	return (long)(job->armed - job->cancelled - job->fired);
}

/* Reads for a few ticks more, so that an event too many does not go unseen */
void job_linger(struct job *job);

#endif /* DEMO_JOB_H */
