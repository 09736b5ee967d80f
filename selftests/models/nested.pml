/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * timeout.pml with an expire callback that may cancel_sync another timeout, for which it drains
 * the queues: so it comes upon its own timeout, armed again and perhaps cancelled meanwhile.
 *
 * Without this is violated:
 * NO_RECHECK_WITHIN: !freed && releases && ...
 */
#define HOLDERS		2
#define REARMS		2
#define HAS_TIME	false
#define HAS_DATA	false
#define FIRST		1
#define SECOND		1
#define OTHERS		0
#define DRAINS_WITHIN

#ifdef NO_RECHECK_WITHIN
#define IS_WITHIN(depth)	false
#endif

#include "timeout.pml"
