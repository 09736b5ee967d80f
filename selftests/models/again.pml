/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * timeout.pml, deeper and narrower: one of the users does several things in a row, so that a
 * timeout goes round its states while the other one is in the midst of an arm. There is one
 * deadline, so words are equal more often. Callbacks do not arm again, nor is there another
 * timeout.
 *
 *	do_arm(), in_release()				module/engine/submit.c
 *
 * Without these is violated:
 * NO_LIMIT_OVERTAKEN: !releases && (!releasing || ...
 */
#define HOLDERS		2
#define REARMS		0
#define HAS_TIME	false
#define HAS_DATA	false
#define FIRST		1
#define OTHERS		0
#define SECOND		4

/* Were hwheel_arm_at() to promise that */
#ifdef NO_LIMIT_OVERTAKEN
#define MAY_BE_OVERTAKEN	false
#endif

#include "timeout.pml"
