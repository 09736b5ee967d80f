/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_EVENT_H
#define _HWHEEL_EVENT_H

#include <linux/poll.h>
#include <linux/types.h>

struct hwheel_file;
struct iov_iter;

ssize_t hwheel_event_read(struct hwheel_file *file, struct iov_iter *to,
			  bool nowait);
__poll_t hwheel_event_poll(const struct hwheel_file *file);

#endif /* _HWHEEL_EVENT_H */
