// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/*
 * An io_uring loop that polls the handle's descriptor, beside those of files and sockets. (On a
 * handle that is neither mapped nor local it may also read the descriptor: then the completion
 * brings the events.) Here each event arms the next timeout of its chain, until all chains have had
 * their steps.
 *
 *   io_uring CHAINS STEPS MILLISECONDS
 */
#include <err.h>
#include <errno.h>
#include <liburing.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libhwheel.h"

#define EVENTS	64

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

/* One poll at a time: the kernel completes it when there are events. */
static void queue_poll(struct io_uring *ring)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

	io_uring_prep_poll_add(sqe, hwheel_fd(wheel), POLLIN);
	must(io_uring_submit(ring), "io_uring_submit");
}

/* Some that are left complete the next poll at once. */
static void take_events(void)
{
	struct hwheel_event events[EVENTS];
	int n = hwheel_next_events(wheel, events, EVENTS);

	if (n != -EAGAIN)
		must(n, "events");
	for (int i = 0; i < n; i++) {
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
		queue_poll(ring);
		do {
			ret = io_uring_wait_cqe(ring, &cqe);
		} while (ret == -EINTR);
		must(ret, "io_uring_wait_cqe");
		must(cqe->res, "poll");
		take_events();
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
	must(hwheel_open(&wheel, HWHEEL_NONBLOCK | HWHEEL_ANYWHERE), HWHEEL_DEVICE);
	must(io_uring_queue_init(8, &ring, 0), "io_uring_queue_init");
	for (open_chains = 0; open_chains < chains; open_chains++)
		step(length);
	loop(&ring);
	io_uring_queue_exit(&ring);
	printf("%lu chains, %lu steps\n", chains, steps);
	return hwheel_close(wheel) ? 1 : 0;
}
