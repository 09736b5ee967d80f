// SPDX-License-Identifier: GPL-2.0-only
/*
 * Timeouts of io_uring, in batches of one system call each. Their completions are reaped:
 * one for each that is removed, and one that tells so.
 */
#include <err.h>
#include <liburing.h>

#include "facility.h"
#include "peer.h"

static struct io_uring ring;
static struct __kernel_timespec times[BATCH];

/* No task is interrupted for completions, which come with the next system call. */
static void io_uring_open(unsigned int room)
{
	struct io_uring_params params = {
		.flags = IORING_SETUP_CQSIZE | IORING_SETUP_COOP_TASKRUN |
			 IORING_SETUP_SINGLE_ISSUER,
		.cq_entries = 4 * BATCH,
	};
	int ret = io_uring_queue_init_params(BATCH, &ring, &params);

	(void)room;
	if (ret)
		errx(1, "io_uring_queue_init_params: %d", ret);
}

static void io_uring_close(void)
{
	io_uring_queue_exit(&ring);
}

/* The number of a timeout is its user_data; other requests have none. */
static struct io_uring_sqe *next_sqe(void)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);

	if (!sqe)
		errx(1, "the submission queue is full");
	return sqe;
}

static struct __kernel_timespec *delay_of(unsigned int i, __u64 ns)
{
	times[i] = (struct __kernel_timespec){ .tv_sec = ns / SEC, .tv_nsec = ns % SEC };
	return &times[i];
}

static void submit(unsigned int nr)
{
	int ret = io_uring_submit(&ring);

	if (ret != (int)nr)
		errx(1, "io_uring_submit: %d", ret);
}

/* @nr that did what they should, and as many that were cancelled by that, or none */
static void reap(unsigned int nr, unsigned int nr_cancelled)
{
	unsigned int head, done = 0, cancelled = 0;
	struct io_uring_cqe *cqe;
	int ret;

	ret = io_uring_wait_cqe_nr(&ring, &cqe, nr + nr_cancelled);
	if (ret)
		errx(1, "io_uring_wait_cqe_nr: %d", ret);
	io_uring_for_each_cqe(&ring, head, cqe) {
		if (!cqe->res)
			done++;
		else if (cqe->res == -ECANCELED)
			cancelled++;
		else
			errx(1, "a request of io_uring: %d", cqe->res);
	}
	io_uring_cq_advance(&ring, done + cancelled);
	if (done != nr || cancelled != nr_cancelled)
		errx(1, "%u requests done, %u cancelled, not all", done, cancelled);
}

static void add(const unsigned int *which, unsigned int nr)
{
	struct io_uring_sqe *sqe;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		sqe = next_sqe();
		io_uring_prep_timeout(sqe, delay_of(i, delays[which[i]]), 0, 0);
		io_uring_sqe_set_data64(sqe, which[i] + 1);
	}
	submit(nr);
}

static void update(const unsigned int *which, unsigned int nr)
{
	struct io_uring_sqe *sqe;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		sqe = next_sqe();
		io_uring_prep_timeout_update(sqe, delay_of(i, 2 * delays[which[i]]),
					     which[i] + 1, 0);
		io_uring_sqe_set_data64(sqe, 0);
	}
	submit(nr);
	reap(nr, 0);
}

static void remove_some(const unsigned int *which, unsigned int nr)
{
	struct io_uring_sqe *sqe;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		sqe = next_sqe();
		io_uring_prep_timeout_remove(sqe, which[i] + 1, 0);
		io_uring_sqe_set_data64(sqe, 0);
	}
	submit(nr);
	reap(nr, nr);
}

static void live(const unsigned int *which, unsigned int nr)
{
	add(which, nr);
	remove_some(which, nr);
}

static const struct step steps[] = {
	{ "user.refresh", ANY, update },
	{ "user.cancel", ANY, remove_some },
	{ "user.arm", SAME, add },
	{ "user.life_arm_cancel", MORE, live },
	{ }
};

static const struct step newest_steps[] = {
	{ "user.cancel_newest_first", NEWEST, remove_some },
	{ NULL, NEWEST_AGAIN, add },
	{ }
};

const struct facility io_uring = {
	.name		= "io_uring",
	.open		= io_uring_open,
	.arm		= add,
	.close		= io_uring_close,
	.steps		= steps,
	.newest_steps	= newest_steps,
};

/* As a peer */

static void open_peer(unsigned int room, __u64 tick_ns)
{
	(void)tick_ns;
	io_uring_open(room);
}

static void arm_at(unsigned int first, unsigned int nr, const __u64 *deadlines)
{
	unsigned int i, end = first + nr, stop;

	for (i = first; i < end; submit(stop - first), first = stop)
		for (stop = i + batch_of(end - i); i < stop; i++) {
			struct io_uring_sqe *sqe = next_sqe();

			io_uring_prep_timeout(sqe, delay_of(i - first, deadlines[i]), 0,
					      IORING_TIMEOUT_ABS);
			io_uring_sqe_set_data64(sqe, i + 1);
		}
}

static void move(const unsigned int *which, unsigned int nr, __u64 deadline)
{
	unsigned int i, done;

	for (done = 0; done < nr; done += i) {
		for (i = 0; i < batch_of(nr - done); i++) {
			struct io_uring_sqe *sqe = next_sqe();

			io_uring_prep_timeout_update(sqe, delay_of(i, deadline),
						     which[done + i] + 1, IORING_TIMEOUT_ABS);
			io_uring_sqe_set_data64(sqe, 0);
		}
		submit(i);
		reap(i, 0);
	}
}

static void block(void)
{
	struct io_uring_cqe *cqe;

	must(!io_uring_wait_cqe(&ring, &cqe) && cqe->res == -ETIME, "io_uring_wait_cqe");
	io_uring_cqe_seen(&ring, cqe);
}

const struct peer io_uring_peer = {
	.name	= "io_uring",
	.open	= open_peer,
	.arm	= arm_at,
	.move	= move,
	.block	= block,
	.close	= io_uring_close,
};
