/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _TEST_LOOP_H
#define _TEST_LOOP_H

#include "hwheel_local.h"

#define LOOP_TICK	1000000U	/* ns */

/**
 * struct loop - an event loop with a wheel inside
 * @open:   begins
 * @update: reads the time from which delays count, where the loop does not run
 * @set:    moves or arms a timeout
 * @watch:  calls @readable once @fd is readable, and the loop goes on for that
 * @run:    runs the loop until nothing is left
 * @close:  ends
 */
struct loop {
	struct hwheel_local *(*open)(void);
	void (*update)(void);
	void (*set)(struct hwheel_local_timeout *timeout, uint64_t delay_ns);
	void (*watch)(int fd, void (*readable)(void));
	void (*run)(void);
	void (*close)(void);
};

extern const struct loop loop_of_uv, loop_of_ev, loop_of_event;

#endif /* _TEST_LOOP_H */
