// SPDX-License-Identifier: GPL-2.0-only
/*
 * The store on one machine. Commits adapt to the load. While at most DIRECT requests wait, the
 * loop's thread commits them itself, which saves two switches of threads. When more wait, a writer
 * commits all of them at once, while the loop reads the next requests; these become the next
 * commit. So a commit is as large as the disk is slow. The first one or two requests behind a large
 * commit are the writer's, too: others follow them, and would wait for a commit of their own. So
 * are those behind a commit that was slow.
 *
 * A disk may stall in a commit of the loop's thread. Then the writer, which looks at times while
 * there are such commits, stands in: it takes turns of the loop until the commit has ended. One of
 * the two threads waits or commits meanwhile, so what the loop has is still used by one at a time.
 *
 * Clients that were answered ask again. If the writer did not wait for them, they would miss the
 * next commit: each client would take part in every other one only. So the writer waits until
 * there are as many requests as in the last commit and behind it, but no longer than a part of the
 * time that a commit takes.
 *
 * A request that cleans the log is a commit of its own, and always the writer's: it may be large,
 * and need space that a full disk does not have, which is no matter of the clients'.
 *
 * The database belongs to the writer while it has requests, and to the loop's thread otherwise, as
 * well while the writer stands in.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utlist.h>

#include "clock/now.h"
#include "memory.h"
#include "say.h"
#include "store/database.h"

#define SQLITE_DIRECT	2
#define SQLITE_SLOW_NS	20000000ULL

/* A commit of several requests has no more bytes than the write-ahead log has room for. */
#define SQLITE_COMMIT_MAX	1048576

/* The writer waits for so large a part of the last commit's time. */
#define SQLITE_PATIENCE		4
#define SQLITE_PATIENCE_MAX_NS	2000000ULL

struct sqlite_list {
	struct store_request *first;
	size_t count;
};

struct sqlite_store {
	struct store store;		/* first */
	struct database *database;
	struct store_time time;		/* the last mark; the loop's, as what follows */
	bool is_marked;			/* it is in the database */
	struct sqlite_list waiting;
	struct sqlite_list unknown;
	uint64_t next;
	size_t handed_over;		/* to the writer, and not reaped, or being committed */
	size_t last;			/* requests that ended together last */
	uint64_t last_ns;		/* and how long their commits took */
	pthread_t writer;

	pthread_mutex_t lock;		/* for all below */
	pthread_cond_t wake;
	struct sqlite_list work;
	struct sqlite_list ended;
	uint64_t took_ns;		/* the last commit of the writer */
	size_t expected;		/* in the next one */
	bool is_stopping;
	uint64_t direct_ns;		/* since when the loop's thread commits; 0: it does not */
	bool was_direct;		/* it has begun to since the writer looked last */
	bool is_watched;		/* the writer looks again without being woken */
	bool stands_in;
	pthread_cond_t back;		/* it does not stand in now */
};

static void sqlite_list_add(struct sqlite_list *list, struct store_request *request)
{
	DL_APPEND(list->first, request);
	list->count++;
}

static void sqlite_list_move(struct sqlite_list *to, struct sqlite_list *from)
{
	DL_CONCAT(to->first, from->first);
	to->count += from->count;
	*from = (struct sqlite_list) { 0 };
}

static struct sqlite_store *sqlite_of(const struct store *store)
{
	return (struct sqlite_store *)store;
}

/* Does a commit end with this one? */
static bool sqlite_is_last(const struct store_request *request)
{
	return !request->next || request->clean_before || request->next->clean_before;
}

/*
 * Returns how long it took. The caller has the database. While an outcome is unknown, nothing is
 * written.
 */
static uint64_t sqlite_commit(struct sqlite_store *store, const struct sqlite_list *list)
{
	uint64_t since = now_clock_ns(CLOCK_MONOTONIC);
	struct store_request *first, *last, *rest;
	const struct store_request *alone = NULL;	/* up to this one, each is */
	bool is_lost = false;

	for (first = list->first; first; first = rest) {
		enum store_outcome outcome = STORE_REFUSED;
		size_t bytes = first->bytes;
		int error = -EIO;

		for (last = first; !alone && !sqlite_is_last(last) && bytes < SQLITE_COMMIT_MAX;
		     last = last->next)
			bytes += last->next->bytes;
		rest = last->next;
		last->next = NULL;
		if (!is_lost)
			outcome = database_commit(store->database, first, &error);
		is_lost |= outcome == STORE_UNKNOWN;
		for (struct store_request *it = first; it; it = it->next) {
			it->outcome = outcome;
			it->error = error;
			it->ends_commit = it == last;
		}
		last->next = rest;
		/* One that does not fit refuses no other: each is tried alone. */
		if (error == -ENOSPC && first != last) {
			alone = last;
			rest = first;
		} else if (last == alone) {
			alone = NULL;
		}
	}
	return now_clock_ns(CLOCK_MONOTONIC) - since;
}

static void sqlite_wake_loop(const struct sqlite_store *store)
{
	const uint64_t one = 1;

	if (write(store->store.fd, &one, sizeof(one)) != sizeof(one))
		say(LOG_ERR, "store: the loop cannot be woken: %m");
}

/* The writer */

static bool sqlite_wait_until(struct sqlite_store *store, uint64_t ns)
{
	const struct timespec until = {
		.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S),
	};

	return !pthread_cond_timedwait(&store->wake, &store->lock, &until);
}

static void sqlite_stand_in(struct sqlite_store *store)
{
	memory_share();
	store->stands_in = true;
	while (store->direct_ns) {
		pthread_mutex_unlock(&store->lock);
		store->store.turn(store->store.turn_owner);
		pthread_mutex_lock(&store->lock);
	}
	store->stands_in = false;
	pthread_cond_signal(&store->back);
}

/* Looks at the commits of the loop's thread, as long as there are any. */
static void sqlite_watch(struct sqlite_store *store)
{
	uint64_t since_ns = store->direct_ns;

	store->was_direct = false;
	if (sqlite_wait_until(store, (since_ns ?: now_clock_ns(CLOCK_MONOTONIC)) + SQLITE_SLOW_NS))
		return;
	if (since_ns && since_ns == store->direct_ns)
		sqlite_stand_in(store);
	else
		store->is_watched = store->was_direct || store->direct_ns;
}

/* Returns false if there is no work, and never will be. */
static bool sqlite_wait_for_work(struct sqlite_store *store, struct sqlite_list *batch)
{
	uint64_t patience_ns = store->took_ns / SQLITE_PATIENCE;

	while (!store->work.count && !store->is_stopping) {
		if (store->is_watched)
			sqlite_watch(store);
		else
			pthread_cond_wait(&store->wake, &store->lock);
	}
	if (patience_ns > SQLITE_PATIENCE_MAX_NS)
		patience_ns = SQLITE_PATIENCE_MAX_NS;
	patience_ns += now_clock_ns(CLOCK_MONOTONIC);
	while (store->work.count < store->expected && !store->is_stopping &&
	       sqlite_wait_until(store, patience_ns))
		;
	sqlite_list_move(batch, &store->work);
	return batch->count;
}

static void *sqlite_write(void *data)
{
	struct sqlite_store *store = data;
	struct sqlite_list batch = { 0 };
	uint64_t took;

	/* jemalloc needs memory for a thread's first allocation, and crashes if there is none. */
	free(memory_get(1, 1));
	pthread_mutex_lock(&store->lock);
	while (sqlite_wait_for_work(store, &batch)) {
		pthread_mutex_unlock(&store->lock);
		took = sqlite_commit(store, &batch);
		pthread_mutex_lock(&store->lock);
		store->took_ns = took;
		store->expected = batch.count + store->work.count;
		sqlite_list_move(&store->ended, &batch);
		sqlite_wake_loop(store);
	}
	pthread_mutex_unlock(&store->lock);
	return NULL;
}

/* The loop's side */

/* done() may submit more, and free the request. One that is unknown is kept. */
static void sqlite_end(struct sqlite_store *store, struct sqlite_list *list)
{
	struct store_request *request, *next;

	for (request = list->first; request; request = next) {
		next = request->next;
		if (request->outcome == STORE_UNKNOWN)
			sqlite_list_add(&store->unknown, request);
		request->done(request);
	}
}

static void sqlite_end_commit(struct sqlite_store *store, struct sqlite_list *list, uint64_t took)
{
	struct store_figures *figures = &store->store.figures;

	store->last = list->count;
	store->last_ns = took;
	figures->commit_ns += took;
	if (took > figures->commit_max_ns)
		figures->commit_max_ns = took;
	for (const struct store_request *it = list->first; it; it = it->next) {
		figures->records += it->count;
		figures->commits += it->ends_commit;
		figures->failures += it->ends_commit && it->outcome != STORE_COMMITTED;
	}
	sqlite_end(store, list);
}

static bool sqlite_is_lost(const struct store *store)
{
	return sqlite_of(store)->unknown.count;
}

/* Records have the time too: while the writer is busy, they do. */
static int sqlite_mark_now(struct sqlite_store *store)
{
	int error = store->handed_over ? -EBUSY : database_mark(store->database, &store->time);

	if (error != -EBUSY)
		store->is_marked = !error;
	return error;
}

static bool sqlite_is_for_writer(const struct sqlite_store *store)
{
	const struct store_request *request = store->waiting.first;

	if (store->handed_over || store->is_stopping)
		return store->handed_over;
	while (request && !request->clean_before)
		request = request->next;
	return request || store->waiting.count > SQLITE_DIRECT || store->last > SQLITE_DIRECT ||
	       store->last_ns > SQLITE_SLOW_NS;
}

/* A writer that waits for more of them than there are now need not wake up. */
static void sqlite_hand_over(struct sqlite_store *store)
{
	bool is_idle;

	store->handed_over += store->waiting.count;
	pthread_mutex_lock(&store->lock);
	is_idle = !store->work.count;
	sqlite_list_move(&store->work, &store->waiting);
	if (is_idle || store->work.count >= store->expected)
		pthread_cond_signal(&store->wake);
	pthread_mutex_unlock(&store->lock);
}

/* The loop's thread uses the database, and the writer looks how long that takes. */
static void sqlite_begin_here(struct sqlite_store *store, size_t count)
{
	store->handed_over += count;
	pthread_mutex_lock(&store->lock);
	store->direct_ns = now_clock_ns(CLOCK_MONOTONIC);
	store->was_direct = true;
	if (store->store.turn && !store->is_watched) {
		store->is_watched = true;
		pthread_cond_signal(&store->wake);
	}
	pthread_mutex_unlock(&store->lock);
}

/* A writer that stands in ends its turn first. */
static void sqlite_end_here(struct sqlite_store *store, size_t count)
{
	pthread_mutex_lock(&store->lock);
	store->direct_ns = 0;
	if (store->stands_in)
		sqlite_wake_loop(store);
	while (store->stands_in)
		pthread_cond_wait(&store->back, &store->lock);
	pthread_mutex_unlock(&store->lock);
	store->handed_over -= count;
}

static void sqlite_commit_here(struct sqlite_store *store, struct sqlite_list *list)
{
	uint64_t took;

	sqlite_begin_here(store, list->count);
	took = sqlite_commit(store, list);
	sqlite_end_here(store, list->count);
	sqlite_end_commit(store, list, took);
}

/* Another mark may come meanwhile. */
static void sqlite_mark_here(struct sqlite_store *store)
{
	const struct store_time time = store->time;
	int error;

	store->is_marked = true;
	sqlite_begin_here(store, 1);
	error = database_mark(store->database, &time);
	sqlite_end_here(store, 1);
	if (error)
		store->is_marked = false;
}

/* done() of one may have submitted others. */
static void sqlite_flush(struct store *base)
{
	struct sqlite_store *store = sqlite_of(base);

	if (!store->is_marked && !store->handed_over && !sqlite_is_lost(base))
		sqlite_mark_here(store);
	while (store->waiting.count) {
		struct sqlite_list list = { 0 };

		if (!sqlite_is_lost(base) && sqlite_is_for_writer(store)) {
			sqlite_hand_over(store);
			continue;
		}
		sqlite_list_move(&list, &store->waiting);
		if (!sqlite_is_lost(base)) {
			sqlite_commit_here(store, &list);
			continue;
		}
		for (struct store_request *it = list.first; it; it = it->next) {
			it->outcome = STORE_REFUSED;
			it->error = -EIO;
		}
		sqlite_end(store, &list);
	}
}

static bool sqlite_reserve(struct store *base, uint64_t bytes)
{
	bool is_there = !database_reserve(sqlite_of(base)->database, bytes);

	base->room = database_room(sqlite_of(base)->database);
	return is_there;
}

static void sqlite_submit(struct store *base, struct store_request *request)
{
	struct sqlite_store *store = sqlite_of(base);

	for (size_t i = 0; i < request->count; i++)
		request->records[i].seq = store->next++;
	sqlite_list_add(&store->waiting, request);
}

static void sqlite_reap(struct store *base)
{
	struct sqlite_store *store = sqlite_of(base);
	struct sqlite_list list = { 0 };
	uint64_t took, events;

	if (read(store->store.fd, &events, sizeof(events)) < 0)
		return;
	pthread_mutex_lock(&store->lock);
	sqlite_list_move(&list, &store->ended);
	took = store->took_ns;
	pthread_mutex_unlock(&store->lock);
	store->handed_over -= list.count;
	if (list.count)
		sqlite_end_commit(store, &list, took);
}

/* After a commit that succeeds, one that failed before it cannot come back: see database.h. */
static void sqlite_recover(struct store *base)
{
	struct sqlite_store *store = sqlite_of(base);
	struct sqlite_list list = { 0 };
	int there;

	if (store->handed_over)
		return;
	now_mark(&store->time);
	if (sqlite_mark_now(store))
		return;
	sqlite_list_move(&list, &store->unknown);
	for (struct store_request *it = list.first; it; it = it->next) {
		there = it->count ? database_has(store->database, it->records->seq) : 0;
		if (there >= 0)
			it->outcome = there ? STORE_COMMITTED : STORE_REFUSED;
		if (there > 0)
			it->error = 0;
	}
	sqlite_end(store, &list);
	if (!sqlite_is_lost(base))
		say(LOG_NOTICE, "store: it can be written to again");
}

static int sqlite_load(struct store *base, store_each each, void *data)
{
	return database_load(sqlite_of(base)->database, each, data, &base->is_damaged);
}

/* Nothing is submitted to a damaged store: the writer has no work. */
static int sqlite_discard(struct store *base)
{
	return database_discard(sqlite_of(base)->database);
}

static void sqlite_time(struct store *base, struct store_time *time)
{
	database_time(sqlite_of(base)->database, time);
}

static int sqlite_mark(struct store *base, const struct store_time *time)
{
	sqlite_of(base)->time = *time;
	sqlite_of(base)->is_marked = false;
	return base->turn ? 0 : sqlite_mark_now(sqlite_of(base));
}

/* The writer commits what it has before it ends. */
static void sqlite_close(struct store *base)
{
	struct sqlite_store *store = sqlite_of(base);

	pthread_mutex_lock(&store->lock);
	store->is_stopping = true;
	pthread_cond_signal(&store->wake);
	pthread_mutex_unlock(&store->lock);
	pthread_join(store->writer, NULL);
	sqlite_reap(base);
	sqlite_flush(base);
	if (!sqlite_is_lost(base))
		database_mark(store->database, &store->time);
	database_close(store->database);
	close(store->store.fd);
	free(store);
}

static const struct store_ops sqlite_ops = {
	.load = sqlite_load,
	.discard = sqlite_discard,
	.time = sqlite_time,
	.mark = sqlite_mark,
	.reserve = sqlite_reserve,
	.submit = sqlite_submit,
	.flush = sqlite_flush,
	.reap = sqlite_reap,
	.is_lost = sqlite_is_lost,
	.recover = sqlite_recover,
	.close = sqlite_close,
};

static int sqlite_start(struct sqlite_store *store)
{
	pthread_condattr_t attributes;

	store->store.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (store->store.fd < 0)
		return errno;
	pthread_mutex_init(&store->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&store->wake, &attributes);
	pthread_condattr_destroy(&attributes);
	pthread_cond_init(&store->back, NULL);
	store->store.ops = &sqlite_ops;
	store->store.room = database_room(store->database);
	store->is_marked = true;
	store->next = database_next(store->database);
	return store->next ? pthread_create(&store->writer, NULL, sqlite_write, store) : EIO;
}

struct store *sqlite_store_open(const char *path, const char *synchronous)
{
	struct sqlite_store *store = memory_get(1, sizeof(*store));
	int error;

	store->database = database_open(path, synchronous);
	if (!store->database) {
		free(store);
		return NULL;
	}
	error = sqlite_start(store);
	if (!error)
		return &store->store;
	say(LOG_ERR, "store: %s", strerror(error));
	database_close(store->database);
	free(store);
	return NULL;
}
