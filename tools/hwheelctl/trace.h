/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The module's tracepoints, which tell of timeouts. They are recorded in an instance of tracefs of
 * this program's own, so that no other tracing is disturbed. The clock is that of
 * wheels on CLOCK_MONOTONIC.
 */
#ifndef TRACE_H
#define TRACE_H

#include <stdbool.h>
#include <linux/types.h>

#include "process.h"

#define TRACE_EVENTS	7

/* Which events are recorded; 0 stands for all */
struct trace_filter {
	unsigned int events;	/* mask of numbers, see trace_event_named() */
	int pid;		/* of the process whose timeouts they are */
	const char *wheels;	/* an expression of numbers of wheels, or NULL */
};

/* One line of what happened */
struct happening {
	unsigned int event;
	__u64 time_ns;
	__u64 deadline_ns;	/* 0: there is none */
	int thread;		/* by which it happened */
	int owner;		/* process that has opened the device; 0: it is no file's */
	char owner_name[PROCESS_NAME];
	unsigned int wheel;
	__u64 timeout;		/* an id; of kernel code the address of the timeout */
	__u64 cookie;		/* if there is an owner */
};

/* Returns the number of an event, or -1. */
int trace_event_named(const char *name);
const char *trace_event_name(unsigned int event);

/* Returns false for what has not happened: then there is to be no more. */
typedef bool (*trace_show)(const struct happening *happening, void *data);

/*
 * Begins to record. Returns 0 or a negative errno; trace_end() is to be called after both. -ENOTSUP
 * says that the module lacks the tracepoint trace_missing(), or fields of it.
 */
int trace_begin(const struct trace_filter *filter);
const char *trace_missing(void);
void trace_end(void);

/*
 * Shows all that was recorded so far, in order, until @show returns false. Returns how many
 * happenings were lost, or a negative errno.
 */
long long trace_read(trace_show show, void *data);

#endif /* TRACE_H */
