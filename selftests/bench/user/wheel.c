// SPDX-License-Identifier: GPL-2.0-only
/*
 * The plainest hashed wheel inside a program, of one thread: each slot is a list, a timeout is in
 * the slot of the first edge after its deadline, and a timerfd tells of each edge. The program
 * wakes up at each, and looks at its slot. Timeouts of later rounds stay in their slot.
 */
#include <stdlib.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "peer.h"

#define SLOTS	512
#define TICK	(10 * MSEC)	/* constant, so that the compiler need not divide */

struct node {
	struct node	*next;
	struct node	**link;
	__u64		edge;
};

static struct node *slots[SLOTS];
static struct node *nodes;
static __u64 reached;	/* the edge up to which all slots were looked at */
static unsigned int expired;	/* since the last take() */
static int fd;

static void add(unsigned int number, __u64 deadline)
{
	struct node *node = &nodes[number], **slot;

	node->edge = (deadline + TICK - 1) / TICK;
	if (node->edge <= reached)
		node->edge = reached + 1;
	slot = &slots[node->edge % SLOTS];
	node->next = *slot;
	node->link = slot;
	if (node->next)
		node->next->link = &node->next;
	*slot = node;
}

static void del(unsigned int number)
{
	struct node *node = &nodes[number];

	*node->link = node->next;
	if (node->next)
		node->next->link = node->link;
}

static unsigned int look_at(struct node *node, __u64 edge)
{
	struct node *next;
	unsigned int nr = 0;

	for (; node; node = next) {
		next = node->next;
		if (node->edge > edge)
			continue;
		del(node - nodes);
		nr++;
	}
	return nr;
}

/* Waits for the next edge if there was none since. */
static void advance(void)
{
	__u64 expirations, now;

	must(read(fd, &expirations, sizeof(expirations)) > 0, "read");
	for (now = now_ns() / TICK; reached < now;) {
		reached++;
		expired += look_at(slots[reached % SLOTS], reached);
	}
}

static void pass(__u64 ns)
{
	__u64 end = now_ns() + ns;

	do
		advance();
	while (now_ns() < end);
}

static unsigned int take(void)
{
	unsigned int nr = expired;

	expired = 0;
	return nr;
}

static void arm(unsigned int first, unsigned int nr, const __u64 *deadlines)
{
	unsigned int i;

	for (i = first; i < first + nr; i++)
		add(i, deadlines[i]);
}

static void cancel(unsigned int first, unsigned int nr)
{
	unsigned int i;

	for (i = first; i < first + nr; i++)
		del(i);
}

static void refresh(unsigned int first, unsigned int nr, const __u64 *deadlines)
{
	unsigned int i;

	for (i = first; i < first + nr; i++) {
		del(i);
		add(i, deadlines[i]);
	}
}

static void turn(void)
{
	if (now_ns() / TICK > reached)
		advance();
}

static void move(const unsigned int *which, unsigned int nr, __u64 deadline)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		del(which[i]);
		add(which[i], deadline);
	}
}

static void wheel_open(unsigned int room, __u64 tick_ns)
{
	struct itimerspec each;

	must(tick_ns == TICK, "tick");
	nodes = zeros(room, sizeof(*nodes));
	expired = 0;
	reached = now_ns() / TICK;
	each = itimerspec_of((reached + 1) * TICK);
	each.it_interval = itimerspec_of(TICK).it_value;
	fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	must(fd >= 0, "timerfd_create");
	must(!timerfd_settime(fd, TFD_TIMER_ABSTIME, &each, NULL), "timerfd_settime");
}

static void wheel_close(void)
{
	unsigned int i;

	must(!close(fd), "close");
	free(nodes);
	for (i = 0; i < SLOTS; i++)
		slots[i] = NULL;
}

const struct peer wheel_peer = {
	.name		= "wheel",
	.open		= wheel_open,
	.arm		= arm,
	.refresh	= refresh,
	.cancel		= cancel,
	.take		= take,
	.pass		= pass,
	.move		= move,
	.turn		= turn,
	.close		= wheel_close,
};
