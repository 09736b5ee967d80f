// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stddef.h>

#include "loop.h"

int loop_begin(struct loop *loop)
{
	loop->epoll = epoll_create1(EPOLL_CLOEXEC);
	return loop->epoll < 0 ? -errno : 0;
}

int loop_add(struct loop *loop, int fd, uint32_t events, struct loop_source *source,
	     void (*ready)(void *owner), void *owner)
{
	struct epoll_event event = { .events = events, .data.ptr = source };

	*source = (struct loop_source) { .ready = ready, .owner = owner };
	if (!epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &event))
		return 0;
	return errno != EEXIST || epoll_ctl(loop->epoll, EPOLL_CTL_MOD, fd, &event) ? -errno : 0;
}

/* An event that was read with others may be about it. */
void loop_remove(struct loop *loop, int fd, struct loop_source *source)
{
	epoll_ctl(loop->epoll, EPOLL_CTL_DEL, fd, NULL);
	for (int i = 0; i < loop->count; i++)
		if (loop->events[i].data.ptr == source)
			loop->events[i].data.ptr = NULL;
}

void loop_soon(struct loop *loop, struct loop_source *source)
{
	if (source->is_soon)
		return;
	source->is_soon = true;
	source->next = loop->soon;
	loop->soon = source;
}

/* A source that asks to be called soon, by its ready(), is called in the next turn. */
void loop_wait(struct loop *loop, int ms)
{
	struct loop_source *source, *next;

	loop->count = epoll_wait(loop->epoll, loop->events, LOOP_EVENTS, loop->soon ? 0 : ms);
	for (int i = 0; i < loop->count; i++) {
		source = loop->events[i].data.ptr;
		if (source && source->ready)
			source->ready(source->owner);
	}
	loop->count = 0;
	source = loop->soon;
	loop->soon = NULL;
	for (; source; source = next) {
		next = source->next;
		source->is_soon = false;
		source->ready(source->owner);
	}
}
