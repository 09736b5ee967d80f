/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Work at the end of a pass, for clients of the engine in this module.
 *
 * A callback that has to tell others of each timeout takes a lock and wakes threads for
 * each. With this it only notes what there is to tell, and the worker runs the work once,
 * when nothing more is due: one lock and one wake-up for as many timeouts as ended in the
 * pass. All of it belongs to the owner of the slots.
 */
#ifndef _HWHEEL_PASS_WORK_H
#define _HWHEEL_PASS_WORK_H

#include <linux/list.h>

#include "wheel.h"

/**
 * struct hwheel_pass_work - what is to be done once at the end of the pass
 * @link: in @pass_work of the wheel, or empty
 * @run:  called on the owner's thread, in process context and not inside a callback. It
 *        does a bounded amount of work and returns whether that was all: if not it is
 *        called again after the work of others. After it returned true the engine does
 *        not refer to the work any more.
 */
struct hwheel_pass_work {
	struct list_head	link;
	bool			(*run)(struct hwheel_pass_work *work);
};

static inline void hwheel_pass_work_init(struct hwheel_pass_work *work,
					 bool (*run)(struct hwheel_pass_work *))
{
	INIT_LIST_HEAD(&work->link);
	work->run = run;
}

/* By the owner, in a callback; once for each pass, however often it is called */
static inline void hwheel_pass_work_add(struct hwheel *wheel,
					struct hwheel_pass_work *work)
{
	if (list_empty(&work->link))
		list_add_tail(&work->link, &wheel->pass_work);
}

bool hwheel_pass_work_run(struct hwheel *wheel);

#endif /* _HWHEEL_PASS_WORK_H */
