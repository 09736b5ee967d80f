/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * executor.pml with callbacks that cancel_sync across: the release op of another timeout, on the
 * worker, this one, and the callback of this one, on the executor, a third one, which the worker
 * has to drain. One of the users only gives up its reference.
 *
 * The worker's wait for the executor has a time limit for each of two reasons: that third one, as
 * module/engine/cancel_sync.c tells, and this one itself, which comes back when its callback armed it, or when
 * its release op is owed. NO_TIME_LIMIT_OWN leaves out the first, NO_TIME_LIMIT_THIRD the second.
 *
 * Without these is violated:
 * NO_TIME_LIMIT_OWN: !closers
 * NO_TIME_LIMIT_THIRD: !closers
 */
#define HOLDERS		3
#define OTHERS		1
#ifndef SMALL
#define SMALL
#endif

#ifdef NO_TIME_LIMIT_OWN
#define WAITS_FOR_REST	true
#else
#define DRAINS_WITHIN
#endif

#ifdef NO_TIME_LIMIT_THIRD
#define REARMS		0
#define WAITS_FOR_REST	!has_release
#endif

#include "executor.pml"
