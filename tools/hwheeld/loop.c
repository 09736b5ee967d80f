// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stddef.h>
#include <sys/epoll.h>

#include "loop.h"
#include "say.h"

#define EVENTS	64

static int epoll = -1;
static struct epoll_event events[EVENTS];
static int count;
static struct loop_source *soon;

int loop_begin(void)
{
	epoll = epoll_create1(EPOLL_CLOEXEC);
	return epoll < 0 ? -errno : 0;
}

int loop_add(int fd, uint32_t what, struct loop_source *source)
{
	struct epoll_event event = { .events = what, .data.ptr = source };

	return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

int loop_change(int fd, uint32_t what, struct loop_source *source)
{
	struct epoll_event event = { .events = what, .data.ptr = source };

	return epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &event) ? -errno : 0;
}

void loop_soon(struct loop_source *source)
{
	if (source->is_soon)
		return;
	source->is_soon = true;
	source->next = soon;
	soon = source;
}

/* One that ready() asks for is called in the next turn of the loop. */
static void call_soon(void)
{
	struct loop_source *source = soon, *next;

	soon = NULL;
	for (; source; source = next) {
		next = source->next;
		source->is_soon = false;
		source->ready(source);
	}
}

/* An event that was read with others may be about it. */
void loop_remove(int fd, struct loop_source *source)
{
	epoll_ctl(epoll, EPOLL_CTL_DEL, fd, NULL);
	for (int i = 0; i < count; i++)
		if (events[i].data.ptr == source)
			events[i].data.ptr = NULL;
}

void loop_wait(int ms)
{
	count = epoll_wait(epoll, events, EVENTS, soon ? 0 : ms);
	for (int i = 0; i < count; i++) {
		struct loop_source *source = events[i].data.ptr;

		if (source)
			source->ready(source);
	}
	count = 0;
	call_soon();
}
