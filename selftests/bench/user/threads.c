// SPDX-License-Identifier: GPL-2.0-only
/*
 * The cost of sharing a mapped handle: how long each thread takes to arm and cancel a timeout,
 * alone, and while others do. Threads of different lists write no common line, so a thread should
 * not notice the others. A heap that threads share has a lock.
 *
 * The median of several rounds counts. Not for user-mode kernels: there one thread of a process
 * runs at a time.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "heap.h"
#include "library.h"
#include "threads.h"

#define TICK		(10 * MSEC)
#define SET		1000U
#define SET_ROUNDS	3000U
#define ROUNDS		9
#define MOST		64

/**
 * struct shared - what threads share
 * @name:  in the results
 * @open:  makes room for @room
 * @live:  arms and cancels the timeouts of a thread, each at once
 * @close: ends all
 */
struct shared {
	const char	*name;
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
static pthread_barrier_t begin;

/* The scheduler takes its time to spread threads over CPUs. */
static void pin_to(unsigned int cpu)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	must(!sched_setaffinity(0, sizeof(cpus), &cpus), "sched_setaffinity()");
}

/* Returns how long it took. */
static void *live(void *number)
{
	unsigned int thread = (uintptr_t)number, round;
	__u64 start, deadline;

	pin_to(thread);
	pthread_barrier_wait(&begin);
	start = now_ns();
	deadline = start + FAR;
	for (round = 0; round < SET_ROUNDS; round++)
		shared->live(thread, deadline);
	return (void *)(uintptr_t)(now_ns() - start);
}

/* The mean of the threads */
static double time_threads(unsigned int nr)
{
	pthread_t threads[MOST];
	unsigned int i;
	double sum = 0;
	void *ns;

	must(!pthread_barrier_init(&begin, NULL, nr), "barrier");
	for (i = 0; i < nr; i++)
		must(!pthread_create(&threads[i], NULL, live, (void *)(uintptr_t)i), "thread");
	for (i = 0; i < nr; i++) {
		must(!pthread_join(threads[i], &ns), "join");
		sum += (uintptr_t)ns;
	}
	pthread_barrier_destroy(&begin);
	return sum / nr / SET / SET_ROUNDS;
}

static int compare(const void *left, const void *right)
{
	const double *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static double median(unsigned int nr)
{
	double rounds[ROUNDS];
	unsigned int i;

	for (i = 0; i < ROUNDS; i++)
		rounds[i] = time_threads(nr);
	qsort(rounds, ROUNDS, sizeof(rounds[0]), compare);
	return rounds[ROUNDS / 2];
}

void bench_threads(void)
{
	static const struct shared all[] = {
		{ "hwheel", open_library, live_in_library, library_close },
		{ "heap", heap_open, live_in_heap, heap_close },
		{ }
	};
	unsigned int cpus = sysconf(_SC_NPROCESSORS_ONLN), nr, i;

	for (i = 0; all[i].name; i++) {
		shared = &all[i];
		for (nr = 1; nr <= cpus && nr <= MOST; nr *= 2) {
			shared->open(nr * SET);
			report("threads.arm_cancel", shared->name, nr, "ns", median(nr));
			shared->close();
		}
	}
}
