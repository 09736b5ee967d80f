/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Calls of /dev/hwheel for programs that end at the first one that fails, with status 1
 * and a line on stderr.
 */
#ifndef _HWHEEL_STRESS_DEVICE_H
#define _HWHEEL_STRESS_DEVICE_H

#include "../abi/record.h"

#include <err.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MSEC	1000000ULL
#define SEC	(1000 * MSEC)
#define HOUR	(3600 * SEC)

static inline int open_device(void)
{
	int fd = open("/dev/hwheel", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		err(1, "/dev/hwheel");
	return fd;
}

static inline int open_configured(struct hwheel_config config)
{
	int fd = open_device();

	if (ioctl(fd, HWHEEL_IOC_CONFIG, &config))
		err(1, "CONFIG");
	return fd;
}

/* Returns the id. */
static inline __u64 arm(int fd, __u64 delay_ns)
{
	struct hwheel_op op = { .time_ns = delay_ns };

	if (ioctl(fd, HWHEEL_IOC_ARM, &op))
		err(1, "ARM");
	return op.id;
}

/* Each operation of the batch has to succeed. */
static inline void submit(int fd, struct hwheel_op *ops, unsigned int n)
{
	struct hwheel_submit batch = { .ops = (uintptr_t)ops, .nr = n };
	unsigned int i;

	if (ioctl(fd, HWHEEL_IOC_SUBMIT, &batch) != (int)n)
		err(1, "SUBMIT");
	for (i = 0; i < n; i++) {
		errno = -ops[i].result;
		if (errno)
			err(1, "a record of SUBMIT");
	}
}

static inline struct hwheel_file_stats get_stats(int fd)
{
	struct hwheel_file_stats stats;

	if (ioctl(fd, HWHEEL_IOC_STATS, &stats))
		err(1, "STATS");
	return stats;
}

/* Makes mapped timeouts with one list in @fd. */
static inline void make_records(struct map *m, int fd, __u32 records)
{
	*m = (struct map){
		.fd = fd, .clock = CLOCK_MONOTONIC, .layout = { .records = records, .lists = 1 },
	};
	if (ioctl(fd, HWHEEL_IOC_MAP, &m->layout))
		err(1, "MAP");
}

static inline void map_records(struct map *m)
{
	char *base = mmap(NULL, m->layout.size, PROT_READ | PROT_WRITE, MAP_SHARED, m->fd, 0);

	if (base == MAP_FAILED)
		err(1, "mmap");
	map_place(m, base);
}

static inline void unmap_records(const struct map *m)
{
	if (munmap(m->base, m->layout.size))
		err(1, "munmap");
}

/*
 * Gives a record a deadline on the machine's clock, whatever state it is in. Nobody else arms.
 * Returns whether the worker has to be kicked.
 */
static inline bool arm_record(struct map *m, __u32 i, __u64 deadline_ns)
{
	__u64 word = map_word(deadline_ns) | HWHEEL_MAP_PENDING | HWHEEL_MAP_QUEUED;
	__u64 old = __atomic_exchange_n(&m->records[i].word, word, __ATOMIC_SEQ_CST);

	return !(old & HWHEEL_MAP_QUEUED) && map_link(m, 0, i) > 0;
}

static inline void await_event(int fd, int timeout_ms)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	if (poll(&pfd, 1, timeout_ms) != 1)
		errx(1, "no event");
}

#endif /* _HWHEEL_STRESS_DEVICE_H */
