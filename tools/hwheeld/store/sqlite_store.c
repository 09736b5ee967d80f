// SPDX-License-Identifier: GPL-2.0-only
/*
 * The store on one machine. Commits adapt to the load. While at most DIRECT requests wait, the
 * loop's thread commits them itself, which saves two switches of threads. When more wait, a writer
 * commits all of them at once, while the loop reads the next requests; these become the next
 * commit. So a commit is as large as the disk is slow. The first one or two requests behind a large
 * commit are the writer's, too: others follow them, and would wait for a commit of their own.
 *
 * Clients that were answered ask again. If the writer did not wait for them, they would miss the
 * next commit: each client would take part in every other one only. So the writer waits until
 * there are as many requests as in the last commit and behind it, but no longer than a part of the
 * time that a commit takes.
 *
 * A request that cleans the log is a commit of its own, and always the writer's: it may be large,
 * and need space that a full disk does not have, which is no matter of the clients'.
 *
 * The database belongs to the writer while it has requests, and to the loop's thread otherwise.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "clock/now.h"
#include "say.h"
#include "store/database.h"

#define DIRECT	2

/* The writer waits for so large a part of the last commit's time. */
#define PATIENCE	4
#define PATIENCE_MAX_NS	2000000ULL

struct list {
	struct store_request *first;
	struct store_request **end;
	size_t count;
};

struct sqlite_store {
	struct store store;
	struct database *database;
	struct store_time time;		/* the last mark; the loop's */
	bool is_marked;			/* it is in the database; the loop's */
	struct list waiting;		/* the loop's */
	struct list unknown;		/* the loop's */
	uint64_t next;			/* the loop's */
	size_t handed_over;		/* to the writer, and not reaped; the loop's */
	size_t last;			/* requests that ended together last; the loop's */
	struct store_figures figures;	/* the loop's */
	int event;
	pthread_t writer;

	pthread_mutex_t lock;		/* for all below */
	pthread_cond_t wake;
	struct list work;
	struct list ended;
	uint64_t took_ns;		/* the last commit of the writer */
	size_t expected;		/* in the next one */
	bool stopping;
};

static void list_clear(struct list *list)
{
	*list = (struct list) { .end = &list->first };
}

static void list_add(struct list *list, struct store_request *request)
{
	request->next = NULL;
	*list->end = request;
	list->end = &request->next;
	list->count++;
}

static void list_move(struct list *to, struct list *from)
{
	if (from->count) {
		*to->end = from->first;
		to->end = from->end;
		to->count += from->count;
	}
	list_clear(from);
}

static struct sqlite_store *of(const struct store *store)
{
	return (struct sqlite_store *)store;
}

/* Does a commit end with this one? */
static bool is_last(const struct store_request *request)
{
	return !request->next || request->clean_before || request->next->clean_before;
}

/* Returns the request behind those that are in the same commit, which it cuts off. */
static struct store_request *cut(struct store_request *request, struct store_request **last)
{
	struct store_request *rest;

	while (!is_last(request))
		request = request->next;
	rest = request->next;
	request->next = NULL;
	*last = request;
	return rest;
}

/* While an outcome is unknown, nothing is written. */
static enum store_outcome commit_some(struct sqlite_store *store, struct store_request *first,
				      bool lost)
{
	enum store_outcome outcome = STORE_REFUSED;
	int error = -EIO;

	if (!lost)
		outcome = database_commit(store->database, first, &error);
	for (struct store_request *request = first; request; request = request->next) {
		request->outcome = outcome;
		request->error = error;
	}
	return outcome;
}

/* Returns how long it took. The caller has the database. */
static uint64_t commit(struct sqlite_store *store, const struct list *list)
{
	struct store_request *first, *rest, *last;
	uint64_t since = now_clock_ns(CLOCK_MONOTONIC);
	bool lost = false;

	for (first = list->first; first; first = rest) {
		rest = cut(first, &last);
		if (commit_some(store, first, lost) == STORE_UNKNOWN)
			lost = true;
		last->next = rest;
	}
	return now_clock_ns(CLOCK_MONOTONIC) - since;
}

/* The writer */

static struct timespec patience(const struct sqlite_store *store)
{
	uint64_t wait = store->took_ns / PATIENCE;
	uint64_t until = now_clock_ns(CLOCK_MONOTONIC) +
			 (wait < PATIENCE_MAX_NS ? wait : PATIENCE_MAX_NS);

	return (struct timespec) { (time_t)(until / NS_PER_S), (long)(until % NS_PER_S) };
}

/* Returns false if there is none, and never will be. */
static bool wait_for_work(struct sqlite_store *store, struct list *batch)
{
	struct timespec until;

	while (!store->work.count && !store->stopping)
		pthread_cond_wait(&store->wake, &store->lock);
	until = patience(store);
	while (store->work.count < store->expected && !store->stopping &&
	       !pthread_cond_timedwait(&store->wake, &store->lock, &until))
		;
	list_move(batch, &store->work);
	return batch->count;
}

static void end_batch(struct sqlite_store *store, struct list *batch, uint64_t took)
{
	uint64_t one = 1;

	store->took_ns = took;
	store->expected = batch->count + store->work.count;
	list_move(&store->ended, batch);
	if (write(store->event, &one, sizeof(one)) != sizeof(one))
		say(LOG_ERR, "store: the loop cannot be woken: %m");
}

static void *write_on(void *data)
{
	struct sqlite_store *store = data;
	struct list batch;
	uint64_t took;

	list_clear(&batch);
	pthread_mutex_lock(&store->lock);
	while (wait_for_work(store, &batch)) {
		pthread_mutex_unlock(&store->lock);
		took = commit(store, &batch);
		pthread_mutex_lock(&store->lock);
		end_batch(store, &batch, took);
	}
	pthread_mutex_unlock(&store->lock);
	return NULL;
}

/* A writer that waits for more of them than there are now need not wake up. */
static void hand_over(struct sqlite_store *store)
{
	bool idle;

	store->handed_over += store->waiting.count;
	pthread_mutex_lock(&store->lock);
	idle = !store->work.count;
	list_move(&store->work, &store->waiting);
	if (idle || store->work.count >= store->expected)
		pthread_cond_signal(&store->wake);
	pthread_mutex_unlock(&store->lock);
}

/* The loop's side */

static void count(struct sqlite_store *store, const struct store_request *list, uint64_t took)
{
	store->figures.commit_ns += took;
	if (took > store->figures.commit_max_ns)
		store->figures.commit_max_ns = took;
	for (; list; list = list->next) {
		store->figures.records += list->count;
		if (!is_last(list))
			continue;
		store->figures.commits++;
		if (list->outcome != STORE_COMMITTED)
			store->figures.failures++;
	}
}

/* done() may submit more, and free the request. One that is unknown is kept. */
static void end(struct sqlite_store *store, struct list *list)
{
	struct store_request *request, *next;

	for (request = list->first; request; request = next) {
		next = request->next;
		if (request->outcome == STORE_UNKNOWN)
			list_add(&store->unknown, request);
		request->done(request);
	}
}

static void refuse(struct sqlite_store *store)
{
	struct list list;

	list_clear(&list);
	list_move(&list, &store->waiting);
	for (struct store_request *request = list.first; request; request = request->next) {
		request->outcome = STORE_REFUSED;
		request->error = -EIO;
	}
	end(store, &list);
}

static void commit_here(struct sqlite_store *store)
{
	struct list list;
	uint64_t took;

	list_clear(&list);
	list_move(&list, &store->waiting);
	took = commit(store, &list);
	store->last = list.count;
	count(store, list.first, took);
	end(store, &list);
}

static bool is_lost(const struct store *store)
{
	return of(store)->unknown.count;
}

/* Records tell the time too: while the writer is busy, they do. */
static int mark_now(struct sqlite_store *store)
{
	int error;

	if (store->handed_over)
		return -EBUSY;
	error = database_mark(store->database, &store->time);
	store->is_marked = !error;
	return error;
}

static bool is_for_writer(const struct sqlite_store *store)
{
	const struct store_request *request = store->waiting.first;

	if (store->handed_over)
		return true;
	if (store->stopping)
		return false;
	while (request && !request->clean_before)
		request = request->next;
	return request || store->waiting.count > DIRECT || store->last > DIRECT;
}

/* done() of one may have submitted others. */
static void flush(struct store *base)
{
	struct sqlite_store *store = of(base);

	if (!store->is_marked && !is_lost(base))
		mark_now(store);
	while (store->waiting.count) {
		if (is_lost(base))
			refuse(store);
		else if (is_for_writer(store))
			hand_over(store);
		else
			commit_here(store);
	}
}

static void submit(struct store *base, struct store_request *request)
{
	struct sqlite_store *store = of(base);

	request->seq = store->next;
	store->next += request->count;
	list_add(&store->waiting, request);
}

static void reap(struct store *base)
{
	struct sqlite_store *store = of(base);
	struct list list;
	uint64_t took, events;

	if (read(store->event, &events, sizeof(events)) < 0)
		return;
	list_clear(&list);
	pthread_mutex_lock(&store->lock);
	list_move(&list, &store->ended);
	took = store->took_ns;
	pthread_mutex_unlock(&store->lock);
	if (!list.count)
		return;
	store->handed_over -= list.count;
	store->last = list.count;
	count(store, list.first, took);
	end(store, &list);
}

/* After a commit that succeeds, one that failed before it cannot come back: see database.h. */
static void recover(struct store *base)
{
	struct sqlite_store *store = of(base);
	struct list list;
	int there;

	if (store->handed_over)
		return;
	now_mark(&store->time);
	if (mark_now(store))
		return;
	list_clear(&list);
	list_move(&list, &store->unknown);
	for (struct store_request *request = list.first; request; request = request->next) {
		there = request->count ? database_has(store->database, request->seq) : 0;
		if (there >= 0)
			request->outcome = there ? STORE_COMMITTED : STORE_REFUSED;
		if (there > 0)
			request->error = 0;
	}
	end(store, &list);
	if (!is_lost(base))
		say(LOG_NOTICE, "store: it can be written to again");
}

static int load(struct store *base, store_each each, void *data)
{
	return database_load(of(base)->database, each, data);
}

static void get_time(struct store *base, struct store_time *time)
{
	database_time(of(base)->database, time);
}

static int mark(struct store *base, const struct store_time *time)
{
	struct sqlite_store *store = of(base);

	store->time = *time;
	store->is_marked = false;
	return mark_now(store);
}

static int get_fd(const struct store *base)
{
	return of(base)->event;
}

static void get_figures(struct store *base, struct store_figures *figures)
{
	*figures = of(base)->figures;
}

/* It commits what it has before it ends. */
static void stop_writer(struct sqlite_store *store)
{
	pthread_mutex_lock(&store->lock);
	store->stopping = true;
	pthread_cond_signal(&store->wake);
	pthread_mutex_unlock(&store->lock);
	pthread_join(store->writer, NULL);
}

static void close_store(struct store *base)
{
	struct sqlite_store *store = of(base);

	stop_writer(store);
	reap(base);
	flush(base);
	if (!is_lost(base))
		database_mark(store->database, &store->time);
	database_close(store->database);
	close(store->event);
	free(store);
}

static const struct store_ops ops = {
	.load = load,
	.time = get_time,
	.mark = mark,
	.submit = submit,
	.flush = flush,
	.fd = get_fd,
	.reap = reap,
	.is_lost = is_lost,
	.recover = recover,
	.figures = get_figures,
	.close = close_store,
};

static int start(struct sqlite_store *store)
{
	pthread_condattr_t attributes;

	store->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (store->event < 0)
		return errno;
	pthread_mutex_init(&store->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&store->wake, &attributes);
	pthread_condattr_destroy(&attributes);
	list_clear(&store->waiting);
	list_clear(&store->unknown);
	list_clear(&store->work);
	list_clear(&store->ended);
	store->store.ops = &ops;
	store->is_marked = true;
	store->next = database_next(store->database);
	return store->next ? pthread_create(&store->writer, NULL, write_on, store) : EIO;
}

struct store *sqlite_store_open(const char *path, const char *synchronous)
{
	struct sqlite_store *store = calloc(1, sizeof(*store));
	int error;

	if (!store)
		return NULL;
	store->database = database_open(path, synchronous);
	if (!store->database) {
		free(store);
		return NULL;
	}
	error = start(store);
	if (error) {
		say(LOG_ERR, "store: %s", strerror(error));
		database_close(store->database);
		free(store);
		return NULL;
	}
	return &store->store;
}
