// SPDX-License-Identifier: GPL-2.0-only
/*
 * All memory of the process comes through here, that of its libraries too. When there is none, a
 * reserve gives way, so that what is under way can end. It consists of chunks, so that it can be
 * had again from what others have freed in pieces.
 *
 * json-c crashes where it finds no memory, or leaves something out. libmicrohttpd closes a
 * connection: it may fail, and must not use up what is needed to end timeouts.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include "memory.h"
#include "say.h"

#define MEMORY_CHUNK	65536
#define MEMORY_CHUNKS	256

/* A request may count on such a part of the reserve. */
#define MEMORY_PART	4

struct chunk {
	struct chunk *next;
};

struct chunks {
	struct chunk *first;
	size_t count;
};

/* For jemalloc: whatever is freed serves allocations of any size. */
const char *malloc_conf = "oversize_threshold:0";
#pragma weak mallctl
int mallctl(const char *name, void *old, size_t *old_size,
	    void *new, size_t size);

static struct chunks memory_reserve;
static pthread_mutex_t memory_lock = PTHREAD_MUTEX_INITIALIZER;	/* of the reserve */
static __thread bool memory_is_optional;
static __thread bool memory_is_shared;

/* The next one in the order of libraries: jemalloc's, or the C library's */
#define MEMORY_NEXT(name) ({ \
	static __typeof__(name) *next; \
	if (!next) \
		next = (__typeof__(next))dlsym(RTLD_NEXT, #name); \
	next; \
})

/* Returns false if there are fewer. */
static bool memory_fill(struct chunks *chunks, size_t count)
{
	struct chunk *chunk;

	while (chunks->count < count) {
		chunk = MEMORY_NEXT(malloc)(MEMORY_CHUNK);
		if (!chunk)
			return false;
		chunk->next = chunks->first;
		chunks->first = chunk;
		chunks->count++;
	}
	return true;
}

static void memory_free_one(struct chunks *chunks)
{
	struct chunk *chunk = chunks->first;

	chunks->first = chunk->next;
	chunks->count--;
	free(chunk);
}

static size_t memory_reserved(void)
{
	return __atomic_load_n(&memory_reserve.count, __ATOMIC_RELAXED);
}

bool memory_is_short(void)
{
	bool is_whole = memory_reserved() == MEMORY_CHUNKS;

	if (is_whole)
		return false;
	pthread_mutex_lock(&memory_lock);
	is_whole = memory_fill(&memory_reserve, MEMORY_CHUNKS);
	pthread_mutex_unlock(&memory_lock);
	return !is_whole;
}

bool memory_has(size_t size)
{
	struct chunks chunks = { 0 };
	bool is_there = memory_fill(&chunks, size / MEMORY_CHUNK + 1);

	while (chunks.count)
		memory_free_one(&chunks);
	return is_there;
}

bool memory_offers(size_t size)
{
	memory_is_short();
	return size <= memory_reserved() * MEMORY_CHUNK / MEMORY_PART || memory_has(size);
}

bool memory_may_fail(bool may_fail)
{
	bool before = memory_is_optional;

	memory_is_optional = may_fail;
	return before;
}

/* The first thread has the first arena of jemalloc, and so has the reserve. */
void memory_share(void)
{
	unsigned int arena = 0;

	memory_is_shared = true;
	if (mallctl)
		mallctl("thread.arena", NULL, NULL, &arena, sizeof(arena));
}

/* Returns whether it is worth another try. Any thread may be the one. */
static bool memory_give_way(void)
{
	size_t least = memory_is_optional ? MEMORY_CHUNKS / 2 : 0;
	bool is_there;

	if (!memory_is_shared) {
		memory_share();
		return true;
	}
	pthread_mutex_lock(&memory_lock);
	is_there = memory_reserve.count > least;
	if (is_there)
		memory_free_one(&memory_reserve);
	pthread_mutex_unlock(&memory_lock);
	if (!is_there && !memory_is_optional)
		memory_end();
	return is_there;
}

void memory_end(void)
{
	say(LOG_CRIT, "there is no memory");
	_exit(1);
}

void *malloc(size_t size)
{
	void *memory;

	while (!(memory = MEMORY_NEXT(malloc)(size)) && memory_give_way())
		;
	return memory;
}

void *calloc(size_t count, size_t size)
{
	void *memory;

	while (!(memory = MEMORY_NEXT(calloc)(count, size)) && memory_give_way())
		;
	return memory;
}

void *realloc(void *old, size_t size)
{
	void *memory;

	while (!(memory = MEMORY_NEXT(realloc)(old, size)) && size && memory_give_way())
		;
	return memory;
}
