/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_SUBMIT_H
#define _HWHEEL_SUBMIT_H

#include <linux/bitops.h>
#include <linux/cpumask.h>
#include <linux/llist.h>

#include "wheel.h"

struct llist_node *hwheel_submit_take(struct hwheel *wheel, unsigned int *words);
void hwheel_submit_return(struct hwheel *wheel, struct hwheel_timeout *timeout);
void hwheel_submit_recall(struct hwheel *wheel, struct hwheel_timeout *timeout);
void hwheel_submit_kick(struct hwheel *wheel);
void hwheel_submit_source(struct hwheel *wheel, struct llist_node *node);
bool hwheel_submit_empty(const struct hwheel *wheel);

/*
 * The link is read here, before the caller clears QUEUED and others may use it.
 *
 * Model: life.pml in selftests/models/.
 */
static __always_inline struct hwheel_timeout *
hwheel_submit_next(struct llist_node **list)
{
	struct llist_node *node = *list;

	*list = node->next;
	return llist_entry(node, struct hwheel_timeout, queue);
}

/* How many words wheel->dirty has */
static inline unsigned int hwheel_submit_words(void)
{
	return BITS_TO_LONGS(nr_cpu_ids);
}

/*
 * The next queued timeout, taking the lists of the CPUs that are marked in the first *@words
 * words, each as a whole. NULL when they are used up.
 */
static inline struct hwheel_timeout *hwheel_submit_pop(struct hwheel *wheel,
						       unsigned int *words)
{
	if (!wheel->taken)
		wheel->taken = hwheel_submit_take(wheel, words);
	return wheel->taken ? hwheel_submit_next(&wheel->taken) : NULL;
}

#endif /* _HWHEEL_SUBMIT_H */
