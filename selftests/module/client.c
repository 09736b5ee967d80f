// SPDX-License-Identifier: GPL-2.0-only
/*
 * client load|foreign|hold|keep|limit|count|wait MS|info|own|stop N|wheels N|exhaust|largest|
 * starve|map: what the tests in shell let the module do.
 *
 *  load   arms, refreshes, cancels, reads, and leaves the rest to the exit: of
 *         every kind some pending, some expired unread, some just cancelled
 *  foreign  as load, by the user 65534, to whom the device has to be open
 *  hold   arms on the file that is its standard input and leaves that as it is
 *  keep   has the file that is its standard input use the default wheel, and arms nothing
 *  limit  exactly max_pending timeouts may be pending, those of all files together
 *  count  on the file that is its standard input arms, refreshes, cancels and reads a
 *         known number of timeouts, leaves some pending, and prints how often it did
 *         what, one "NAME VALUE" a line, as the statistics should tell
 *  wait   until one that it arms has expired, after MS ms
 *  info   prints what the module says of itself, one "name=value" a line
 *  own    as info, of a file that has a wheel of its own with nothing else asked for
 *  stop   stops the wheels of N files, and closes the files
 *  wheels exactly N files may have a wheel of their own
 *  exhaust  in a memory cgroup that is limited: arms until there is no more memory, and
 *         goes on with what there is
 *  largest  there: is refused the largest wheel, and makes a small one
 *  starve   there: arms on files that are empty, when there is a little memory, but
 *         perhaps not enough
 *  map    there: makes records of mapped timeouts until there is no more memory, and then
 *         a few
 *
 * Exits with 0, or with 1 and a line that says what was wrong.
 */

#include "../stress/device.h"

#include <stdbool.h>
#include <sys/mman.h>

#define FILES	4
#define EACH	2000
#define NEVER	UINT64_MAX

static struct hwheel_info get_info(int fd)
{
	struct hwheel_info info;

	if (ioctl(fd, HWHEEL_IOC_INFO, &info))
		err(1, "INFO");
	return info;
}

/* The id can't be written, so the ARM fails when the file has its wheel. */
static void keep(int fd)
{
	void *op = mmap(NULL, sizeof(struct hwheel_op), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);

	if (op == MAP_FAILED)
		err(1, "mmap");
	if (!ioctl(fd, HWHEEL_IOC_ARM, op) || errno != EFAULT)
		errx(1, "an ARM without an id has worked");
}

/* ARM or SET: 0 or an errno. */
static int try_call(int fd, unsigned long cmd, __u64 delay_ns, __u64 *id)
{
	struct hwheel_op op = { .id = cmd == HWHEEL_IOC_SET ? *id : 0, .time_ns = delay_ns };

	if (ioctl(fd, cmd, &op))
		return errno;
	*id = op.id;
	return 0;
}

static int try_arm(int fd, __u64 delay_ns, __u64 *id)
{
	return try_call(fd, HWHEEL_IOC_ARM, delay_ns, id);
}

static int refresh(int fd, __u64 id, __u64 delay_ns)
{
	struct hwheel_op op = { .id = id, .time_ns = delay_ns };

	return ioctl(fd, HWHEEL_IOC_REFRESH, &op) ? errno : 0;
}

/* CANCEL or WITHDRAW: 0 or an errno. */
static int try_end(int fd, unsigned long cmd, __u64 id)
{
	struct hwheel_op op = { .id = id };

	return ioctl(fd, cmd, &op) ? errno : 0;
}

static int cancel(int fd, __u64 id)
{
	return try_end(fd, HWHEEL_IOC_CANCEL, id);
}

static void read_one(int fd)
{
	struct hwheel_event event;

	if (read(fd, &event, sizeof(event)) != sizeof(event))
		err(1, "read");
	if (event.fired_ns < event.deadline_ns)
		errx(1, "fired %llu ns early", event.deadline_ns - event.fired_ns);
}

/* A third each is cancelled, stays pending and expires; of those half are read. */
static void load(int fd, unsigned int n)
{
	__u64 *ids = calloc(n, sizeof(*ids));
	unsigned int i;
	int error;

	for (i = 0; i < n; i++) {
		error = try_arm(fd, i % 3 ? NEVER : 0, &ids[i]);
		if (error)
			errx(1, "ARM %u of %u: %s", i, n, strerror(error));
	}
	for (i = 1; i < n; i += 3)
		if (refresh(fd, ids[i], i % 2 ? HOUR : HOUR / 60))
			err(1, "REFRESH");
	for (i = 0; i < n; i += 6)
		read_one(fd);
	for (i = 2; i < n; i += 3)
		if (cancel(fd, ids[i]))
			err(1, "CANCEL");
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
	int fds[2] = { open_device(), open_device() }, touched = 0, error, round;
	__u64 max = get_info(fds[0]).max_pending, ids[1000], n;

	if (!max || max > 1000)
		errx(1, "max_pending=%llu is not for this test", max);
	for (n = 0; n < max; n++) {
		error = try_arm(fds[n % 2], NEVER, &ids[n]);
		if (error)
			errx(1, "ARM %llu of %llu: %s", n + 1, max, strerror(error));
	}
	for (round = 0; round < 1000; round++) {
		struct hwheel_op op = { .result = 7, .time_ns = NEVER };

		if (!ioctl(fds[round % 2], HWHEEL_IOC_ARM, &op) || errno != EDQUOT)
			errx(1, "one more than %llu: errno %d, not EDQUOT", max, errno);
		touched += op.result != 7;
	}
	/* The end of a pending one makes room at once: a cancellation ... */
	for (round = 0; round < 10; round++) {
		error = cancel(fds[0], ids[0]) ?: try_arm(fds[0], NEVER, &ids[0]);
		if (error)
			errx(1, "ARM after CANCEL: %s", strerror(error));
	}
	/* ... and an expiry, but only one. */
	if (refresh(fds[0], ids[0], 0))
		err(1, "REFRESH");
	read_one(fds[0]);
	error = try_arm(fds[1], NEVER, &ids[0]);
	if (error)
		errx(1, "ARM after expiry: %s", strerror(error));
	error = try_arm(fds[1], NEVER, &ids[0]);
	if (error != EDQUOT)
		errx(1, "one more than %llu: %s", max, strerror(error));
	/* A close makes room, too. */
	close(fds[1]);
	error = try_arm(fds[0], NEVER, &ids[0]);
	if (error)
		errx(1, "ARM after close: %s", strerror(error));
	if (touched)
		errx(1, "ARM failed, but wrote a result");
}

/* Arms, of which the last @expiring expire at the next edge and the others never. */
static void arm_many(int fd, __u64 *ids, unsigned int n, unsigned int expiring)
{
	unsigned int i;
	int error;

	for (i = 0; i < n; i++) {
		error = try_arm(fd, i < n - expiring ? NEVER : 0, &ids[i]);
		if (error)
			errx(1, "ARM %u of %u: %s", i, n, strerror(error));
	}
}

/* Arms before the first of two that expire one after the other are filed. */
static unsigned int settle(int fd)
{
	__u64 id;
	int i;

	for (i = 0; i < 2; i++) {
		arm_many(fd, &id, 1, 1);
		read_one(fd);
	}
	return 2;
}

static void refresh_many(int fd, const __u64 *ids, unsigned int n, __u64 delay_ns)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (refresh(fd, ids[i], delay_ns))
			err(1, "REFRESH");
}

static void cancel_many(int fd, const __u64 *ids, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (cancel(fd, ids[i]))
			err(1, "CANCEL");
}

/* Calls that fail are not counted. */
static void fail_many(int fd, __u64 id, unsigned int n)
{
	while (n--)
		if (refresh(fd, id, 0) != ENOENT || cancel(fd, id) != ENOENT)
			errx(1, "a cancelled one is not cancelled");
}

static void count(int fd)
{
	enum { N = 1000, FILED = 300, QUEUED = 200, EXPIRING = 100, HELD = 50 };
	__u64 ids[N], later = HOUR, earlier = HOUR / 2;
	unsigned int extra, i;

	arm_many(fd, ids, N, 0);
	extra = settle(fd);
	refresh_many(fd, ids, N, later);
	refresh_many(fd, ids, N, 2 * later);
	refresh_many(fd, ids, N / 2, earlier);
	extra += settle(fd);
	cancel_many(fd, ids, FILED);
	fail_many(fd, ids[0], 10);
	refresh_many(fd, ids + FILED, EXPIRING, 0);
	for (i = 0; i < EXPIRING; i++)
		read_one(fd);
	cancel_many(fd, ids + FILED + EXPIRING, N - FILED - EXPIRING - HELD);
	arm_many(fd, ids, QUEUED, 0);
	cancel_many(fd, ids, QUEUED);

	printf("pending %u\narmed %u\n", HELD, N + QUEUED + extra);
	/* From never to an hour is earlier, too. */
	printf("refreshed_later %u\nrefreshed_earlier %u\n", N, N + N / 2 + EXPIRING);
	printf("expired %u\ncancelled %u\n", EXPIRING + extra,
	       N + QUEUED - EXPIRING - HELD);
	printf("cancelled_filed_at_least %u\n", FILED);
}

static void wait_ms(const char *ms)
{
	int fd = open_device(), error;
	__u64 id;

	error = try_arm(fd, strtoull(ms, NULL, 10) * MSEC, &id);
	if (error)
		errx(1, "ARM: %s", strerror(error));
	read_one(fd);
}

static void print_info(int fd)
{
	struct hwheel_info info = get_info(fd);

	printf("tick_ns=%llu\nslots=%u\nlevels=%u\nkind=%u\n",
	       info.tick_ns, info.slots, info.levels, info.kind);
	printf("max_timeouts=%llu\nmax_pending=%llu\nmax_user_bytes=%llu\n",
	       info.max_timeouts, info.max_pending, info.max_user_bytes);
}

/* 0 or an errno. */
static int try_configure(int fd, struct hwheel_config config)
{
	return ioctl(fd, HWHEEL_IOC_CONFIG, &config) ? errno : 0;
}

/* A file that has a wheel of its own with nothing else asked for */
static int open_own(void)
{
	int fd = open_device(), error;

	error = try_configure(fd, (struct hwheel_config){
		.kind = HWHEEL_KIND_HASHED, .clock = CLOCK_MONOTONIC,
	});
	if (error)
		errx(1, "CONFIG: %s", strerror(error));
	return fd;
}

static void stop(unsigned int n)
{
	int fd;

	while (n--) {
		fd = open_own();
		if (ioctl(fd, HWHEEL_IOC_STOP))
			err(1, "STOP");
		close(fd);
	}
}

static void wheels(unsigned int n)
{
	const struct hwheel_config own = {
		.slots = 8, .kind = HWHEEL_KIND_HASHED, .clock = CLOCK_MONOTONIC,
	};
	int first = -1, fd, error;
	unsigned int i;

	for (i = 0; i < n; i++) {
		fd = open_device();
		first = i ? first : fd;
		error = try_configure(fd, own);
		if (error)
			errx(1, "CONFIG %u of %u: %s", i + 1, n, strerror(error));
	}
	fd = open_device();
	error = try_configure(fd, own);
	if (error != ENOSPC)
		errx(1, "one more than %u: %s", n, strerror(error));
	if (!n)
		return;
	close(first);
	error = try_configure(fd, own);
	if (error)
		errx(1, "CONFIG after close: %s", strerror(error));
}

/*
 * What a process needs itself it has before the cgroup is at its limit, as for these pages
 * it would be killed: also the one of the file that is its output.
 */
static void lock_memory(void)
{
	printf("in a memory cgroup:\n");
	fflush(stdout);
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		err(1, "mlockall");
}

/* How many ids go_on() needs */
#define IDS	3

/* Arms until that fails: how many, and the ids of the last ones. */
static int arm_until(int fd, unsigned int *n, __u64 *ids)
{
	int error;

	for (*n = 0; !(error = try_arm(fd, NEVER, &ids[*n % IDS])); ++*n)
		;
	return error;
}

/* Once it has failed it may succeed again, but it may fail in no other way. */
static int arm_in_vain(int fd)
{
	static const unsigned long cmds[] = { HWHEEL_IOC_ARM, HWHEEL_IOC_SET };
	int i, error;

	for (i = 0; i < 20; i++) {
		__u64 none = 0;

		error = try_call(fd, cmds[i % 2], NEVER, &none);
		if (error && error != ENOMEM)
			return error;
	}
	return 0;
}

/* Pending timeouts can be moved and ended: SET takes no memory for that. */
static bool go_on(int fd, __u64 *ids)
{
	struct hwheel_event event;
	__u64 moved = ids[1];

	return !refresh(fd, ids[0], 0) &&
	       read(fd, &event, sizeof(event)) == sizeof(event) && event.id == ids[0] &&
	       !try_call(fd, HWHEEL_IOC_SET, 0, &moved) && moved == ids[1] &&
	       !try_end(fd, HWHEEL_IOC_WITHDRAW, moved) && !cancel(fd, ids[2]);
}

static void exhaust(void)
{
	int fd = open_device(), other = open_device(), error, again, config;
	unsigned int n;
	__u64 ids[IDS];
	bool works;

	error = try_configure(fd, (struct hwheel_config){
		.max_timeouts = 16777216, .clock = CLOCK_MONOTONIC,
	});
	if (error)
		errx(1, "CONFIG: %s", strerror(error));
	lock_memory();
	error = arm_until(fd, &n, ids);
	again = arm_in_vain(fd);
	works = go_on(fd, ids);
	config = try_configure(other, (struct hwheel_config){
		.slots = 1048576, .kind = HWHEEL_KIND_HASHED, .clock = CLOCK_MONOTONIC,
	});
	close(fd);
	close(other);

	if (error != ENOMEM || again)
		errx(1, "%u armed, then %s, then %s", n, strerror(error), strerror(again));
	if (!works)
		errx(1, "with no more memory REFRESH, read, SET, WITHDRAW or CANCEL failed");
	if (config != ENOMEM)
		errx(1, "CONFIG with no more memory: %s", strerror(config));
	printf("%u armed\n", n);
}

/* A wheel that a failure freed may take a moment: it must be there within 20 s. */
static int make_wheel_in_time(int fd, struct hwheel_config config)
{
	int i, error = 0;
	__u64 id;

	for (i = 0; i < 200; i++) {
		error = try_configure(fd, config) ?: try_arm(fd, 0, &id);
		if (error != ENOMEM)
			break;
		poll(NULL, 0, 100);
	}
	return error;
}

static void largest(void)
{
	struct hwheel_config largest = {
		.tick_ns = 50000, .slots = 1048576, .levels = 8,
		.kind = HWHEEL_KIND_HIERARCHICAL, .clock = CLOCK_MONOTONIC,
	};
	struct hwheel_info before, after;
	int fd = open_device(), i, error;

	lock_memory();
	before = get_info(fd);
	for (i = 0; i < 3; i++) {
		error = try_configure(fd, largest);
		if (error != ENOMEM)
			errx(1, "CONFIG: %s", strerror(error));
	}
	after = get_info(fd);
	if (memcmp(&before, &after, sizeof(after)))
		errx(1, "CONFIG failed, but changed something");
	largest.slots = 16;
	error = make_wheel_in_time(fd, largest);
	if (error)
		errx(1, "a small wheel: %s", strerror(error));
	read_one(fd);
}

/* A file that has memory for timeouts */
static int open_used(void)
{
	int fd = open_device();
	__u64 id;

	if (try_arm(fd, NEVER, &id))
		errx(1, "no memory too early");
	return fd;
}

#define STARVING	20

/* Whatever part of the memory it needs it gets, or not: nothing may stay of that. */
static void starve(void)
{
	int fds[STARVING], spare[2 * STARVING], hog = open_device(), i, m, n = 0;
	unsigned int refused = 0;
	__u64 id;

	for (i = 0; i < STARVING; i++)
		fds[i] = open_device();
	for (i = 0; i < 2 * STARVING; i++)
		spare[i] = open_used();
	lock_memory();
	for (i = 0; i < STARVING; i++) {
		while (!try_arm(hog, NEVER, &id))
			;
		for (m = i % 3; m; m--)
			close(spare[n++]);
		if (try_arm(fds[i], NEVER, &id) != ENOMEM)
			continue;
		if (get_stats(fds[i]).held)
			errx(1, "no memory, but something is held");
		refused++;
	}
	if (!refused)
		errx(1, "there was memory enough");
	close(hog);
	for (i = 0; i < STARVING; i++)
		if (try_arm(fds[i], NEVER, &id))
			errx(1, "no memory, though there is some");
	printf("%u of %u refused\n", refused, STARVING);
}

/* So many files with all their records need far more memory than there is. */
#define MAPPED	20
#define TRIES	3
#define FEW	1000

/* Returns an errno. */
static int try_map(int fd, __u64 records)
{
	struct hwheel_map map = { .records = records, .lists = 1 };

	return ioctl(fd, HWHEEL_IOC_MAP, &map) ? errno : 0;
}

/* Returns the file for which there was no memory. */
static int map_until(const int *fds, __u64 records)
{
	int i, error = 0;

	for (i = 0; i < MAPPED; i++) {
		error = try_map(fds[i], records);
		if (error)
			break;
	}
	if (i < 1 || error != ENOMEM)
		errx(1, "%d files of %llu records: %s", i, records, strerror(error));
	return fds[i];
}

/* A MAP that fails makes nothing: the file takes a CONFIG as a new one does. */
static void map_in_vain(int fd, int used, __u64 records)
{
	const struct hwheel_config config = { .clock = CLOCK_MONOTONIC };
	int i, error;

	for (i = 0; i < TRIES; i++) {
		error = try_map(used, records - 2 * FEW);
		if (error != ENOMEM)
			errx(1, "more records without memory: %s", strerror(error));
		error = try_map(fd, records);
		if (error != ENOMEM)
			errx(1, "records without memory: %s", strerror(error));
		error = try_configure(fd, config);
		if (error)
			errx(1, "CONFIG after a MAP without memory: %s", strerror(error));
	}
}

/* The memory of a file that was closed is there a moment later, within 20 s. */
static int map_in_time(int fd)
{
	int i, error = ENOMEM;

	for (i = 0; i < 200 && error == ENOMEM; i++) {
		error = try_map(fd, FEW);
		if (error == ENOMEM)
			poll(NULL, 0, 100);
	}
	return error;
}

static void map(void)
{
	int used = open_device(), fds[MAPPED], full, i, error;
	__u64 records = get_info(used).max_timeouts, held;

	for (i = 0; i < MAPPED; i++)
		fds[i] = open_device();
	error = try_map(used, FEW);
	if (error)
		errx(1, "no memory too early: %s", strerror(error));
	held = get_stats(used).held;
	lock_memory();
	full = map_until(fds, records);
	map_in_vain(full, used, records);
	if (get_stats(used).held != held)
		errx(1, "a MAP without memory has made records");
	close(fds[0]);
	error = map_in_time(full);
	if (error)
		errx(1, "with memory again: %s", strerror(error));
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "foreign") && setuid(65534))
		err(1, "setuid");
	if (!strcmp(what, "load") || !strcmp(what, "foreign"))
		load_files();
	else if (!strcmp(what, "hold"))
		load(STDIN_FILENO, EACH);
	else if (!strcmp(what, "keep"))
		keep(STDIN_FILENO);
	else if (!strcmp(what, "limit"))
		limit();
	else if (!strcmp(what, "count"))
		count(STDIN_FILENO);
	else if (!strcmp(what, "wait") && argc == 3)
		wait_ms(argv[2]);
	else if (!strcmp(what, "info"))
		print_info(open_device());
	else if (!strcmp(what, "own"))
		print_info(open_own());
	else if (!strcmp(what, "stop") && argc == 3)
		stop(strtoul(argv[2], NULL, 10));
	else if (!strcmp(what, "wheels") && argc == 3)
		wheels(strtoul(argv[2], NULL, 10));
	else if (!strcmp(what, "exhaust"))
		exhaust();
	else if (!strcmp(what, "largest"))
		largest();
	else if (!strcmp(what, "starve"))
		starve();
	else if (!strcmp(what, "map"))
		map();
	else
		errx(1, "%s: not known, see the top of client.c", what);
	return 0;
}
