/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_QUEUE_H
#define _HWHEEL_QUEUE_H

struct hwheel;
struct hwheel_timeout;

struct hwheel_timeout *hwheel_queue_pop(struct hwheel *wheel,
					unsigned int *lists);
void hwheel_queue_return(struct hwheel *wheel, struct hwheel_timeout *timeout);
bool hwheel_queue_close(struct hwheel_timeout *timeout);
void hwheel_queue_hurry(struct hwheel *wheel);
bool hwheel_queue_empty(const struct hwheel *wheel);

#endif /* _HWHEEL_QUEUE_H */
