/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_SUBMIT_H
#define _HWHEEL_SUBMIT_H

#include <linux/bitops.h>
#include <linux/cpumask.h>
#include <linux/hash.h>
#include <linux/llist.h>
#include <linux/log2.h>
#include <linux/prefetch.h>

#include "wheel.h"

bool hwheel_submit_take(struct hwheel *wheel, unsigned int *words);
void hwheel_submit_return(struct hwheel *wheel, struct hwheel_timeout *timeout);
void hwheel_submit_kick(struct hwheel *wheel);
void hwheel_submit_source(struct hwheel *wheel, struct llist_node *node);
bool hwheel_submit_empty(const struct hwheel *wheel);

/* Which of a CPU's queues a node goes to */
static __always_inline unsigned int hwheel_submit_queue_of(const struct llist_node *node)
{
	return HWHEEL_LISTS > 1 ? hash_32((u32)(unsigned long)node, ilog2(HWHEEL_LISTS)) : 0;
}

/* How many words wheel->dirty has */
static inline unsigned int hwheel_submit_words(void)
{
	return BITS_TO_LONGS(nr_cpu_ids);
}

/*
 * Is there a queued timeout? Takes the lists of the next CPU that is marked in the first *@words
 * words, when those taken are used up. *@turn is the number of lists with a turn left in this
 * round; the caller clears it after a callback, as nested drains pop from the same lists.
 */
static __always_inline bool hwheel_submit_more(struct hwheel *wheel, unsigned int *words,
					       unsigned long *turn)
{
	if (likely(*turn))
		return true;
	if (unlikely(!wheel->lists) && !hwheel_submit_take(wheel, words))
		return false;
	*turn = wheel->lists;
	return true;
}

/*
 * The timeout whose turn it is, from list *@turn.
 *
 * The link is read here, before the caller clears QUEUED and others may use it. All is written back
 * before the caller acts, for nested drains in release ops.
 *
 * Models: life.pml and lists.pml in selftests/models/.
 */
static __always_inline struct hwheel_timeout *
hwheel_submit_pop(struct hwheel *wheel, unsigned long *turn)
{
	unsigned long i = --*turn;
	struct llist_node *node = wheel->taken[i], *next = node->next;

	wheel->taken[i] = next;
	if (unlikely(!next))
		wheel->taken[i] = wheel->taken[--wheel->lists];
	else if (HWHEEL_LISTS > 1)
		prefetchw(next);
	return llist_entry(node, struct hwheel_timeout, queue);
}

#endif /* _HWHEEL_SUBMIT_H */
