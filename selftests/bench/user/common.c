// SPDX-License-Identifier: GPL-2.0-only
/*
 * The shapes of the common server, for programs; see kernel/common.c. An event loop with turns of
 * 10 ms moves timeouts of 30 s, each every 5 s in random order. One timeout is armed and expires
 * beside many that are idle.
 *
 * A move's instructions are those of the calls, with what the loop does once in a turn. The module
 * hwheel_idle has the time for which the CPU was idle.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "peer.h"
#include "thread.h"

#define TICK		(10 * MSEC)
#define TURN		(10 * MSEC)
#define DELAY		(30 * SEC)
#define PERIOD		(5 * SEC)
#define ARMS		20000U
#define MOST		1000000U

#define LONE_TIMES	20
#define LONE_DELAY	(20 * TURN)

/**
 * struct entrant - a peer in a shape
 * @peer:   of it
 * @most:   timeouts at a time, where each takes much
 * @rounds: in which all are moved, of fewer than MOST; 0: one turn, where each takes very long
 */
static const struct entrant {
	const struct peer	*peer;
	unsigned int		most;
	unsigned int		rounds;
} entrants[] = {
	{ &shared_peer, MOST, 4 },
	{ &slots_peer, MOST, 4 },
	{ &levels_peer, MOST, 4 },
	{ &heap_peer, MOST, 2 },
	{ &wheel_peer, MOST, 2 },
	{ &local_peer, MOST, 2 },
	{ &libuv_peer, MOST, 2 },
	{ &libevent_peer, MOST, 2 },
	{ &libev_peer, MOST, 2 },
	{ &timerfd_peer, 100000, 1 },
	{ &io_uring_peer, 100000, 0 },
	{ }
};

static const struct peer *peer;
static unsigned int n;
static unsigned int *numbers;
static __u64 *deadlines;
static int worker;

static __u64 worker_ran(void)
{
	return worker ? thread_run_time(worker) : 0;
}

static void sleep_until(__u64 ns)
{
	struct timespec at = { .tv_sec = ns / SEC, .tv_nsec = ns % SEC };

	must(!clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL), "clock_nanosleep");
}

/* Between the edges of wheels */
static __u64 next_turn(void)
{
	return now_ns() / TURN * TURN + TURN * 3 / 2;
}

/* Arms those from @first on, at random within @from and @from + @spread from now. */
static void arm(unsigned int first, unsigned int nr, __u64 from, __u64 spread)
{
	unsigned int i, some;
	__u64 now = now_ns();

	for (i = first; i < first + nr; i++)
		deadlines[i] = now + from + (double)random() / RAND_MAX * spread;
	for (i = first; i < first + nr; i += some) {
		some = first + nr - i < ARMS ? first + nr - i : ARMS;
		peer->arm(i, some, deadlines);
	}
}

static void open_peer(const struct entrant *entrant, unsigned int room)
{
	unsigned int i;

	peer = entrant->peer;
	srandom(1);
	deadlines = zeros(room, sizeof(*deadlines));
	numbers = zeros(room, sizeof(*numbers));
	for (i = 0; i < room; i++)
		numbers[i] = i;
	peer->open(room, TICK);
	worker = !peer->has_worker ? 0 :
		 peer->shared ? thread_of_default() : thread_of_worker();
}

static void close_peer(void)
{
	peer->close();
	free(deadlines);
	free(numbers);
}

static void report_each(const char *name, const char *unit, unsigned int of, double sum,
			double nr)
{
	char metric[64];

	snprintf(metric, sizeof(metric), "common_programs.%s", name);
	report(metric, peer->name, of, unit, sum / nr);
}

static void shuffle(void)
{
	unsigned int i, other, number;

	for (i = 0; i < n; i++) {
		other = i + random() % (n - i);
		number = numbers[i];
		numbers[i] = numbers[other];
		numbers[other] = number;
	}
}

/* A turn: its part of all, from @next on */
static unsigned int next, a_turn;
static __u64 took;

static void move(void)
{
	__u64 start = __builtin_ia32_rdtsc();

	if (peer->turn)
		peer->turn();
	peer->move(&numbers[next], a_turn, now_ns() + DELAY);
	took += __builtin_ia32_rdtsc() - start;
}

/* Moves each of the first @nr in mixed order once. */
static void move_some(unsigned int nr)
{
	__u64 turn;

	shuffle();
	turn = next_turn();
	for (next = 0; next < nr; next += a_turn, turn += TURN) {
		sleep_until(turn);
		if (peer->inside)
			peer->inside(move);
		else
			move();
	}
}

/* Timeouts are in slots as if they had been moved for a long time: see kernel/common.c. */
static void measure_moves(const struct entrant *entrant)
{
	unsigned int rounds = n < MOST && entrant->rounds > 1 ? entrant->rounds : 1, round;
	unsigned int nr = entrant->rounds ? n : n / (PERIOD / TURN);
	__u64 before;

	open_peer(entrant, n);
	arm(0, n, 2 * SEC, DELAY - PERIOD / 2);
	sleep_ns(SEC / 5);
	a_turn = n / (PERIOD / TURN);
	for (next = 0; next < n && entrant->rounds; next += a_turn)
		peer->move(&numbers[next], a_turn, now_ns() + DELAY);
	move_some(nr);
	took = 0;
	before = worker_ran();
	for (round = 0; round < rounds; round++)
		move_some(nr);
	report_each("move", "instructions", n, took, (double)nr * rounds);
	if (worker)
		report_each("move_worker", "instructions", n, worker_ran() - before,
			    (double)nr * rounds);
	close_peer();
}

/* Instructions since the machine started that the CPU did not idle */
static __u64 busy(void)
{
	FILE *file = fopen("/sys/module/hwheel_idle/parameters/us", "r");
	__u64 idle_us;

	must(file && fscanf(file, "%llu", &idle_us) == 1, "hwheel_idle");
	fclose(file);
	return now_ns() - idle_us * 1000;
}

/*
 * Sleeps LONE_TIMES; with @arms, one more timeout expires in each sleep. Returns the median of the
 * machine's instructions, which leaves out the rare ones of other tasks.
 */
static __u64 pass(bool arms)
{
	__u64 turn = next_turn(), did[LONE_TIMES];
	unsigned int i;

	sleep_until(turn);
	for (i = 0; i < LONE_TIMES; i++) {
		did[i] = -busy();
		if (arms) {
			arm(n, 1, LONE_DELAY, 0);
			peer->block();
		}
		turn += 2 * LONE_DELAY;
		sleep_until(turn);
		did[i] += busy();
	}
	return median_of(did, LONE_TIMES);
}

static void measure_lone(const struct entrant *entrant)
{
	__u64 without, with, ran, sleeps;

	open_peer(entrant, n + 1);
	arm(0, n, DELAY, PERIOD);
	sleep_ns(SEC);
	without = pass(false);
	ran = worker_ran();
	sleeps = worker ? thread_sleeps(worker) : 0;
	with = pass(true);
	report_each("lone", "instructions", n, (double)with - without, 1);
	if (worker) {
		report_each("lone_worker", "instructions", n, worker_ran() - ran, LONE_TIMES);
		report_each("lone_wakeups", "times", n, thread_sleeps(worker) - sleeps, LONE_TIMES);
	}
	close_peer();
}

void bench_common_moves(void)
{
	const struct entrant *entrant;

	for (n = 100000; n <= MOST; n *= 10)
		for (entrant = entrants; entrant->peer; entrant++)
			if (n <= entrant->most)
				measure_moves(entrant);
}

void bench_common_lone(void)
{
	static const unsigned int idle[] = { 0, 100000, MOST };
	const struct entrant *entrant;
	unsigned int i;

	for (i = 0; i < sizeof(idle) / sizeof(*idle); i++)
		for (n = idle[i], entrant = entrants; entrant->peer; entrant++)
			if (n <= entrant->most && entrant->peer->block)
				measure_lone(entrant);
}
