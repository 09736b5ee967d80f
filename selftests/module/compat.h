/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What differs between the kernels that the test modules are built for; hwheel.ko itself
 * only uses what all of them have. Kbuild tells by the headers, as versions don't say what
 * has been ported back.
 */
#ifndef _HWHEEL_COMPAT_H
#define _HWHEEL_COMPAT_H

#include <linux/hrtimer.h>
#include <linux/workqueue.h>

/* Later kernels want to be told what used to go without saying. */
#ifndef HAVE_WQ_PERCPU
#define WQ_PERCPU	0
#endif

/* Later kernels have no hrtimer_init() any more. */
#ifndef HAVE_HRTIMER_SETUP
static inline void hrtimer_setup(struct hrtimer *hrtimer,
				 enum hrtimer_restart (*function)(struct hrtimer *),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(hrtimer, clock, mode);
	hrtimer->function = function;
}
#endif

#endif /* _HWHEEL_COMPAT_H */
