// SPDX-License-Identifier: GPL-2.0-only
/*
 * Running the work at the end of a pass: each client does some in its turn. What takes too long is
 * left to the next pass, which follows at once, so that edges do not wait.
 */
#include <linux/jiffies.h>
#include <linux/sched.h>

#include "pass_work.h"
#include "wheel.h"

/* Returns whether all is done. */
bool hwheel_pass_work_run(struct hwheel *wheel)
{
	struct list_head *works = &wheel->pass_work;
	unsigned long since = jiffies;
	struct hwheel_pass_work *work;

	hwheel_assert_owner(wheel);
	while ((work = list_first_entry_or_null(works, struct hwheel_pass_work, link))) {
		if (hwheel_is_long(since))
			return false;
		list_del_init(&work->link);
		/* The client may free it when it is done. */
		if (!work->run(work))
			list_add_tail(&work->link, works);
		cond_resched();
	}
	return true;
}
