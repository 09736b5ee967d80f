/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * shutdown.pml with a close when the threads of the program are gone: of a file that was stopped,
 * of one that was not, or of one whose STOP was killed while it waited. One of the threads may stop
 * for ever between setting QUEUED and the end of its push.
 *
 * Checked in addition:
 *  - when the threads are gone after STOP has returned, no record is pending but one that
 *    the thread that stopped for ever was about to arm;
 *  - close ends.
 *
 * Without these is violated:
 * NO_COMPLETE_ALL: closed
 * NO_RECHECK_LEAVING: closed
 */
#define HAS_CLOSE
#define HAS_STOPS
#define FIRST		1
#define SECOND		1

#ifdef NO_COMPLETE_ALL
#define take_completion()	left = 0
#else
#define take_completion()	skip
#endif

#include "shutdown.pml"
