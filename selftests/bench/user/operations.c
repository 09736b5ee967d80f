// SPDX-License-Identifier: GPL-2.0-only
#include "measure.h"
#include "operations.h"
#include "worker_cost.h"

#define MOST	1000000

/*
 * POSIX timers are found in 512 lists, and a timerfd is a file: nobody has a million of
 * them.
 */
static const struct {
	const struct facility	*facility;
	unsigned int		most;
} facilities[] = {
	{ &hwheel, MOST },
	{ &library, MOST },
	{ &heap, MOST },
	{ &timerfd, MOST / 10 },
	{ &posix, MOST / 10 },
	{ }
};

/* io_uring searches a list for what it is to remove: it is at its best with few. */
static const unsigned int of_io_uring[] = { 1, BATCH, 1000, 16000, 0 };
static const unsigned int newest[] = { 1000, 4000, 16000, 0 };

void bench_operations(void)
{
	unsigned int i, n;

	measure_check();
	for (i = 0; facilities[i].facility; i++)
		for (n = 1000; n <= facilities[i].most; n *= 10)
			measure(facilities[i].facility, facilities[i].facility->steps, n);
	for (i = 0; of_io_uring[i]; i++)
		measure(&io_uring, io_uring.steps, of_io_uring[i]);
	for (i = 0; newest[i]; i++) {
		measure(&hwheel, hwheel.newest_steps, newest[i]);
		measure(&io_uring, io_uring.newest_steps, newest[i]);
	}
	for (n = 1000; n <= MOST; n *= 10)
		worker_cost_measure(n);
}
