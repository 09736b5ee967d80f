/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * executor.pml on a wheel that is stopped, as halt.pml has it: the executor runs what it
 * was given, and then there is nothing more for it. Callbacks do not arm again, which rearm.pml
 * has, and there is a handback callback only where owners with references need one, as stop.pml
 * has it elsewhere. As in across.pml they may cancel_sync a third one.
 *
 *	stop_wheel(), finish_executor()			module/engine/stop.c
 *	hwheel_executor_is_idle(), hwheel_executor_recall()	module/engine/executor.c
 *
 * Of what halt.pml has, here: SPARE_SECTION_RETURN, as who returns a timeout holds the lock of
 * the executor, under which the stopper finds that idle before the grace period.
 *
 * Without these is violated:
 * NO_FINISH_EXECUTOR: !task_gone
 * NO_ORDER_RECALL: !task_gone
 * NO_TIME_LIMIT: !closers
 */
#define HAS_STOP
#define REARMS		0
#ifndef SMALL
#define SMALL
#endif

#ifdef NO_FINISH_EXECUTOR
#define LEAVES_EXECUTOR
#else
#define DRAINS_WITHIN
#endif

#ifdef NO_ORDER_RECALL
#define RECALLS_LATE
#endif

#ifdef NO_TIME_LIMIT
#define WAITS_FOR_EXECUTOR
#endif

#include "executor.pml"
