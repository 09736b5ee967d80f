/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_QUEUE_H
#define _HWHEEL_QUEUE_H

#include <linux/llist.h>

#include "wheel.h"

struct llist_node *hwheel_queue_take(struct hwheel *wheel, unsigned int *lists);
void hwheel_queue_return(struct hwheel *wheel, struct hwheel_timeout *timeout);
void hwheel_queue_recall(struct hwheel *wheel, struct hwheel_timeout *timeout);
bool hwheel_queue_close(struct hwheel_timeout *timeout);
void hwheel_queue_hurry(struct hwheel *wheel);
bool hwheel_queue_empty(const struct hwheel *wheel);

/*
 * The link is read here, before the caller clears QUEUED and others may use it. Model:
 * selftests/model/life.pml.
 */
static __always_inline struct hwheel_timeout *
hwheel_queue_next(struct llist_node **batch)
{
	struct llist_node *node = *batch;

	*batch = node->next;
	return llist_entry(node, struct hwheel_timeout, queue);
}

/*
 * The next queued timeout, taking up to *@lists CPUs' lists, each as a whole and
 * in turn from where the last call left off. NULL when they are used up.
 */
static inline struct hwheel_timeout *hwheel_queue_pop(struct hwheel *wheel,
						      unsigned int *lists)
{
	if (!wheel->batch)
		wheel->batch = hwheel_queue_take(wheel, lists);
	return wheel->batch ? hwheel_queue_next(&wheel->batch) : NULL;
}

#endif /* _HWHEEL_QUEUE_H */
