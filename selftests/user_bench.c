// SPDX-License-Identifier: GPL-2.0-only
/*
 * How many instructions time-outs take a program, of its own and of the kernel's.
 *
 * For a virtual machine whose time stamp counter counts instructions, as hwheel_bench.ko,
 * and prints the same lines: "bench KIND OPERATION INSTRUCTIONS". Each measurement has a
 * file of its own with a wheel of its own, whose tick is so long that the worker does
 * nothing in the meantime. Interrupts can't be kept off: the least of several rounds
 * counts, and what remains of them is about one in a thousand.
 */
#include <err.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <linux/hwheel.h>

#define BATCH	256
#define N	(64 * BATCH)
#define ROUNDS	5

#define SEC	1000000000ULL
#define FAR	(1000 * SEC)
#define LONG_TICK	(100 * SEC)
#define SHORT_TICK	50000

static int device;
static int timers[N];
static struct hwheel_op ops[N];
static struct hwheel_event events[BATCH];
static __u64 *words;

static void must(int ok, const char *what)
{
	if (!ok)
		err(1, "%s", what);
}

static void open_device(__u64 tick_ns)
{
	struct hwheel_config config = { .tick_ns = tick_ns };

	device = open("/dev/hwheel", O_RDWR | O_CLOEXEC);
	must(device >= 0, "open");
	must(!ioctl(device, HWHEEL_IOC_CONFIG, &config), "CONFIG");
}

static void close_device(void)
{
	must(!close(device), "close");
}

static void idle(void)
{
	open_device(LONG_TICK);
}

/* Ids stay, all else is set anew. */
static void fill_in(__u32 op, __u64 time_ns)
{
	int i;

	for (i = 0; i < N; i++) {
		ops[i].op = op;
		ops[i].flags = 0;
		ops[i].result = 0;
		ops[i].time_ns = time_ns;
	}
}

static void each(unsigned long command)
{
	int i;

	for (i = 0; i < N; i++)
		must(!ioctl(device, command, &ops[i]), "ioctl");
}

static void submit(void)
{
	int i;

	for (i = 0; i < N; i += BATCH) {
		struct hwheel_submit batch = { (__u64)(unsigned long)&ops[i], BATCH, 0 };

		must(ioctl(device, HWHEEL_IOC_SUBMIT, &batch) == BATCH, "SUBMIT");
	}
}

static void armed(void)
{
	idle();
	fill_in(HWHEEL_OP_ARM, FAR);
	submit();
}

static void to_arm(void)
{
	idle();
	fill_in(HWHEEL_OP_ARM, FAR);
}

static void to_refresh(void)
{
	armed();
	fill_in(HWHEEL_OP_REFRESH, 2 * FAR);
}

static void to_cancel(void)
{
	armed();
	fill_in(HWHEEL_OP_CANCEL, 0);
}

static void expired(void)
{
	struct hwheel_statistics stats;

	open_device(SHORT_TICK);
	fill_in(HWHEEL_OP_ARM, 0);
	submit();
	do
		must(!ioctl(device, HWHEEL_IOC_STATS, &stats), "STATS");
	while (stats.events < N);
}

static void read_all(void)
{
	int i;

	for (i = 0; i < N; i += BATCH)
		must(read(device, events, sizeof(events)) == sizeof(events), "read");
}

static void arm_each(void)
{
	each(HWHEEL_IOC_ARM);
}

static void refresh_each(void)
{
	each(HWHEEL_IOC_REFRESH);
}

static void cancel_each(void)
{
	each(HWHEEL_IOC_CANCEL);
}

/* With the deadlines mapped, and touched once, as they are all but the first time */
static void to_store(void)
{
	armed();
	words = mmap(NULL, N * sizeof(*words), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
		     device, 0);
	must(words != MAP_FAILED, "mmap");
}

static void store_each(void)
{
	int i;

	for (i = 0; i < N; i++)
		__atomic_store_n(&words[HWHEEL_INDEX(ops[i].id)], 2 * FAR, __ATOMIC_RELAXED);
}

/* As who has to know what time it is */
static void store_each_from_now(void)
{
	struct timespec now;
	int i;

	for (i = 0; i < N; i++) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		__atomic_store_n(&words[HWHEEL_INDEX(ops[i].id)],
				 now.tv_sec * SEC + now.tv_nsec + 2 * FAR, __ATOMIC_RELAXED);
	}
}

static void clock_reads(void)
{
	struct timespec now;
	int i;

	for (i = 0; i < N; i++)
		clock_gettime(CLOCK_MONOTONIC, &now);
}

static void unmap_and_close(void)
{
	must(!munmap(words, N * sizeof(*words)), "munmap");
	close_device();
}

static void nothing(void)
{
}

static void system_calls(void)
{
	int i;

	for (i = 0; i < N; i++)
		getppid();
}

/* As many as a process may have files by default */
#define TIMERS	512

static void create_timers(void)
{
	int i;

	for (i = 0; i < TIMERS; i++) {
		timers[i] = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
		must(timers[i] >= 0, "timerfd_create");
	}
}

static void set_timers(void)
{
	struct itimerspec in = { .it_value = { .tv_sec = 1000 } };
	int i;

	for (i = 0; i < TIMERS; i++)
		must(!timerfd_settime(timers[i], 0, &in, NULL), "timerfd_settime");
}

static void close_timers(void)
{
	int i;

	for (i = 0; i < TIMERS; i++)
		must(!close(timers[i]), "close");
}

static void timers_created(void)
{
	create_timers();
}

static void timers_set(void)
{
	create_timers();
	set_timers();
}

static const struct measurement {
	const char	*kind;
	const char	*operation;
	int		n;
	void		(*begin)(void);
	void		(*run)(void);
	void		(*end)(void);
} all[] = {
	{ "user", "system_call", N, nothing, system_calls, nothing },
	{ "user", "arm", N, to_arm, arm_each, close_device },
	{ "user", "refresh", N, to_refresh, refresh_each, close_device },
	{ "user", "cancel", N, to_cancel, cancel_each, close_device },
	{ "user", "submit_arm", N, to_arm, submit, close_device },
	{ "user", "submit_refresh", N, to_refresh, submit, close_device },
	{ "user", "submit_cancel", N, to_cancel, submit, close_device },
	{ "user", "store", N, to_store, store_each, unmap_and_close },
	{ "user", "store_from_now", N, to_store, store_each_from_now, unmap_and_close },
	{ "user", "clock_gettime", N, nothing, clock_reads, nothing },
	{ "user", "read", N, expired, read_all, close_device },
	{ "timerfd", "create", TIMERS, nothing, create_timers, close_timers },
	{ "timerfd", "set", TIMERS, timers_created, set_timers, close_timers },
	{ "timerfd", "refresh", TIMERS, timers_set, set_timers, close_timers },
	{ "timerfd", "close", TIMERS, timers_set, close_timers, nothing },
};

static unsigned long long run_once(const struct measurement *m)
{
	unsigned long long start, end;

	m->begin();
	start = __builtin_ia32_rdtsc();
	m->run();
	end = __builtin_ia32_rdtsc();
	m->end();
	return end - start;
}

int main(void)
{
	const struct measurement *m;

	for (m = all; m < all + sizeof(all) / sizeof(*all); m++) {
		unsigned long long least = -1;
		int round;

		for (round = 0; round < ROUNDS; round++) {
			unsigned long long once = run_once(m);

			least = once < least ? once : least;
		}
		printf("bench %s %s %.1f\n", m->kind, m->operation, (double)least / m->n);
	}
	return 0;
}
