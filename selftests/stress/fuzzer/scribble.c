// SPDX-License-Identifier: GPL-2.0-only
/*
 * A thread that stores what it likes in the memory of mapped timeouts, while others use their
 * files. It has the mappings for itself, and they may be all that is left of a file.
 */
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <time.h>

#include "scribble.h"

#define MAPPINGS	6
#define AT_ONCE		64
#define LOOK_AHEAD	256
#define MOST_LINKS	600
#define MSEC		1000000ULL
#define SEC		(1000 * MSEC)

static struct mapping {
	pthread_mutex_t	lock;
	__u64		*words;
	size_t		size;
} mappings[MAPPINGS];

static pthread_t thread;
static bool over;

static __u64 now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * SEC + ts.tv_nsec;
}

static __u64 deadline_word(struct random *rnd, __u64 deadline_ns)
{
	return (deadline_ns & ~7ULL) << 1 | random_below(rnd, 16);
}

/* None, links, anything, or the word of a record that is past, far or soon */
static __u64 random_word(struct random *rnd)
{
	switch (random_below(rnd, 9)) {
	case 0:
		return 0;
	case 1:
		return -1ULL - random_below(rnd, 16);
	case 2:
		return random_next(rnd) >> random_below(rnd, 64);
	case 3:
		return random_below(rnd, MOST_LINKS) << 32 | random_below(rnd, MOST_LINKS);
	case 4:
		return deadline_word(rnd, now_ns() - random_below(rnd, SEC));
	case 5:
		return deadline_word(rnd, now_ns() + random_below(rnd, 100000 * SEC));
	default:
		return deadline_word(rnd, now_ns() + random_below(rnd, 20 * MSEC));
	}
}

/* Mostly one that is in use */
static size_t random_index(struct random *rnd, const __u64 *words, size_t n)
{
	size_t index = random_below(rnd, n), i;

	for (i = index; i < n && i < index + LOOK_AHEAD; i++)
		if (__atomic_load_n(&words[i], __ATOMIC_RELAXED))
			return i;
	return index;
}

/* Most programs store whole words. */
static void scribble_one(struct random *rnd, const struct mapping *m)
{
	__u64 *word = &m->words[random_index(rnd, m->words, m->size / sizeof(__u64))];

	if (random_chance(rnd, 4))
		__atomic_store_n((__u8 *)word + random_below(rnd, 8), random_next(rnd) >> 32,
				 __ATOMIC_RELAXED);
	else
		__atomic_store_n(word, random_word(rnd), __ATOMIC_RELAXED);
}

static void scribble_some(struct random *rnd, struct mapping *m)
{
	int i;

	pthread_mutex_lock(&m->lock);
	for (i = 0; m->words && i < AT_ONCE; i++)
		scribble_one(rnd, m);
	pthread_mutex_unlock(&m->lock);
}

static void *run(void *data)
{
	struct random *rnd = data;
	int i;

	while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
		for (i = 0; i < MAPPINGS; i++)
			scribble_some(rnd, &mappings[i]);
		poll(NULL, 0, 1);
	}
	return NULL;
}

int scribble_begin(__u64 seed)
{
	static struct random rnd;
	int i;

	random_seed(&rnd, seed);
	for (i = 0; i < MAPPINGS; i++)
		pthread_mutex_init(&mappings[i].lock, NULL);
	return pthread_create(&thread, NULL, run, &rnd);
}

static void replace(struct mapping *m, __u64 *words, size_t size)
{
	__u64 *old;
	size_t old_size;

	pthread_mutex_lock(&m->lock);
	old = m->words;
	old_size = m->size;
	m->words = words;
	m->size = size;
	pthread_mutex_unlock(&m->lock);
	if (old)
		munmap(old, old_size);
}

/* The mapping is ours from now on. */
void scribble_over(struct random *rnd, __u64 *words, size_t size)
{
	replace(&mappings[random_below(rnd, MAPPINGS)], words, size);
}

void scribble_end(void)
{
	int i;

	__atomic_store_n(&over, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	for (i = 0; i < MAPPINGS; i++)
		replace(&mappings[i], NULL, 0);
}
