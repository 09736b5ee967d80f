/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * stop.pml with another timeout, whose owner is told by the stopper, too. An owner that is told may
 * cancel_sync others, so queued ones are handed back within, before the grace period, too. One
 * of the users only gives up its reference, as in rearm.pml.
 *
 * Without these is violated:
 * NO_DRAIN_HERE: stopped && ...
 * NO_RECHECK_WITHIN: !freed && releases && ...
 */
#ifdef NO_RECHECK_WITHIN
#define IS_WITHIN(depth)	false
#endif

#define HOLDERS		3
#define OTHERS		1
#ifndef SMALL
#define SMALL
#endif

#include "stop.pml"
