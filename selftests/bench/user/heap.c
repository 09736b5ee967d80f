// SPDX-License-Identifier: GPL-2.0-only
/*
 * What programs do without help from the kernel: a binary heap of deadlines behind one
 * timerfd, which is set when the earliest deadline has changed.
 *
 * Each timeout knows its place in the heap. Clock and timerfd are seen to once in a batch,
 * as event loops do once in a turn.
 */
#include <stdlib.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "heap.h"
#include "peer.h"

struct node {
	__u64	deadline;
	unsigned int	number;
};

static struct node *nodes;
static unsigned int *places;
static unsigned int nr_nodes;
static __u64 set_for;
static int fd;

static void put(unsigned int place, struct node node)
{
	nodes[place] = node;
	places[node.number] = place;
}

static void sift_up(unsigned int place, struct node node)
{
	while (place) {
		unsigned int parent = (place - 1) / 2;

		if (nodes[parent].deadline <= node.deadline)
			break;
		put(place, nodes[parent]);
		place = parent;
	}
	put(place, node);
}

static void sift_down(unsigned int place, struct node node)
{
	unsigned int child;

	while ((child = 2 * place + 1) < nr_nodes) {
		if (child + 1 < nr_nodes && nodes[child + 1].deadline < nodes[child].deadline)
			child++;
		if (node.deadline <= nodes[child].deadline)
			break;
		put(place, nodes[child]);
		place = child;
	}
	put(place, node);
}

static void replace(unsigned int place, struct node node)
{
	if (place && node.deadline < nodes[(place - 1) / 2].deadline)
		sift_up(place, node);
	else
		sift_down(place, node);
}

void heap_push(unsigned int number, __u64 deadline)
{
	sift_up(nr_nodes++, (struct node){ deadline, number });
}

static void rekey(unsigned int number, __u64 deadline)
{
	replace(places[number], (struct node){ deadline, number });
}

void heap_delete(unsigned int number)
{
	unsigned int place = places[number];

	if (place != --nr_nodes)
		replace(place, nodes[nr_nodes]);
}

/* Takes out the earliest if it is due. */
bool heap_pop(__u64 now, unsigned int *number)
{
	if (!nr_nodes || nodes[0].deadline > now)
		return false;
	*number = nodes[0].number;
	heap_delete(*number);
	return true;
}

/* Absolute, so that no other clock need be read; 0 disarms. */
void heap_set_timer(void)
{
	__u64 earliest = nr_nodes ? nodes[0].deadline : 0;
	struct itimerspec at = itimerspec_of(earliest);

	if (earliest == set_for)
		return;
	must(!timerfd_settime(fd, TFD_TIMER_ABSTIME, &at, NULL), "timerfd_settime");
	set_for = earliest;
}

void heap_open(unsigned int room)
{
	nodes = zeros(room, sizeof(*nodes));
	places = zeros(room, sizeof(*places));
	nr_nodes = 0;
	set_for = 0;
	fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	must(fd >= 0, "timerfd_create");
}

int heap_fd(void)
{
	return fd;
}

void heap_close(void)
{
	must(!close(fd), "close");
	free(nodes);
	free(places);
}

static void arm(const unsigned int *which, unsigned int nr)
{
	__u64 now = now_ns();
	unsigned int i;

	for (i = 0; i < nr; i++)
		heap_push(which[i], now + delays[which[i]]);
	heap_set_timer();
}

static void refresh(const unsigned int *which, unsigned int nr)
{
	__u64 now = now_ns();
	unsigned int i;

	for (i = 0; i < nr; i++)
		rekey(which[i], now + 2 * delays[which[i]]);
	heap_set_timer();
}

static void cancel(const unsigned int *which, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		heap_delete(which[i]);
	heap_set_timer();
}

static void live(const unsigned int *which, unsigned int nr)
{
	arm(which, nr);
	cancel(which, nr);
}

static const struct step steps[] = {
	{ "user.refresh", ANY, refresh },
	{ "user.cancel", ANY, cancel },
	{ "user.arm", SAME, arm },
	{ "user.life_arm_cancel", MORE, live },
	{ }
};

const struct facility heap = {
	.name	= "heap",
	.open	= heap_open,
	.arm	= arm,
	.close	= heap_close,
	.steps	= steps,
};

/* As a peer. An event loop sees to its timer once in a turn. */

static void open_peer(unsigned int room, __u64 tick_ns)
{
	(void)tick_ns;
	heap_open(room);
}

static void arm_turns(unsigned int first, unsigned int nr, const __u64 *deadlines)
{
	unsigned int i, end = first + nr, stop;

	for (i = first; i < end; heap_set_timer())
		for (stop = i + batch_of(end - i); i < stop; i++)
			heap_push(i, deadlines[i]);
}

static void refresh_turns(unsigned int first, unsigned int nr, const __u64 *deadlines)
{
	unsigned int i, end = first + nr, stop;

	for (i = first; i < end; heap_set_timer())
		for (stop = i + batch_of(end - i); i < stop; i++)
			rekey(i, deadlines[i]);
}

static void cancel_turns(unsigned int first, unsigned int nr)
{
	unsigned int i, end = first + nr, stop;

	for (i = first; i < end; heap_set_timer())
		for (stop = i + batch_of(end - i); i < stop; i++)
			heap_delete(i);
}

static unsigned int take(void)
{
	unsigned int number, nr = 0;
	__u64 expirations, now;

	must(read(fd, &expirations, sizeof(expirations)) > 0, "read");
	for (now = now_ns(); heap_pop(now, &number); nr++)
		;
	heap_set_timer();
	return nr;
}

static void move(const unsigned int *which, unsigned int nr, __u64 deadline)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		rekey(which[i], deadline);
	heap_set_timer();
}

static void block(void)
{
	must(take() == 1, "take");
}

const struct peer heap_peer = {
	.name		= "heap",
	.open		= open_peer,
	.arm		= arm_turns,
	.refresh	= refresh_turns,
	.cancel		= cancel_turns,
	.take		= take,
	.move		= move,
	.block		= block,
	.close		= heap_close,
};
