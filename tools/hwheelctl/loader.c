// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>

#include "clock.h"
#include "histogram.h"
#include "loader.h"

#define READ		512	/* events at a time */
#define MAPPED		1024	/* timeouts at first; the library makes room for more */
#define LOOK_NS		(SEC / 20)	/* how long it sleeps at most: it may have to stop */
#define PATIENCE_NS	(10 * SEC)	/* beyond the last deadline, and a tick */

/* An operation, and the later one on its timeout */
struct doom {
	enum { ARM, REFRESH, CANCEL } act, then;	/* @then: ARM means nothing */
	__u64 id;
	__u64 when_ns;
};

static bool stop_asked;

void loaders_stop(void)
{
	__atomic_store_n(&stop_asked, true, __ATOMIC_RELAXED);
}

static bool is_stopping(void)
{
	return __atomic_load_n(&stop_asked, __ATOMIC_RELAXED);
}

/* The only writer is the loader's thread: others see one value or the next. */
static void count(__u64 *counter, __u64 n)
{
	__atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

static __u64 read_count(const __u64 *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

__u64 tally_open(const struct tally *tally)
{
	__u64 ended = read_count(&tally->expired) + read_count(&tally->cancelled) +
			 read_count(&tally->stopped);
	__u64 armed = read_count(&tally->armed);

	return armed > ended ? armed - ended : 0;
}

void tally_add(struct tally *sum, const struct tally *other)
{
	sum->armed += read_count(&other->armed);
	sum->refreshed += read_count(&other->refreshed);
	sum->cancelled += read_count(&other->cancelled);
	sum->too_late += read_count(&other->too_late);
	sum->expired += read_count(&other->expired);
	sum->stopped += read_count(&other->stopped);
	sum->refused += read_count(&other->refused);
	sum->early += read_count(&other->early);
}

/* xorshift64*: a seed other than 0 gives the same numbers each time. */
static __u64 random_below(struct loader *loader, __u64 limit)
{
	__u64 x = loader->random;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	loader->random = x;
	return limit ? (x * 2685821657736338717ULL >> 11) % limit : 0;
}

/* --- what a batch consists of --- */

static void add_arm(struct loader *loader, __u64 now)
{
	const struct order *order = loader->order;
	__u64 delay = order->delay_ns / 2;
	__u64 lot = random_below(loader, 100);
	struct doom doom = { .act = ARM, .when_ns = now + order->delay_ns / 4 };
	int index;

	delay += random_below(loader, order->delay_ns - delay + 1);
	if (lot < order->cancel)
		doom.then = CANCEL;
	else if (lot < order->cancel + order->refresh)
		doom.then = REFRESH;
	/* The cookie is the program's own idea of what would be early. */
	index = hwheel_batch_arm(loader->batch, delay, now + delay);
	loader->batch_dooms[index] = doom;
	loader->begun++;
}

static void add_doom(struct loader *loader, struct doom doom)
{
	int index;

	doom.act = doom.then;
	if (doom.act == CANCEL)
		index = hwheel_batch_cancel(loader->batch, doom.id);
	else
		index = hwheel_batch_refresh(loader->batch, doom.id, loader->order->delay_ns);
	loader->batch_dooms[index] = doom;
}

static bool is_full(const struct loader *loader)
{
	return hwheel_batch_count(loader->batch) == loader->order->batch;
}

static void add_dooms(struct loader *loader, __u64 now)
{
	while (loader->dooms_first != loader->dooms_end && !is_full(loader)) {
		struct doom *doom = &loader->dooms[loader->dooms_first & (loader->dooms_size - 1)];

		if (doom->when_ns > now)
			return;
		add_doom(loader, *doom);
		loader->dooms_first++;
	}
}

/* How many should have been armed by now */
static __u64 arms_due(const struct loader *loader, __u64 now)
{
	const struct order *order = loader->order;
	__u64 due = UINT64_MAX;

	if (order->rate)
		due = (__u64)((double)(now - loader->start_ns) / SEC * order->rate /
				 order->threads) + 1;
	return order->count && due > loader->share ? loader->share : due;
}

static bool is_done_arming(const struct loader *loader, __u64 now)
{
	if (is_stopping())
		return true;
	if (loader->order->count)
		return loader->begun >= loader->share;
	return now - loader->start_ns >= loader->order->time_ns;
}

static void add_arms(struct loader *loader, __u64 now)
{
	__u64 room = loader->max - tally_open(&loader->tally);
	__u64 due = arms_due(loader, now);

	for (; room && loader->begun < due && !is_full(loader); room--)
		add_arm(loader, now);
}

/* --- what became of it --- */

static void take_arm(struct loader *loader, struct doom *doom)
{
	count(&loader->tally.armed, 1);
	if (doom->then != ARM && loader->dooms_end - loader->dooms_first < loader->dooms_size)
		loader->dooms[loader->dooms_end++ & (loader->dooms_size - 1)] = *doom;
}

/* No room now, or memory, or it was stopped, as the signal came in between */
static bool is_refusal(int result)
{
	return result == -ENOSPC || result == -EDQUOT || result == -ENOMEM ||
	       (result == -ESHUTDOWN && is_stopping());
}

/* Another one is armed in its place, later. */
static void take_refusal(struct loader *loader)
{
	count(&loader->tally.refused, 1);
	loader->begun--;
}

static int take_result(struct loader *loader, struct doom *doom, int result)
{
	if (doom->act == ARM && is_refusal(result))
		take_refusal(loader);
	else if (doom->act != ARM && result == -ENOENT)
		count(&loader->tally.too_late, 1);
	else if (result)
		return result;
	else if (doom->act == ARM)
		take_arm(loader, doom);
	else if (doom->act == CANCEL)
		count(&loader->tally.cancelled, 1);
	else
		count(&loader->tally.refreshed, 1);
	return 0;
}

static int submit(struct loader *loader)
{
	int done = hwheel_submit(loader->wheel, loader->batch);
	int error = 0;

	if (done < 0)
		return done;
	for (size_t i = 0; i < hwheel_batch_count(loader->batch) && !error; i++) {
		struct doom *doom = &loader->batch_dooms[i];
		int result = hwheel_batch_result(loader->batch, i);

		doom->id = hwheel_batch_id(loader->batch, i);
		error = take_result(loader, doom, result);
	}
	return error;
}

static void take_event(struct loader *loader, const struct hwheel_event *event)
{
	__u64 late = event->fired_ns - event->deadline_ns;

	if (event->type == HWHEEL_EVENT_STOPPED) {
		count(&loader->tally.stopped, 1);
		return;
	}
	count(&loader->tally.expired, 1);
	if (event->fired_ns < event->deadline_ns || event->deadline_ns < event->cookie) {
		count(&loader->tally.early, 1);
		return;
	}
	quantile_add(&loader->late, late);
	loader->bins[histogram_bin(late, loader->tick_ns)]++;
}

/* Returns 0 when all that wait were taken, else a negative errno */
static int take_events(struct loader *loader)
{
	struct hwheel_event events[READ];
	int n;

	do {
		n = hwheel_next_events(loader->wheel, events, READ);
		for (int i = 0; i < n; i++)
			take_event(loader, &events[i]);
	} while (n == READ);
	return n == -EAGAIN || n == -EINTR || n >= 0 ? 0 : n;
}

/* --- the whole of it --- */

/* How long there is nothing to do but to read events */
static __u64 idle_ns(const struct loader *loader, __u64 now)
{
	const struct order *order = loader->order;
	__u64 idle = LOOK_NS;
	double next, each_ns;

	if (loader->dooms_first != loader->dooms_end) {
		__u64 when =
			loader->dooms[loader->dooms_first & (loader->dooms_size - 1)].when_ns;

		idle = when <= now ? 0 : when - now < idle ? when - now : idle;
	}
	if (!is_done_arming(loader, now) && order->rate) {
		each_ns = (double)SEC * order->threads / order->rate;
		next = loader->start_ns + loader->begun * each_ns;
		idle = next <= now ? 0 : next - now < idle ? (__u64)(next - now) : idle;
	}
	return idle;
}

static void wait_for_work(struct loader *loader, __u64 ns)
{
	struct pollfd poll_fd = { .fd = hwheel_fd(loader->wheel), .events = POLLIN };
	struct timespec time = { .tv_sec = ns / SEC, .tv_nsec = ns % SEC };

	ppoll(&poll_fd, 1, &time, NULL);
}

/* One round: what is due is done, what waits is read. */
static int turn(struct loader *loader, __u64 now)
{
	__u64 refused = loader->tally.refused;
	int error;

	hwheel_batch_clear(loader->batch);
	add_dooms(loader, now);
	if (!is_done_arming(loader, now))
		add_arms(loader, now);
	error = submit(loader);
	if (!error)
		error = take_events(loader);
	/* The worker lets go of what was cancelled within a tick: then there is room. */
	if (refused != loader->tally.refused)
		wait_for_work(loader, loader->tick_ns < LOOK_NS ? loader->tick_ns : LOOK_NS);
	else if (!hwheel_batch_count(loader->batch))
		wait_for_work(loader, idle_ns(loader, now));
	return error;
}

/* All deadlines are less than twice the delay after the last arm, and a refresh. */
static int run(struct loader *loader)
{
	__u64 now = hwheel_now(loader->wheel);
	__u64 patience = 2 * loader->order->delay_ns + loader->tick_ns + PATIENCE_NS;
	int error = 0;

	loader->start_ns = now;
	while (!error && !is_stopping() && !is_done_arming(loader, now)) {
		error = turn(loader, now);
		now = hwheel_now(loader->wheel);
	}
	loader->arming_ns = now - loader->start_ns;
	patience += now;
	while (!error && !is_stopping() && tally_open(&loader->tally) && now < patience) {
		error = turn(loader, now);
		now = hwheel_now(loader->wheel);
	}
	return error;
}

/* Timeouts that were still pending are read as stopped. */
static int stop(struct loader *loader)
{
	int stopped;

	do {
		stopped = hwheel_stop(loader->wheel);
	} while (stopped == -EINTR);
	return stopped < 0 ? stopped : take_events(loader);
}

static void *thread(void *data)
{
	struct loader *loader = data;

	loader->error = run(loader);
	if (is_stopping() && !loader->error)
		loader->error = stop(loader);
	/* Pairs with is_over(). */
	__atomic_store_n(&loader->over, true, __ATOMIC_RELEASE);
	return NULL;
}

static __u64 share_of(const struct order *order, unsigned int number)
{
	return order->count / order->threads + (number < order->count % order->threads);
}

static int prepare(struct loader *loader)
{
	struct hwheel_info info;
	int error = hwheel_info(loader->wheel, &info);

	if (error)
		return error;
	loader->tick_ns = info.tick_ns;
	loader->max = info.max_timeouts;
	loader->dooms_size = 1;
	while (loader->dooms_size < loader->max)
		loader->dooms_size *= 2;
	loader->dooms = calloc(loader->dooms_size, sizeof(*loader->dooms));
	loader->batch_dooms = calloc(loader->order->batch, sizeof(*loader->batch_dooms));
	if (!loader->dooms || !loader->batch_dooms)
		return -ENOMEM;
	return hwheel_batch_new(&loader->batch, loader->order->batch);
}

/* Simple wheels, and processors without 64-bit exchanges, have no mapped timeouts. */
static int map(struct loader *loader)
{
	int error = hwheel_map(loader->wheel, loader->max < MAPPED ? loader->max : MAPPED);

	return error == -EOPNOTSUPP ? 0 : error;
}

int loader_open(struct loader *loader, const struct order *order, unsigned int number)
{
	int error;

	loader->order = order;
	loader->random = order->seed + number + 1;
	loader->share = share_of(order, number);
	error = hwheel_open(&loader->wheel, HWHEEL_NONBLOCK | HWHEEL_ANYWHERE);
	if (!error && order->config.kind != HWHEEL_KIND_DEFAULT)
		error = hwheel_configure(loader->wheel, &order->config);
	if (!error)
		error = prepare(loader);
	return error || order->calls ? error : map(loader);
}

int loader_start(struct loader *loader)
{
	int error = pthread_create(&loader->thread, NULL, thread, loader);

	loader->started = !error;
	return -error;
}

void loader_join(struct loader *loader)
{
	if (loader->started)
		pthread_join(loader->thread, NULL);
}

void loader_close(struct loader *loader)
{
	hwheel_batch_free(loader->batch);
	hwheel_close(loader->wheel);
	free(loader->dooms);
	free(loader->batch_dooms);
}
