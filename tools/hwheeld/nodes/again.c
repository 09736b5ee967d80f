// SPDX-License-Identifier: GPL-2.0-only
#include "clock/alarm.h"
#include "clock/now.h"
#include "http/answer.h"
#include "nodes/again.h"
#include "nodes/nodes.h"

/* Each pause is twice the one before, up to the longest, until nobody has asked for that long. */
#define AGAIN_PAUSE_NS		(20 * NS_PER_MS)
#define AGAIN_LONGEST_NS	(640 * NS_PER_MS)

static struct {
	struct request *waiting;
	struct alarm *pause;
	uint64_t pause_ns;
	uint64_t ended_ns;		/* when the last pause did */
} again;

static void again_give_up(struct request *request, enum request_end why)
{
	if (why != REQUEST_LATE && why != REQUEST_ENDING)
		return;
	DL_DELETE(again.waiting, request);
	answer_error(request, MHD_HTTP_SERVICE_UNAVAILABLE,
		     "no node has this shard now: nothing has changed");
}

static void again_go_on(void *owner, uint64_t at_ns)
{
	struct request *waiting = again.waiting;

	again.waiting = NULL;
	again.ended_ns = now_ns();
	nodes_decide_all(waiting);
}

void again_decide(struct request *request)
{
	request_wait(request, NULL, again_give_up);
	DL_APPEND(again.waiting, request);
	if (again.pause)
		return;
	if (now_ns() > again.ended_ns + AGAIN_LONGEST_NS)
		again.pause_ns = AGAIN_PAUSE_NS;
	else if (again.pause_ns < AGAIN_LONGEST_NS)
		again.pause_ns *= 2;
	alarm_set(&again.pause, now_ns() + again.pause_ns, again_go_on, NULL);
}

void again_soon(void)
{
	again.pause_ns = AGAIN_PAUSE_NS / 2;
	if (again.pause)
		alarm_set(&again.pause, now_ns(), again_go_on, NULL);
}

void again_end(void)
{
	alarm_clear(&again.pause);
	while (again.waiting)
		again.waiting->give_up(again.waiting, REQUEST_ENDING);
}
