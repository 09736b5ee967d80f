// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/*
 * An io_uring loop that reads the device: events come as completions, beside those of files
 * and sockets, and nobody calls read(). Here each event arms the next timeout of its
 * chain, until all chains have had their steps.
 *
 *   io_uring CHAINS STEPS MILLISECONDS
 */
#include <err.h>
#include <errno.h>
#include <liburing.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libhwheel.h"

#define EVENTS	64

static struct hwheel_event events[EVENTS];
static struct hwheel *wheel;
static uint64_t delay_ns;
static unsigned long open_chains, steps;

static void must(int result, const char *what)
{
	if (result < 0)
		errx(1, "%s: %s", what, strerror(-result));
}

/* The cookie: how many steps there are to go */
static void step(unsigned long left)
{
	uint64_t id;

	must(hwheel_arm(wheel, delay_ns, left, &id), "arm");
}

/* One read at a time: the kernel completes it when there are events. */
static void queue_read(struct io_uring *ring)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

	io_uring_prep_read(sqe, hwheel_fd(wheel), events, sizeof(events), 0);
	must(io_uring_submit(ring), "io_uring_submit");
}

static void take_events(int bytes)
{
	for (size_t i = 0; i < bytes / sizeof(events[0]); i++) {
		steps++;
		if (events[i].cookie > 1)
			step(events[i].cookie - 1);
		else
			open_chains--;
	}
}

static void loop(struct io_uring *ring)
{
	struct io_uring_cqe *cqe;
	int ret;

	while (open_chains) {
		queue_read(ring);
		do {
			ret = io_uring_wait_cqe(ring, &cqe);
		} while (ret == -EINTR);
		must(ret, "io_uring_wait_cqe");
		must(cqe->res, "read");
		take_events(cqe->res);
		io_uring_cqe_seen(ring, cqe);
	}
}

int main(int argc, char **argv)
{
	unsigned long chains, length;
	struct io_uring ring;

	if (argc != 4)
		errx(2, "usage: %s CHAINS STEPS MILLISECONDS", argv[0]);
	chains = strtoul(argv[1], NULL, 10);
	length = strtoul(argv[2], NULL, 10);
	delay_ns = strtoull(argv[3], NULL, 10) * 1000000;
	must(hwheel_open(&wheel, 0), HWHEEL_DEVICE);
	must(io_uring_queue_init(8, &ring, 0), "io_uring_queue_init");
	for (open_chains = 0; open_chains < chains; open_chains++)
		step(length);
	loop(&ring);
	io_uring_queue_exit(&ring);
	printf("%lu chains, %lu steps\n", chains, steps);
	return hwheel_close(wheel) ? 1 : 0;
}
