// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mapped timeouts: what they take hwheel's worker, and the program, which here is a loop over the
 * protocol as include/uapi/linux/hwheel.h tells it; and their worst lateness on a hierarchical
 * wheel.
 *
 * The run time of the worker is what the scheduler accounts to it, in ns, which are instructions in
 * a machine that counts them. Passes, falling asleep and waking up are shared by many records, but
 * by so few that the scheduler accounts for them without a tick. The program's time is that of
 * its loop. The median of several rounds counts.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/hwheel.h>

#include "facility.h"
#include "mapped.h"
#include "measure.h"
#include "thread.h"

#define N		100000U
#define PAIRS		1000000U
#define WORKING_SET	500U
#define MORE_AT_ONCE	2000U
#define ROUNDS		15
#define TICK		(10 * MSEC)
#define PARKED		100
#define UNPRIVILEGED	1234

/* In ticks: until the first of many deadlines on a hierarchical wheel, and until the last one */
#define LEAD		1000
#define SPAN		2000

/* Until the worker has done all, and sleeps until something comes */
#define QUIET_NS	(20 * TICK)

/**
 * struct mapped - a mapped file of ours
 */
static struct mapped {
	int				fd;
	int				worker;
	unsigned long			kicks;
	struct hwheel_map		map;
	struct hwheel_map_header	*header;
	struct hwheel_map_list		*list;
	struct hwheel_map_record	*records;
	__u32				*ring;
} mapped;

static void map_file(struct mapped *m, __u32 records)
{
	char *start;

	m->map = (struct hwheel_map){ .records = records, .lists = 1 };
	must(!ioctl(m->fd, HWHEEL_IOC_MAP, &m->map), "MAP");
	start = mmap(NULL, m->map.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
		     m->fd, 0);
	must(start != MAP_FAILED, "mmap");
	m->header = (void *)start;
	m->list = (void *)(start + m->map.lists_offset);
	m->ring = (void *)(start + m->map.ring_offset);
	m->records = (void *)(start + m->map.records_offset);
}

static void open_mapped(struct mapped *m, const struct hwheel_config *config)
{
	m->fd = open("/dev/hwheel", O_RDWR | O_CLOEXEC);
	must(m->fd >= 0, "open");
	must(!ioctl(m->fd, HWHEEL_IOC_CONFIG, config), "CONFIG");
	map_file(m, config->max_timeouts);
	m->worker = thread_of_worker();
}

static void close_mapped(struct mapped *m)
{
	must(!munmap(m->header, m->map.size) && !close(m->fd), "close");
}

static void kick(struct mapped *m)
{
	m->kicks++;
	must(!ioctl(m->fd, HWHEEL_IOC_KICK), "KICK");
}

static inline void push(struct mapped *m, __u32 i)
{
	__u32 head = __atomic_load_n(&m->list->head, __ATOMIC_RELAXED);

	do
		m->records[i].link = head == HWHEEL_MAP_ASLEEP ? 0 : head;
	while (!__atomic_compare_exchange_n(&m->list->head, &head, i + 1, 1,
					    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
	if (__builtin_expect(head == HWHEEL_MAP_ASLEEP, 0))
		kick(m);
}

static inline void change(struct mapped *m, __u32 i, __u64 word)
{
	__u64 *at = &m->records[i].word, old = __atomic_load_n(at, __ATOMIC_ACQUIRE);

	while (!__atomic_compare_exchange_n(at, &old, word | HWHEEL_MAP_QUEUED, 0,
					    __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE))
		;
	if (!(old & HWHEEL_MAP_QUEUED))
		push(m, i);
}

static inline __u64 word_of(__u64 deadline)
{
	return ((deadline + 7) & ~7ULL) << 1;
}

static inline void arm(struct mapped *m, __u32 i, __u64 deadline)
{
	change(m, i, word_of(deadline));
}

static inline void cancel(struct mapped *m, __u32 i)
{
	change(m, i, m->records[i].word | HWHEEL_MAP_CANCELLED);
}

static __u64 far;

static void arm_batch(void)
{
	__u32 i;

	for (i = 0; i < MORE_AT_ONCE; i++)
		arm(&mapped, i, far + i * 8);
}

static void cancel_batch(void)
{
	__u32 i;

	for (i = 0; i < MORE_AT_ONCE; i++)
		cancel(&mapped, i);
}

static void arm_cancel_batch(void)
{
	arm_batch();
	cancel_batch();
}

/* So often that the worker sees each of them, if at all, once */
static void arm_cancel_set(void)
{
	__u32 round, i;

	for (round = 0; round < MORE_AT_ONCE / WORKING_SET; round++)
		for (i = 0; i < WORKING_SET; i++) {
			arm(&mapped, i, far + i);
			cancel(&mapped, i);
		}
}

/* They are drained, and expire in what is measured. */
static void arm_due_batch(void)
{
	__u64 soon = now_ns() + 10 * TICK;
	__u32 i;

	for (i = 0; i < MORE_AT_ONCE; i++)
		arm(&mapped, i, soon);
	sleep_ns(5 * TICK);
}

static void do_nothing(void)
{
}

static void reap_batch(void)
{
	__u64 head = mapped.header->head, tail;
	__u32 mask = mapped.map.ring_size - 1;

	tail = __atomic_load_n(&mapped.header->tail, __ATOMIC_ACQUIRE);
	for (; head < tail; head++) {
		__u32 i = mapped.ring[head & mask];

		__atomic_fetch_or(&mapped.records[i].word, HWHEEL_MAP_IDLE, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&mapped.header->head, head, __ATOMIC_SEQ_CST);
}

/**
 * struct life - what is measured, in turn: after all of them it is as before
 * @metric:  its name
 * @prepare: done before, or NULL
 * @run:     what the program does
 */
static const struct life {
	const char	*metric;
	void		(*prepare)(void);
	void		(*run)(void);
} lives[] = {
	{ "mapped.arm_file", NULL, arm_batch },
	{ "mapped.cancel_filed", NULL, cancel_batch },
	{ "mapped.arm_cancel", NULL, arm_cancel_batch },
	{ "mapped.arm_cancel_working_set", NULL, arm_cancel_set },
	{ "mapped.expire", arm_due_batch, do_nothing },
	{ "mapped.reap", NULL, reap_batch },
};

#define LIVES	(sizeof(lives) / sizeof(struct life))

/* In ns: the time of the program, and that of the worker until it is quiet */
static void run_life(const struct life *life, __u64 *own, __u64 *workers)
{
	if (life->prepare)
		life->prepare();
	*workers = thread_run_time(mapped.worker);
	*own = now_ns();
	life->run();
	*own = now_ns() - *own;
	sleep_ns(QUIET_NS);
	*workers = thread_run_time(mapped.worker) - *workers;
}

static int compare(const void *left, const void *right)
{
	const __u64 *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static void report_median(const char *metric, const char *impl, __u64 *rounds)
{
	qsort(rounds, ROUNDS, sizeof(*rounds), compare);
	report(metric, impl, N, "instructions", (double)rounds[ROUNDS / 2] / MORE_AT_ONCE);
}

static void fill(void)
{
	__u32 i;

	for (i = MORE_AT_ONCE; i < N; i++)
		arm(&mapped, i, far + i * 8);
	sleep_ns(QUIET_NS);
}

static void measure_lives(void)
{
	static __u64 own[LIVES][ROUNDS], workers[LIVES][ROUNDS];
	unsigned int round, i;

	fill();
	for (round = 0; round < ROUNDS; round++)
		for (i = 0; i < LIVES; i++)
			run_life(&lives[i], &own[i][round], &workers[i][round]);
	for (i = 0; i < LIVES; i++) {
		report_median(lives[i].metric, "program", own[i]);
		report_median(lives[i].metric, "worker", workers[i]);
	}
}

/* One at a time, on a quiet wheel, and cancelled in the same way */
static void measure_isolated(void)
{
	__u64 own = 0, workers = 0, before;
	int i;

	for (i = 0; i < 10; i++) {
		sleep_ns(QUIET_NS);
		before = thread_run_time(mapped.worker);
		own -= own_run_time();
		arm(&mapped, i, far);
		own += own_run_time();
		sleep_ns(QUIET_NS);
		workers += thread_run_time(mapped.worker) - before;
		cancel(&mapped, i);
	}
	report("mapped.isolated_push", "program", 1, "instructions", (double)own / 10);
	report("mapped.isolated_push", "worker", 1, "instructions", (double)workers / 10);
	sleep_ns(QUIET_NS);
}

static void measure_kicks(void)
{
	unsigned int i;

	mapped.kicks = 0;
	for (i = 0; i < PAIRS; i++) {
		arm(&mapped, i % WORKING_SET, far + i);
		cancel(&mapped, i % WORKING_SET);
	}
	report("mapped.system_calls", "hwheel", PAIRS, "calls", mapped.kicks);
}

static void measure_idle(void)
{
	__u64 before;

	sleep_ns(SEC);
	before = thread_sleeps(mapped.worker);
	sleep_ns(600 * SEC);
	report("mapped.idle", "hwheel", 0, "1/min",
	       (double)(thread_sleeps(mapped.worker) - before) / 10);
}

/* On the shared wheel, that has a user's limit: half of them are another one's. */
static void park_some(int nr)
{
	while (nr--) {
		struct mapped m = { .fd = open("/dev/hwheel", O_RDWR) };

		must(m.fd >= 0, "open");
		map_file(&m, 1);
		arm(&m, 0, now_ns() + FAR);
		cancel(&m, 0);
	}
}

static pid_t park_others(int nr)
{
	int ready[2];
	pid_t pid;
	char byte;

	must(!pipe(ready), "pipe");
	must(!fchmodat(AT_FDCWD, "/dev/hwheel", 0666, 0), "chmod");
	pid = fork();
	must(pid >= 0, "fork");
	if (!pid) {
		must(!setuid(UNPRIVILEGED), "setuid");
		park_some(nr);
		must(write(ready[1], "", 1) == 1, "write");
		pause();
	}
	must(read(ready[0], &byte, 1) == 1, "read");
	return pid;
}

/* What a timeout that expires by itself takes the shared wheel's worker, pass and all */
static double expiry_of_one(int worker)
{
	int fd = open("/dev/hwheel", O_RDWR), i;
	struct hwheel_event event;
	__u64 before, sum = 0;

	for (i = 0; i < 10; i++) {
		struct hwheel_op op = { .time_ns = QUIET_NS };

		must(!ioctl(fd, HWHEEL_IOC_ARM, &op), "ARM");
		sleep_ns(QUIET_NS / 2);
		before = thread_run_time(worker);
		sleep_ns(QUIET_NS);
		sum += thread_run_time(worker) - before;
		must(read(fd, &event, sizeof(event)) == sizeof(event), "read");
	}
	must(!close(fd), "close");
	return (double)sum / 10;
}

static void measure_parked(void)
{
	int worker = thread_of("hwheel/dev");
	double without = expiry_of_one(worker);
	pid_t others = park_others(PARKED / 2);

	park_some(PARKED / 2);
	sleep_ns(QUIET_NS);
	report("mapped.pass", "hwheel", 0, "instructions", without);
	report("mapped.pass", "hwheel", PARKED, "instructions", expiry_of_one(worker));
	must(!kill(others, SIGKILL) && waitpid(others, NULL, 0) == others, "kill");
}

/* As selftests/bench/kernel/lateness.c, by the time at which the wheel fired them */
static void measure_lateness(void)
{
	const struct hwheel_config config = {
		.tick_ns = MSEC, .max_timeouts = N, .slots = 512, .levels = 2,
		.kind = HWHEEL_KIND_HIERARCHICAL, .clock = CLOCK_MONOTONIC,
	};
	__u64 *deadlines = zeros(N, sizeof(*deadlines)), first, worst = 0;
	unsigned int nr_late = 0, i;

	open_mapped(&mapped, &config);
	srandom(1);
	first = now_ns() + LEAD * MSEC;
	for (i = 0; i < N; i++) {
		deadlines[i] = first + (double)random() / RAND_MAX * SPAN * MSEC;
		arm(&mapped, i, deadlines[i]);
	}
	sleep_ns(2 * (LEAD + SPAN) * MSEC);
	must(mapped.header->tail == N, "expire");
	for (i = 0; i < N; i++) {
		__u64 late = mapped.records[i].fired_ns - deadlines[i];

		worst = late > worst ? late : worst;
		nr_late += late > 2 * MSEC;
	}
	report("hierarchical.1ms_2x512_worst", "mapped", N, "ticks", (double)worst / MSEC);
	report("hierarchical.1ms_2x512_late", "mapped", N, "count", nr_late);
	report("hierarchical.1ms_2x512_worker", "mapped", N, "instructions",
	       (double)thread_run_time(mapped.worker) / N);
	close_mapped(&mapped);
	free(deadlines);
}

void bench_mapped(void)
{
	const struct hwheel_config config = own_wheel(N, TICK);

	measure_check();
	open_mapped(&mapped, &config);
	far = now_ns() + FAR;
	sleep_ns(QUIET_NS);
	measure_lives();
	measure_isolated();
	measure_kicks();
	measure_idle();
	close_mapped(&mapped);
	measure_lateness();
	measure_parked();
}
