/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_FUZZER_CALL_H
#define _HWHEEL_FUZZER_CALL_H

#include "memory.h"
#include "model.h"
#include "random.h"
#include "records.h"
#include "tally.h"

/**
 * struct file - an open file
 * @fd:       its descriptor
 * @refs:     how many threads use it, and 1 for the table that it is in
 * @blocking: it was not opened with O_NONBLOCK
 * @worn:     it is time for a new one
 * @memory:   a mapping of what one thread has for itself; or NULL
 * @size:     of it, in bytes
 * @records:  what there is in it, of a file that one thread has for itself
 * @model:    what it should hold
 */
struct file {
	int		fd;
	unsigned int	refs;
	bool		blocking;
	bool		worn;
	char		*memory;
	size_t		size;
	struct records	records;
	struct model	model;
};

/**
 * struct caller - a thread that calls
 * @rnd:        its random numbers
 * @tally:      its calls
 * @arg:        for arguments of ioctls
 * @data:       for what they refer to, and for what is read
 * @ops:        a batch
 * @facts:      what was known of each before
 * @privileged: it has CAP_SYS_RESOURCE
 * @limit:      max_timeouts of a file that was not configured
 * @epoll:      its epoll instance
 * @signals:    how many it has got
 */
struct caller {
	struct random		rnd;
	struct tally		tally;
	struct memory		arg;
	struct memory		data;
	struct hwheel_op	*ops;
	struct facts		*facts;
	bool			privileged;
	__u64			limit;
	int			epoll;
	unsigned int		signals;
};

/* May be past, soon, or as far as can be and beyond. */
__u64 random_deadline(struct random *rnd, __u64 now);

/* Now and then by another descriptor of the file */
long device_ioctl(struct caller *c, struct file *file, enum call call, unsigned long cmd,
		  void *arg);

void call_single(struct caller *c, struct file *file);
void call_submit(struct caller *c, struct file *file);
void call_info(struct caller *c, struct file *file);
void call_stats(struct caller *c, struct file *file);
void call_config(struct caller *c, struct file *file);
void call_stop(struct caller *c, struct file *file);
void call_unknown(struct caller *c, struct file *file);
void call_read(struct caller *c, struct file *file);
void call_poll(struct caller *c, struct file *file);
void call_epoll(struct caller *c, struct file *file);
void call_wait(struct caller *c, struct file *file);
void call_map(struct caller *c, struct file *file);
void call_kick(struct caller *c, struct file *file);
void call_mmap(struct caller *c, struct file *file);

/* Before the file is closed, or after that */
void call_unmap(struct file *file);

/* Nobody else uses the file: it is stopped, read to its end, and nothing is left. */
void call_to_the_end(struct caller *c, struct file *file);

#endif /* _HWHEEL_FUZZER_CALL_H */
