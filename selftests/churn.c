// SPDX-License-Identifier: GPL-2.0-only
/*
 * churn load|hold|limit|info: what module_test.sh lets the module do.
 *
 *  load   arms, refreshes, cancels, reads, and leaves the rest to the exit: of
 *         every kind some pending, some expired unread, some just cancelled
 *  hold   arms on the file that is its standard input and leaves that as it is
 *  limit  exactly max_pending time-outs may be pending, those of all files together
 *  info   prints what the module says of itself, one "name=value" a line
 *
 * Exits with 0, or with 1 and a line that says what was wrong.
 */

#include <linux/hwheel.h>

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define FILES	4
#define EACH	2000
#define MSEC	1000000ULL
#define NEVER	UINT64_MAX

static void die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	exit(1);
}

static int open_device(void)
{
	int fd = open("/dev/hwheel", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		die("/dev/hwheel: %s", strerror(errno));
	return fd;
}

static struct hwheel_info get_info(int fd)
{
	struct hwheel_info info;

	if (ioctl(fd, HWHEEL_IOC_INFO, &info))
		die("INFO: %s", strerror(errno));
	return info;
}

/* 0 or an errno. */
static int arm(int fd, __u64 delay_ns, __u64 *id)
{
	struct hwheel_op op = { .time_ns = delay_ns };

	if (ioctl(fd, HWHEEL_IOC_ARM, &op))
		return errno;
	*id = op.id;
	return 0;
}

static int refresh(int fd, __u64 id, __u64 delay_ns)
{
	struct hwheel_op op = { .id = id, .time_ns = delay_ns };

	return ioctl(fd, HWHEEL_IOC_REFRESH, &op) ? errno : 0;
}

static int cancel(int fd, __u64 id)
{
	struct hwheel_op op = { .id = id };

	return ioctl(fd, HWHEEL_IOC_CANCEL, &op) ? errno : 0;
}

static void read_one(int fd)
{
	struct hwheel_event event;

	if (read(fd, &event, sizeof(event)) != sizeof(event))
		die("read: %s", strerror(errno));
	if (event.fired_ns < event.deadline_ns)
		die("fired %llu ns early", event.deadline_ns - event.fired_ns);
}

/* A third each is cancelled, stays pending and expires; of those half are read. */
static void load(int fd, unsigned int n)
{
	__u64 *ids = calloc(n, sizeof(*ids));
	unsigned int i;
	int err;

	for (i = 0; i < n; i++) {
		err = arm(fd, i % 3 ? NEVER : 0, &ids[i]);
		if (err)
			die("ARM %u of %u: %s", i, n, strerror(err));
	}
	for (i = 1; i < n; i += 3)
		if (refresh(fd, ids[i], i % 2 ? 3600 * 1000 * MSEC : 60 * 1000 * MSEC))
			die("REFRESH: %s", strerror(errno));
	for (i = 0; i < n; i += 6)
		read_one(fd);
	for (i = 2; i < n; i += 3)
		if (cancel(fd, ids[i]))
			die("CANCEL: %s", strerror(errno));
	free(ids);
}

static void load_files(void)
{
	int i;

	for (i = 0; i < FILES; i++) {
		int fd = open_device();
		__u64 max = get_info(fd).max_timeouts;

		load(fd, max < EACH ? max : EACH);
		/* The others are left to the exit. */
		if (i % 2)
			close(fd);
	}
}

/* max_pending must be a small number, of which two files hold a part each. */
static void limit(void)
{
	int fds[2] = { open_device(), open_device() }, touched = 0, err, round;
	__u64 max = get_info(fds[0]).max_pending, ids[1000], n;

	if (!max || max > 1000)
		die("max_pending=%llu is not for this test", max);
	for (n = 0; n < max; n++) {
		err = arm(fds[n % 2], NEVER, &ids[n]);
		if (err)
			die("ARM %llu of %llu: %s", n + 1, max, strerror(err));
	}
	for (round = 0; round < 1000; round++) {
		struct hwheel_op op = { .result = 7, .time_ns = NEVER };

		if (!ioctl(fds[round % 2], HWHEEL_IOC_ARM, &op) || errno != EAGAIN)
			die("one more than %llu: errno %d, not EAGAIN", max, errno);
		touched += op.result != 7;
	}
	/* What ends one that is pending makes room at once: a cancellation ... */
	for (round = 0; round < 10; round++) {
		err = cancel(fds[0], ids[0]) ?: arm(fds[0], NEVER, &ids[0]);
		if (err)
			die("ARM after CANCEL: %s", strerror(err));
	}
	/* ... and an expiry, but only one. */
	if (refresh(fds[0], ids[0], 0))
		die("REFRESH: %s", strerror(errno));
	read_one(fds[0]);
	err = arm(fds[1], NEVER, &ids[0]);
	if (err)
		die("ARM after expiry: %s", strerror(err));
	err = arm(fds[1], NEVER, &ids[0]);
	if (err != EAGAIN)
		die("one more than %llu: %s", max, strerror(err));
	/* So does a close. */
	close(fds[1]);
	err = arm(fds[0], NEVER, &ids[0]);
	if (err)
		die("ARM after close: %s", strerror(err));
	if (touched)
		die("ARM failed, but wrote a result");
}

static void print_info(void)
{
	struct hwheel_info info = get_info(open_device());

	printf("tick_ns=%llu\nslots=%u\nmax_timeouts=%llu\nmax_pending=%llu\n",
	       info.tick_ns, info.slots, info.max_timeouts, info.max_pending);
}

int main(int argc, char **argv)
{
	const char *what = argc == 2 ? argv[1] : "";

	if (!strcmp(what, "load"))
		load_files();
	else if (!strcmp(what, "hold"))
		load(STDIN_FILENO, EACH);
	else if (!strcmp(what, "limit"))
		limit();
	else if (!strcmp(what, "info"))
		print_info();
	else
		die("usage: churn load|hold|limit|info");
	return 0;
}
