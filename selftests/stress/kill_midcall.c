// SPDX-License-Identifier: GPL-2.0-only
/*
 * kill_midcall KILLS [MOST [SEED]]: kills processes with SIGKILL, each at a random instant,
 * while the threads of each are in the midst of the device's operations on one file: each
 * thread does one kind, of which each process does some. Kills so many, and goes on until a thread
 * of each kind was within its operation when its process was killed, but to MOST kills only
 * (KILLS). Prints how often each was, one "killed_in_KIND=N" a line.
 *
 * Exits with 0, or with 1 and a line that says what was wrong: an operation that failed in
 * a way that it must not, or a process that ended otherwise.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "device.h"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* So many are alive, and as many others are dying, which takes them some time. */
#define PROCESSES	4
#define SLOTS		(2 * PROCESSES)
#define THREADS		4
#define BATCH		256
#define RECORDS		2048
#define LONGEST_NS	(8 * MSEC)
/* One process in so many is killed while its threads start. */
#define EARLY		8

enum kind {
	ARM, REFRESH, CANCEL, SUBMIT, READ, MAP, MMAP, KICK, FAULT, CONFIG, STOP, CLOSE,
	NR_KINDS
};

static const char * const names[] = {
	[ARM]		= "arm",
	[REFRESH]	= "refresh",
	[CANCEL]	= "cancel",
	[SUBMIT]	= "submit",
	[READ]		= "read",
	[MAP]		= "map",
	[MMAP]		= "mmap",
	[KICK]		= "kick",
	[FAULT]		= "page_fault",
	[CONFIG]	= "config",
	[STOP]		= "stop",
	[CLOSE]		= "close",
};

/**
 * struct process - one that is to be killed
 * @pid:    it
 * @begun:  a pipe from which the other reads a byte of each thread that did its first
 *	    operation, and which ends with the process
 * @within: by the thread of each kind: it is within its operation
 *
 * Shared by the two; @within is read when it is dead.
 */
struct process {
	pid_t	pid;
	int	begun[2];
	bool	within[NR_KINDS];
};

static struct process *processes;
static unsigned long killed_in[NR_KINDS];
static unsigned int rnd;

/* The process' own */
static struct process *self;
static int file;
static __u64 latest;

static void within(enum kind kind, bool is)
{
	__atomic_store_n(&self->within[kind], is, __ATOMIC_RELAXED);
}

static __u64 latest_id(void)
{
	return __atomic_load_n(&latest, __ATOMIC_RELAXED);
}

/* Some expire at once, some soon, some never. */
static __u64 some_delay(unsigned int i)
{
	return i % 3 ? i % 5 * MSEC / 2 : HOUR;
}

/* Does one ioctl, which may fail with any of two errors. */
static void call(enum kind kind, int fd, unsigned long cmd, void *arg, int may, int or)
{
	int ret;

	within(kind, true);
	ret = ioctl(fd, cmd, arg);
	within(kind, false);
	if (ret < 0 && errno != may && errno != or)
		err(1, "%s", names[kind]);
}

/* What the thread of each kind does, again and again; @i counts. */

/* A full file has to wait for what is read and cancelled. */
static void do_arm(unsigned int i)
{
	struct hwheel_op op = { .time_ns = some_delay(i) };

	call(ARM, file, HWHEEL_IOC_ARM, &op, ENOSPC, EDQUOT);
	__atomic_store_n(&latest, op.id, __ATOMIC_RELAXED);
}

static void do_refresh(unsigned int i)
{
	struct hwheel_op op = { .id = latest_id(), .time_ns = some_delay(i) };

	call(REFRESH, file, HWHEEL_IOC_REFRESH, &op, ENOENT, ENOENT);
}

static void do_cancel(unsigned int i)
{
	struct hwheel_op op = { .id = latest_id() };

	(void)i;
	call(CANCEL, file, HWHEEL_IOC_CANCEL, &op, ENOENT, ENOENT);
}

static void do_submit(unsigned int i)
{
	static struct hwheel_op ops[BATCH];
	struct hwheel_submit batch = { .ops = (uintptr_t)ops, .nr = BATCH };
	int j;

	for (j = 0; j < BATCH; j++) {
		if (i % 2)
			ops[j] = (struct hwheel_op){ .op = HWHEEL_OP_CANCEL, .id = ops[j].id };
		else
			ops[j] = (struct hwheel_op){
				.op = HWHEEL_OP_ARM,
				.time_ns = some_delay(j),
			};
	}
	call(SUBMIT, file, HWHEEL_IOC_SUBMIT, &batch, 0, 0);
}

static void do_read(unsigned int i)
{
	struct hwheel_event events[16];
	ssize_t got;

	(void)i;
	within(READ, true);
	got = read(file, events, sizeof(events));
	within(READ, false);
	if (got <= 0)
		err(1, "read");
}

/* What operations copy from and to is not there yet. */
static void do_fault(unsigned int i)
{
	static struct hwheel_op *ops;
	struct hwheel_submit batch = { .nr = BATCH };

	if (!i) {
		ops = mmap(NULL, BATCH * sizeof(*ops), PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (ops == MAP_FAILED)
			err(1, "mmap");
	}
	batch.ops = (uintptr_t)ops;
	madvise(ops, BATCH * sizeof(*ops), MADV_DONTNEED);
	call(FAULT, file, HWHEEL_IOC_SUBMIT, &batch, 0, 0);
}

/* On files that are new, as no other can be configured. A process has few wheels. */
static int open_own(void)
{
	struct hwheel_config config = {
		.slots = 4096, .tick_ns = MSEC,
		.kind = HWHEEL_KIND_HASHED, .clock = CLOCK_MONOTONIC,
	};
	int fd = open_device();

	call(CONFIG, fd, HWHEEL_IOC_CONFIG, &config, ENOSPC, ENOSPC);
	return fd;
}

/* All that MAP makes goes with the file. */
static void do_map(unsigned int i)
{
	struct hwheel_map map = { .records = RECORDS, .lists = HWHEEL_MAP_LISTS };
	int fd = i % 2 ? open_own() : open_device();

	call(MAP, fd, HWHEEL_IOC_MAP, &map, 0, 0);
	close(fd);
}

/* Each mapping has one page that is there, of the records. */
static void do_mmap(unsigned int i)
{
	static struct map m;

	if (!i)
		make_records(&m, open_device(), RECORDS);
	within(MMAP, true);
	map_records(&m);
	within(MMAP, false);
	m.records[i % RECORDS].cookie = i;
	unmap_records(&m);
}

/* Nobody takes what expires out of the ring. */
static void do_kick(unsigned int i)
{
	static struct map m;

	if (!i) {
		make_records(&m, open_device(), RECORDS);
		map_records(&m);
	}
	arm_record(&m, i % RECORDS, i % 2 ? 0 : HWHEEL_MAP_NEVER);
	call(KICK, m.fd, HWHEEL_IOC_KICK, NULL, 0, 0);
}

static void arm_some(int fd)
{
	int i;

	for (i = 0; i < 100; i++)
		arm(fd, some_delay(i));
}

static void do_config(unsigned int i)
{
	(void)i;
	close(open_own());
}

static void do_stop(unsigned int i)
{
	int fd = i % 2 ? open_own() : open_device();

	arm_some(fd);
	call(STOP, fd, HWHEEL_IOC_STOP, NULL, 0, 0);
	close(fd);
}

static void do_close(unsigned int i)
{
	int fd = i % 2 ? open_own() : open_device();

	arm_some(fd);
	within(CLOSE, true);
	close(fd);
	within(CLOSE, false);
}

static void (*const operations[])(unsigned int i) = {
	[ARM]		= do_arm,
	[REFRESH]	= do_refresh,
	[CANCEL]	= do_cancel,
	[SUBMIT]	= do_submit,
	[READ]		= do_read,
	[MAP]		= do_map,
	[MMAP]		= do_mmap,
	[KICK]		= do_kick,
	[FAULT]		= do_fault,
	[CONFIG]	= do_config,
	[STOP]		= do_stop,
	[CLOSE]		= do_close,
};

static void *run(void *data)
{
	void (*operation)(unsigned int i) = data;
	unsigned int i;

	operation(0);
	if (write(self->begun[1], "", 1) != 1)
		err(1, "write");
	for (i = 1; ; i++)
		operation(i);
	return NULL;
}

/* Every other process has a wheel of its own. */
static void be_one(struct process *process, unsigned int number)
{
	pthread_t thread;
	int i, kind;

	setpriority(PRIO_PROCESS, 0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	self = process;
	file = number % 2 ? open_own() : open_device();
	arm(file, 0);
	/* Now an event waits: there may be no other, for which the first read() would wait. */
	await_event(file, -1);
	for (i = 0; i < THREADS; i++) {
		kind = (number + i) % NR_KINDS;
		if (pthread_create(&thread, NULL, run, operations[kind]))
			err(1, "pthread_create");
	}
	while (1)
		pause();
}

/* Waits for the one that was killed, if there is any. */
static void reap(struct process *process)
{
	int status, kind;

	if (!process->pid)
		return;
	if (waitpid(process->pid, &status, 0) != process->pid)
		err(1, "waitpid");
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
		errx(1, "a process ended with status %#x", status);
	close(process->begun[0]);
	for (kind = 0; kind < NR_KINDS; kind++)
		killed_in[kind] += process->within[kind];
}

static void start(unsigned int number)
{
	struct process *process = &processes[number % SLOTS];
	pid_t pid;

	reap(process);
	memset(process, 0, sizeof(*process));
	if (pipe(process->begun))
		err(1, "pipe");
	pid = fork();
	if (pid < 0)
		err(1, "fork");
	if (!pid)
		be_one(process, number);
	process->pid = pid;
	close(process->begun[1]);
}

/* If a process ends by itself reap() says so. */
static void await_threads(const struct process *process)
{
	char byte;
	int i;

	for (i = 0; i < THREADS; i++)
		if (read(process->begun[0], &byte, 1) != 1)
			return;
}

static bool each_was_met(void)
{
	int kind;

	for (kind = 0; kind < NR_KINDS; kind++)
		if (!killed_in[kind])
			return false;
	return true;
}

static void wait_for_a_while(void)
{
	struct timespec while_ = { .tv_nsec = rand_r(&rnd) % LONGEST_NS };

	nanosleep(&while_, NULL);
}

static void print_counts(unsigned long kills)
{
	int kind;

	printf("kills=%lu\n", kills);
	for (kind = 0; kind < NR_KINDS; kind++)
		printf("killed_in_%s=%lu\n", names[kind], killed_in[kind]);
}

static void kill_one(unsigned int number)
{
	struct process *process = &processes[number % SLOTS];

	if (number % EARLY)
		await_threads(process);
	wait_for_a_while();
	kill(process->pid, SIGKILL);
}

/* Returns how many were killed. */
static unsigned long kill_processes(unsigned long kills, unsigned long most)
{
	unsigned long started, i;

	for (started = 0; started < PROCESSES; started++)
		start(started);
	for (; started < kills || (started < most && !each_was_met()); started++) {
		kill_one(started - PROCESSES);
		start(started);
	}
	for (i = started - PROCESSES; i < started; i++)
		kill_one(i);
	for (i = 0; i < SLOTS; i++)
		reap(&processes[i]);
	return started;
}

int main(int argc, char **argv)
{
	unsigned long kills = argc > 1 ? strtoul(argv[1], NULL, 0) : 0;
	unsigned long most = argc > 2 ? strtoul(argv[2], NULL, 0) : kills;

	if (!kills || argc > 4) {
		printf("usage: kill_midcall KILLS [MOST [SEED]]\n");
		return 1;
	}
	rnd = argc > 3 ? strtoul(argv[3], NULL, 0) : (unsigned long)time(NULL);
	processes = mmap(NULL, SLOTS * sizeof(*processes), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (processes == MAP_FAILED)
		err(1, "mmap");
	/* Those that are to be killed keep the CPUs busy. */
	setpriority(PRIO_PROCESS, 0, -20);
	print_counts(kill_processes(kills, most));
	return 0;
}
