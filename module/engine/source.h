/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sources: clients of the engine in this module. The worker polls them for submissions in memory
 * that the engine knows nothing of.
 *
 * A source is active or parked. The worker runs an active one in each pass, and lingers until
 * the next edge as long as there is one. A source that had nothing to do is parked: it costs the
 * passes nothing until its own next edge comes, or a submitter kicks it. The source has to tell
 * its submitters that they have to kick: its park() tells them, and finds the submissions that came
 * before.
 */
#ifndef _HWHEEL_SOURCE_H
#define _HWHEEL_SOURCE_H

#include <linux/completion.h>
#include <linux/hwheel.h>
#include <linux/list.h>

#include "wheel.h"

struct hwheel_source;

/**
 * enum hwheel_source_next - the worker's next step with a source that it has run
 * @HWHEEL_SOURCE_IDLE:   there was nothing to do: park it
 * @HWHEEL_SOURCE_ACTIVE: run it again at the next edge
 * @HWHEEL_SOURCE_AGAIN:  run it again in a pass that follows at once
 * @HWHEEL_SOURCE_GONE:   the source has left: do not touch it any more
 */
enum hwheel_source_next {
	HWHEEL_SOURCE_IDLE,
	HWHEEL_SOURCE_ACTIVE,
	HWHEEL_SOURCE_AGAIN,
	HWHEEL_SOURCE_GONE,
};

/**
 * struct hwheel_source_ops - all on the worker, in process context
 */
struct hwheel_source_ops {
	/**
	 * @run: Does a bounded amount of work, up to @reached of the wheel, and sets @edge of the
	 * source. Of one that is leaving it returns HWHEEL_SOURCE_GONE sooner or later.
	 */
	enum hwheel_source_next (*run)(struct hwheel_source *source);
	/**
	 * @park: Submitters are to kick from now on. False: something was submitted meanwhile,
	 * and the source stays active.
	 */
	bool (*park)(struct hwheel_source *source);
	/** @wake: Submitters need not kick any more. Fully ordered before the next run. */
	void (*wake)(struct hwheel_source *source);
};

/**
 * struct hwheel_source - a source, to be embedded in the client's object
 */
struct hwheel_source {
	/**
	 * @timeout: Never armed: its @node is in the slots of the wheel while the source is
	 * parked, its @queue in @source_queue of the wheel after a kick. Its word, constant, tells
	 * the worker that this is no timeout.
	 */
	struct hwheel_timeout		timeout;
	/** @ops: Constant. */
	const struct hwheel_source_ops	*ops;
	/** @edge: While parked it is run at this edge, or HWHEEL_NO_EDGE; the worker's own. */
	u64				edge;
	/** @link: In @sources of the wheel if it is active; the worker's own. */
	struct list_head		link;
	/**
	 * @flags: HWHEEL_SOURCE_IS_ACTIVE: it is in a list, or about to be added by
	 * the thread that has set the bit; cleared by the worker.
	 */
	unsigned long			flags;
	/** @counts: The counts that it told last; written by the worker, read by anyone. */
	struct hwheel_source_counts	counts;
	/** @leaving: It is to leave; set by anyone. */
	bool				leaving;
	/** @left: The worker does not refer to it any more. */
	struct completion		left;
};

#define HWHEEL_SOURCE_IS_ACTIVE	0

void hwheel_source_init(struct hwheel_source *source, struct hwheel *wheel,
			const struct hwheel_source_ops *ops);
void hwheel_source_kick(struct hwheel_source *source);
void hwheel_source_leave(struct hwheel_source *source);

/* For the worker */

void hwheel_source_tell(struct hwheel_source *source,
			const struct hwheel_source_counts *now);

void hwheel_source_is_due(struct hwheel *wheel, struct hwheel_timeout *timeout);
bool hwheel_sources_run_all(struct hwheel *wheel);

/* Is a timeout in the slots one of a source? The wheel itself has no idle ones there. */
static inline bool hwheel_word_is_source(u64 word)
{
	return hwheel_word_state(word) == HWHEEL_IDLE;
}

/* Are there sources to be polled at the next edge? */
static inline bool hwheel_has_active_sources(const struct hwheel *wheel)
{
	return !list_empty(&wheel->sources);
}

/* Returns whether no source has more to do before the next edge. */
static inline bool hwheel_sources_run(struct hwheel *wheel)
{
	if (likely(llist_empty(&wheel->source_queue) && !hwheel_has_active_sources(wheel)))
		return true;
	return hwheel_sources_run_all(wheel);
}

#endif /* _HWHEEL_SOURCE_H */
