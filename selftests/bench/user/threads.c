// SPDX-License-Identifier: GPL-2.0-only
/*
 * The cost of sharing a mapped handle: how long each thread takes to arm and cancel a timeout,
 * alone, and while others do. Threads of different lists write no common line, so a thread should
 * not notice the others. A heap that threads share has a lock.
 *
 * The least of many short rounds counts: in it no process of the host held up a CPU of the virtual
 * machine. All rounds take about two ticks, so that each has the same chance of that, and rounds
 * with other numbers of threads take turns. Not for user-mode kernels: there one thread of a
 * process runs at a time.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "commands.h"
#include "heap.h"
#include "library.h"

#define TICK		MSEC
#define SET		1000U
#define ROUNDS		3000
#define MOST		64

/**
 * struct shared - what threads share
 * @name:  in the results
 * @sets:  how many sets of timeouts live in a round
 * @open:  makes room for @room
 * @live:  arms and cancels the timeouts of a thread, each at once
 * @close: ends all
 */
struct shared {
	const char	*name;
	unsigned int	sets;
	void		(*open)(unsigned int room);
	void		(*live)(unsigned int thread, __u64 deadline);
	void		(*close)(void);
};

/* A mapped handle */

static void open_library(unsigned int room)
{
	library_open(room + MOST * BATCH, TICK);
}

static void live_in_library(unsigned int thread, __u64 deadline)
{
	struct hwheel *handle = library_handle();
	unsigned long ids[SET];
	unsigned int i;
	int error = 0;

	(void)thread;
	for (i = 0; i < SET; i++)
		error |= hwheel_arm_at(handle, deadline + i, 0, &ids[i]);
	for (i = 0; i < SET; i++)
		error |= hwheel_cancel(handle, ids[i]);
	must(!error, "arm and cancel");
}

/* A heap with a lock */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void live_in_heap(unsigned int thread, __u64 deadline)
{
	unsigned int first = thread * SET, i;

	for (i = first; i < first + SET; i++) {
		pthread_mutex_lock(&lock);
		heap_push(i, deadline + i);
		pthread_mutex_unlock(&lock);
	}
	for (i = first; i < first + SET; i++) {
		pthread_mutex_lock(&lock);
		heap_delete(i);
		pthread_mutex_unlock(&lock);
	}
}

static const struct shared *shared;
static unsigned int absent;	/* threads that have not begun yet */

/* The scheduler takes its time to spread threads over CPUs. */
static void pin_to(unsigned int cpu)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	must(!sched_setaffinity(0, sizeof(cpus), &cpus), "sched_setaffinity()");
}

/* Of each thread */
static __u64 started[MOST], ended[MOST];

/* Waits for the others without sleeping: then each has a CPU. */
static void begin_together(void)
{
	__atomic_sub_fetch(&absent, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&absent, __ATOMIC_SEQ_CST))
		;
}

static void *live(void *number)
{
	unsigned int thread = (uintptr_t)number, i;

	pin_to(thread);
	begin_together();
	started[thread] = now_ns();
	for (i = 0; i < shared->sets; i++)
		shared->live(thread, started[thread] + FAR);
	ended[thread] = now_ns();
	return NULL;
}

/*
 * From the start of the first thread to the end of the last: threads that run one after the other
 * take as long as all of them.
 */
static double time_threads(unsigned int nr)
{
	pthread_t threads[MOST];
	__u64 first = -1ULL, last = 0;
	unsigned int i;

	absent = nr;
	for (i = 0; i < nr; i++)
		must(!pthread_create(&threads[i], NULL, live, (void *)(uintptr_t)i), "thread");
	for (i = 0; i < nr; i++) {
		must(!pthread_join(threads[i], NULL), "join");
		if (started[i] < first)
			first = started[i];
		if (ended[i] > last)
			last = ended[i];
	}
	return (double)(last - first) / SET / shared->sets;
}

/* With 1, 2, 4... threads, up to @most */
static void measure(unsigned int most)
{
	double least[MOST + 1] = { 0 }, ns;
	unsigned int round, nr;

	shared->open(most * SET);
	for (round = 0; round < ROUNDS; round++) {
		for (nr = 1; nr <= most; nr *= 2) {
			ns = time_threads(nr);
			if (!round || ns < least[nr])
				least[nr] = ns;
		}
	}
	shared->close();
	for (nr = 1; nr <= most; nr *= 2)
		report("threads.arm_cancel", shared->name, nr, "ns", least[nr]);
}

void bench_threads(void)
{
	static const struct shared all[] = {
		{ "hwheel", 30, open_library, live_in_library, library_close },
		{ "heap", 10, heap_open, live_in_heap, heap_close },
		{ }
	};
	unsigned int cpus = sysconf(_SC_NPROCESSORS_ONLN), i;

	for (i = 0; all[i].name; i++) {
		shared = &all[i];
		measure(cpus < MOST ? cpus : MOST);
	}
}
