// SPDX-License-Identifier: GPL-2.0-only
#include "commands.h"
#include "measure.h"

#define N	100000

static const struct facility *const facilities[] = {
	&hwheel, &library, &heap, &timerfd, &posix, NULL
};

/* io_uring searches a list for what it is to remove: it is at its best with few. */
static const unsigned int of_io_uring[] = { 1, BATCH, 1000, 16000, 0 };
static const unsigned int newest[] = { 1000, 4000, 16000, 0 };

void bench_operations(void)
{
	unsigned int i;

	for (i = 0; facilities[i]; i++)
		measure(facilities[i], facilities[i]->steps, N);
	for (i = 0; of_io_uring[i]; i++)
		measure(&io_uring, io_uring.steps, of_io_uring[i]);
	for (i = 0; newest[i]; i++) {
		measure(&hwheel, hwheel.newest_steps, newest[i]);
		measure(&io_uring, io_uring.newest_steps, newest[i]);
	}
	worker_cost_measure(N);
}
