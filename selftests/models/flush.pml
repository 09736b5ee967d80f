/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * work.pml with users that may flush the work, and do one thing each.
 *
 *	hwheel_work_flush()					module/engine/work.c
 *
 * Without these is violated:
 * NO_CLAIM_FLUSH: over >= due
 */
#define HAS_FLUSH
#define FIRST_OPS	1

#ifdef NO_CLAIM_FLUSH
#define DOES_NOT_CLAIM
#endif

#include "work.pml"
