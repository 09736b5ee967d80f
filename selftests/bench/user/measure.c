// SPDX-License-Identifier: GPL-2.0-only
/*
 * How many instructions something takes, of the program's own and of the kernel's on its
 * behalf.
 *
 * For a virtual machine whose time stamp counter counts instructions. N timeouts are
 * pending all the time, but for a batch of them that is cancelled and armed again, and one
 * that comes on top. Interrupts can't be kept off: the least of several rounds counts. The
 * measuring loops are in it.
 */
#include <err.h>
#include <stdlib.h>

#include "commands.h"
#include "measure.h"

#define ROUNDS	5
#define MAX_STEPS 16

/* What others do later for what we did is done by then: so that it is not in our way. */
#define SETTLE_NS	(300 * MSEC)

__u64 *delays;

/* Of those that are pending in mixed order; behind them, those that are not */
static unsigned int *numbers;

static __u64 time_ten_nops(unsigned int times)
{
	__u64 start = __builtin_ia32_rdtsc();

	while (times--)
		asm volatile(".rept 10; nop; .endr");
	return __builtin_ia32_rdtsc() - start;
}

static __u64 time_no_nops(unsigned int times)
{
	__u64 start = __builtin_ia32_rdtsc();

	while (times--)
		asm volatile("");
	return __builtin_ia32_rdtsc() - start;
}

static __u64 least_of(__u64 (*time)(unsigned int times), unsigned int times)
{
	__u64 least = -1, once;
	unsigned int round;

	for (round = 0; round < ROUNDS; round++) {
		once = time(times);
		least = once < least ? once : least;
	}
	return least;
}

/* Runs before the other commands where instructions are counted. */
void bench_check(void)
{
	const unsigned int times = 1000;
	__u64 nops = least_of(time_ten_nops, times) - least_of(time_no_nops, times);

	nops = (nops + times / 2) / times;
	if (nops != 10)
		errx(1, "ten nops took %llu: instructions are not counted", nops);
}

/* The same ones each time: what libc draws begins anew. */
static void draw_delays(unsigned int room)
{
	unsigned int i;

	srandom(1);
	free(delays);
	delays = zeros(room, sizeof(*delays));
	for (i = 0; i < room; i++)
		delays[i] = FAR + random() * (FAR / RAND_MAX);
}

void measure_open(const struct facility *facility, unsigned int n)
{
	unsigned int i;

	draw_delays(n + BATCH);
	free(numbers);
	numbers = zeros(n + BATCH, sizeof(*numbers));
	for (i = 0; i < n + BATCH; i++)
		numbers[i] = i;
	facility->open(n + BATCH);
}

void measure_fill(const struct facility *facility, unsigned int n)
{
	unsigned int i, nr;

	if (facility->begin)
		facility->begin();
	for (i = 0; i < n; i += nr) {
		nr = batch_of(n - i);
		facility->arm(&numbers[i], nr);
	}
}

/* Shuffles so many to the front. */
static void draw_batch(unsigned int n)
{
	unsigned int i, other, number;

	for (i = 0; i < BATCH; i++) {
		other = i + random() % (n - i);
		number = numbers[i];
		numbers[i] = numbers[other];
		numbers[other] = number;
	}
}

static const unsigned int *newest(unsigned int n, bool last_first)
{
	static unsigned int which[BATCH];
	unsigned int i;

	for (i = 0; i < BATCH; i++)
		which[i] = last_first ? n - 1 - i : n - BATCH + i;
	return which;
}

const unsigned int *measure_which(enum which which, unsigned int n)
{
	switch (which) {
	case NEWEST:
	case NEWEST_AGAIN:
		return newest(n, which == NEWEST);
	case MORE:
		return &numbers[n];
	case ANY:
		draw_batch(n);
		break;
	case SAME:
		break;
	}
	return numbers;
}

static __u64 time_step(const struct facility *facility, const struct step *step,
		       unsigned int n)
{
	const unsigned int *which = measure_which(step->which, n);
	__u64 start;

	sleep_ns(SETTLE_NS);
	if (facility->settle)
		facility->settle();
	start = __builtin_ia32_rdtsc();
	step->run(which, BATCH);
	return __builtin_ia32_rdtsc() - start;
}

void report_each(const char *metric, const char *impl, unsigned int n, __u64 instructions)
{
	report(metric, impl, n, "instructions", (double)instructions / BATCH);
}

/* At random, or again, goes only if there are enough. */
static bool can_run(const struct step *step, unsigned int n)
{
	return n >= BATCH || step->which == MORE;
}

static void run_rounds(const struct facility *facility, const struct step *steps,
		       unsigned int n, __u64 *least)
{
	unsigned int round, i;

	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; steps[i].run; i++) {
			__u64 once;

			if (!can_run(&steps[i], n))
				continue;
			once = time_step(facility, &steps[i], n);
			least[i] = round && least[i] < once ? least[i] : once;
		}
	}
}

void measure(const struct facility *facility, const struct step *steps, unsigned int n)
{
	__u64 least[MAX_STEPS];
	unsigned int i;

	measure_open(facility, n);
	measure_fill(facility, n);
	run_rounds(facility, steps, n, least);
	facility->close();
	for (i = 0; steps[i].run; i++)
		if (steps[i].metric && can_run(&steps[i], n))
			report_each(steps[i].metric, facility->name, n, least[i]);
}
