/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Calls of /dev/hwheel for programs that end at the first one that fails, with status 1
 * and a line on stderr.
 */
#ifndef _HWHEEL_STRESS_DEVICE_H
#define _HWHEEL_STRESS_DEVICE_H

#include <linux/hwheel.h>

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
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

/**
 * struct mapping - mapped timeouts with one list
 * @fd:     their file
 * @layout: what MAP has told
 * @base:   the memory
 */
struct mapping {
	int			fd;
	struct hwheel_map	layout;
	char			*base;
};

/* Makes them in @fd. */
static inline void make_records(struct mapping *m, int fd, __u32 records)
{
	m->fd = fd;
	m->layout = (struct hwheel_map){ .records = records, .lists = 1 };
	if (ioctl(fd, HWHEEL_IOC_MAP, &m->layout))
		err(1, "MAP");
}

static inline void map_records(struct mapping *m)
{
	m->base = mmap(NULL, m->layout.size, PROT_READ | PROT_WRITE, MAP_SHARED, m->fd, 0);
	if (m->base == MAP_FAILED)
		err(1, "mmap");
}

static inline void unmap_records(const struct mapping *m)
{
	if (munmap(m->base, m->layout.size))
		err(1, "munmap");
}

static inline struct hwheel_map_record *record_of(const struct mapping *m, __u32 i)
{
	return (struct hwheel_map_record *)(m->base + m->layout.records_offset) + i;
}

/* Returns whether the worker has to be kicked. */
static inline bool push_record(const struct mapping *m, __u32 i)
{
	struct hwheel_map_list *list = (void *)(m->base + m->layout.lists_offset);
	__u32 head = __atomic_load_n(&list->head, __ATOMIC_RELAXED);

	do
		record_of(m, i)->link = head == HWHEEL_MAP_ASLEEP ? 0 : head;
	while (!__atomic_compare_exchange_n(&list->head, &head, i + 1, false, __ATOMIC_SEQ_CST,
					    __ATOMIC_RELAXED));
	return head == HWHEEL_MAP_ASLEEP;
}

/*
 * Gives a record a deadline on the machine's clock, whatever state it is in. Nobody else arms.
 * Returns whether the worker has to be kicked.
 */
static inline bool arm_record(const struct mapping *m, __u32 i, __u64 deadline_ns)
{
	__u64 word = (deadline_ns & ~7ULL) << 1 | HWHEEL_MAP_PENDING | HWHEEL_MAP_QUEUED;
	__u64 old = __atomic_exchange_n(&record_of(m, i)->word, word, __ATOMIC_SEQ_CST);

	return !(old & HWHEEL_MAP_QUEUED) && push_record(m, i);
}

static inline void kick(const struct mapping *m)
{
	if (ioctl(m->fd, HWHEEL_IOC_KICK))
		err(1, "KICK");
}

static inline void await_event(int fd, int timeout_ms)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	if (poll(&pfd, 1, timeout_ms) != 1)
		errx(1, "no event");
}

#endif /* _HWHEEL_STRESS_DEVICE_H */
