// SPDX-License-Identifier: GPL-2.0-only
/*
 * Running the work at the end of a pass, in rounds: each client does some in its turn, so
 * that none of them waits for all that another one has to tell. Work that takes too long is
 * left to the next pass, which follows at once, so that edges do not wait.
 */
#include <linux/jiffies.h>
#include <linux/sched.h>

#include "pass_work.h"
#include "wheel.h"

/* Returns whether there was time for all. */
static bool run_round(struct hwheel *wheel, unsigned long since, bool wait)
{
	struct hwheel_pass_work *work;
	LIST_HEAD(round);

	list_splice_init(&wheel->pass_work, &round);
	while ((work = list_first_entry_or_null(&round, struct hwheel_pass_work, link))) {
		if (hwheel_is_long(since)) {
			list_splice(&round, &wheel->pass_work);
			return false;
		}
		list_del_init(&work->link);
		/* The client may free it when it is done. */
		if (!work->run(work, wait))
			list_add_tail(&work->link, &wheel->pass_work);
		cond_resched();
	}
	return true;
}

/* Returns whether all is done. The first round waits for no lock. */
bool hwheel_pass_work_run(struct hwheel *wheel)
{
	unsigned long since = jiffies;
	bool wait = false;

	hwheel_assert_owner(wheel);
	while (!list_empty(&wheel->pass_work)) {
		if (!run_round(wheel, since, wait))
			return false;
		wait = true;
	}
	return true;
}
