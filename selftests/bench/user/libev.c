// SPDX-License-Identifier: GPL-2.0-only
/* Timers of the event loop libev, whose header has macros of the same names as libevent's */
#include <stdlib.h>
#include <ev.h>

#include "peer.h"

static struct ev_loop *loop;
static ev_timer *timers;
static unsigned int expired;

static void on_timer(struct ev_loop *of, ev_timer *timer, int what)
{
	(void)what;
	ev_timer_stop(of, timer);
	expired++;
}

static void open_peer(unsigned int room, __u64 tick_ns)
{
	unsigned int i;

	(void)tick_ns;
	loop = ev_loop_new(EVFLAG_AUTO);
	must(loop, "ev_loop_new");
	timers = zeros(room, sizeof(*timers));
	for (i = 0; i < room; i++)
		ev_init(&timers[i], on_timer);
}

static void again(unsigned int i, double delay)
{
	timers[i].repeat = delay;
	ev_timer_again(loop, &timers[i]);
}

static void arm(unsigned int first, unsigned int nr, const __u64 *deadlines)
{
	__u64 now = now_ns();
	unsigned int i;

	ev_now_update(loop);
	for (i = first; i < first + nr; i++)
		again(i, (double)(deadlines[i] - now) / SEC);
}

static void move(const unsigned int *which, unsigned int nr, __u64 deadline)
{
	double delay = (double)(deadline - now_ns()) / SEC;
	unsigned int i;

	ev_now_update(loop);
	for (i = 0; i < nr; i++)
		again(which[i], delay);
}

static void cancel(unsigned int first, unsigned int nr)
{
	unsigned int i;

	for (i = first; i < first + nr; i++)
		ev_timer_stop(loop, &timers[i]);
}

static unsigned int take(void)
{
	expired = 0;
	ev_run(loop, EVRUN_NOWAIT);
	return expired;
}

static void block(void)
{
	for (expired = 0; !expired;)
		ev_run(loop, EVRUN_ONCE);
}

static void close_peer(void)
{
	ev_loop_destroy(loop);
	free(timers);
}

const struct peer libev_peer = {
	.name		= "libev",
	.open		= open_peer,
	.arm		= arm,
	.refresh	= arm,
	.cancel		= cancel,
	.take		= take,
	.move		= move,
	.block		= block,
	.close		= close_peer,
};
