// SPDX-License-Identifier: GPL-2.0-only
/*
 * The cost of a timeout to a program from its arming to its end, with the worker's part: mapped
 * timeouts, and those that a program keeps itself or has in its event loop.
 *
 * N timeouts are pending all the time, and others live meanwhile, each part of their lives within
 * a tick. The median of several rounds counts, with the measuring loops. Of whole lives the
 * worker's part is added; single operations are the program's part alone.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>

#include "commands.h"
#include "peer.h"
#include "thread.h"

#define TICK		(10 * MSEC)
#define MORE_AT_ONCE	20000U
#define WORKING_SET	1000U
#define SET_ROUNDS	20U
#define ROUNDS		5
#define ITEMS		12

/* Until the worker has done all, and sleeps until something comes */
#define QUIET_NS	(20 * TICK)

/* How far away deadlines are that come in a step */
#define SOON_NS		(10 * TICK)

static const struct peer *peer;
static unsigned int n;
static __u64 *far, *farther, *farthest, *soon;

/* By the time: without the worker's part, as a user-mode kernel's account of it is coarse */
static bool timed;

static void pass(__u64 ns)
{
	if (peer->pass)
		peer->pass(ns);
	else
		sleep_ns(ns);
}

static void arm(void)
{
	peer->arm(n, MORE_AT_ONCE, far);
}

static void refresh(void)
{
	peer->refresh(n, MORE_AT_ONCE, farther);
}

/* What is pending is moved. */
static void set_later(void)
{
	if (peer->set)
		peer->set(n, MORE_AT_ONCE, farthest);
}

/* What was cancelled is armed. */
static void set_again(void)
{
	if (peer->set)
		peer->set(n, MORE_AT_ONCE, far);
	else
		arm();
}

static void cancel(void)
{
	peer->cancel(n, MORE_AT_ONCE);
}

static void arm_and_cancel(void)
{
	arm();
	cancel();
}

static void live_again_and_again(void)
{
	unsigned int round;

	for (round = 0; round < SET_ROUNDS; round++) {
		peer->arm(n, WORKING_SET, far);
		peer->cancel(n, WORKING_SET);
	}
}

static void draw_soon(void)
{
	__u64 at = now_ns() + SOON_NS;
	unsigned int i;

	for (i = 0; i < MORE_AT_ONCE; i++)
		soon[n + i] = at + i;
}

static void arm_expire_and_take(void)
{
	unsigned int nr;

	peer->arm(n, MORE_AT_ONCE, soon);
	pass(QUIET_NS);
	nr = peer->take();
	if (nr != MORE_AT_ONCE)
		errx(1, "%s: %u expired", peer->name, nr);
}

/**
 * struct item - what is measured, in turn: after all of them it is as before
 * @name:    of the result, or NULL
 * @nr:      how many timeouts it is about
 * @prepare: done before, or NULL
 * @run:     what the program does
 * @worker:  the worker's part is added
 */
static const struct item {
	const char	*name;
	unsigned int	nr;
	void		(*prepare)(void);
	void		(*run)(void);
	bool		worker;
} items[ITEMS] = {
	{ "arm", MORE_AT_ONCE, NULL, arm, false },
	{ "refresh", MORE_AT_ONCE, NULL, refresh, false },
	{ "set_moves", MORE_AT_ONCE, NULL, set_later, false },
	{ "cancel_filed", MORE_AT_ONCE, NULL, cancel, false },
	{ "set_arms", MORE_AT_ONCE, NULL, set_again, false },
	{ NULL, MORE_AT_ONCE, NULL, cancel, false },
	{ "cancel_queued", MORE_AT_ONCE, arm, cancel, false },
	{ "arm_queued", MORE_AT_ONCE, arm_and_cancel, arm, false },
	{ NULL, MORE_AT_ONCE, NULL, cancel, false },
	{ "arm_cancel", MORE_AT_ONCE, NULL, arm_and_cancel, true },
	{ "working_set", WORKING_SET * SET_ROUNDS, NULL, live_again_and_again, true },
	{ "arm_expire_take", MORE_AT_ONCE, draw_soon, arm_expire_and_take, true },
};

static __u64 run_time(void)
{
	return timed ? now_ns() : own_run_time();
}

/* @worker: the thread, or 0; @part: its part */
static __u64 run_item(const struct item *item, int worker, __u64 *part)
{
	__u64 own, others;

	if (peer->wait)
		peer->wait();
	if (item->prepare)
		item->prepare();
	others = worker ? thread_run_time(worker) : 0;
	own = run_time();
	item->run();
	own = run_time() - own;
	pass(QUIET_NS);
	*part = worker ? thread_run_time(worker) - others : 0;
	return item->worker ? own + *part : own;
}

/* Whole lives are the last items. */
static bool is_left_out(const struct item *item)
{
	return timed && item->worker;
}

static bool is_set(const struct item *item)
{
	return item->run == set_later || item->run == set_again;
}

static void report_median(const struct item *item, __u64 *times, const char *prefix,
			  const char *impl)
{
	char metric[64];

	snprintf(metric, sizeof(metric), "%s%s", prefix, item->name);
	report(metric, impl, n, timed ? "ns" : "instructions",
	       (double)median_of(times, ROUNDS) / item->nr);
}

static void measure_peer(void)
{
	static __u64 times[ITEMS][ROUNDS], parts[ITEMS][ROUNDS];
	unsigned int round, i;
	int worker;

	peer->open(n + MORE_AT_ONCE, TICK);
	worker = peer->has_worker ? thread_of_worker() : 0;
	for (i = 0; i < n; i += MORE_AT_ONCE)
		peer->arm(i, n - i < MORE_AT_ONCE ? n - i : MORE_AT_ONCE, far);
	pass(QUIET_NS);
	for (round = 0; round < ROUNDS; round++)
		for (i = 0; i < ITEMS && !is_left_out(&items[i]); i++)
			times[i][round] = run_item(&items[i], worker, &parts[i][round]);
	peer->close();
	for (i = 0; i < ITEMS && !is_left_out(&items[i]); i++) {
		if (!items[i].name || (is_set(&items[i]) && !peer->set))
			continue;
		report_median(&items[i], times[i], timed ? "ns.program_" : "program.", peer->name);
		if (worker && !timed)
			report_median(&items[i], parts[i], "program.", "worker");
	}
}

/* At random, and the same ones for each peer */
static void draw_deadlines(void)
{
	__u64 now = now_ns();
	unsigned int i, room = n + MORE_AT_ONCE;

	srandom(1);
	far = zeros(room, sizeof(*far));
	farther = zeros(room, sizeof(*farther));
	farthest = zeros(room, sizeof(*farthest));
	soon = zeros(room, sizeof(*soon));
	for (i = 0; i < room; i++) {
		far[i] = now + FAR + random() * (FAR / RAND_MAX);
		farther[i] = far[i] + random() * (FAR / 10 / RAND_MAX);
		farthest[i] = farther[i] + random() * (FAR / 10 / RAND_MAX);
	}
}

static void measure_all(unsigned int nr)
{
	static const struct peer *const peers[] = {
		&library_peer, &process_peer, &local_peer, &heap_peer, &wheel_peer, &libev_peer,
		&libevent_peer, &libuv_peer, NULL,
	};
	unsigned int i;

	n = nr;
	draw_deadlines();
	for (i = 0; peers[i]; i++) {
		peer = peers[i];
		measure_peer();
	}
	free(far);
	free(farther);
	free(farthest);
	free(soon);
}

void bench_lives(void)
{
	measure_all(1000);
	measure_all(100000);
	measure_all(1000000);
}

void bench_lives_timed(void)
{
	timed = true;
	measure_all(100000);
}
