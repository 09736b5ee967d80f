/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mapped.pml with a file that is stopped. close.pml has files that are closed.
 *
 * Checked in addition:
 *  - when STOP returns, the events of what it has stopped are in the ring, and a pending record
 *    is one whose arm has not returned yet;
 *  - when the threads are gone, too, no record is pending;
 *  - an arm that finds its list closed cancels no other arm, so there is no event of an arm that
 *    returns ESHUTDOWN, and each other one has an end;
 *  - STOP ends.
 *
 * Deadlines are far away, also those of a refresh. ACTIVE stays set when the source has left, so
 * that KICK does nothing. With NO_BIT_WALK the walk exchanges each word, and gives up one that has
 * changed.
 *
 * A thread that arms a record with QUEUED does not push it, but looks at the head of its list all
 * the same. With NO_LOOK_QUEUED it does not look, but the walk and each thread that finds a list
 * CLOSED clear QUEUED: behind the walk a thread sets QUEUED, to cancel or refresh the timeout, or
 * to arm it, and another thread arms the record again before the first one finds its list CLOSED.
 *
 * A thread stores the word before it pushes the record (NO_RELEASE_WORD), or exchanges it before it
 * looks at the head (NO_MB_ARM). The worker looks at the words after it has exchanged the heads
 * (NO_ACQUIRE_CLOSE, NO_ORDER_CLOSE).
 *
 *	hwheel_map_stop_begin(), end_record(),
 *	stop_record(), hwheel_map_stop_walk()		module/device/mapped/stop.c
 *	hwheel_map_lists_close()			module/device/mapped/list.c
 *	map_run()					module/device/mapped/source.c
 *	hwheel_mapped_file_stop(),
 *	hwheel_mapped_file_end()			module/device/mapped_file.c
 *
 * Without these is violated:
 * NO_ACQUIRE_CLOSE: !word[0] & 3 == 0 || armer[0]
 * NO_BIT_WALK: !word[0] & 3 == 0 || armer[0]
 * NO_CLOSE: !word[0] & 3 == 0 || armer[0]
 * NO_LOOK_QUEUED: !word[0] & 3 == 0 || armer[0]
 * NO_MB_ARM: !word[0] & 3 == 0 || armer[0]
 * NO_ORDER_CLOSE: !word[0] & 3 == 0 || armer[0]
 * NO_ORDER_PUBLISH: tail == own_tail
 * NO_RECHECK_CANCELLED: word[i] & 3 == 1
 * NO_RECHECK_LEAVING: returned
 * NO_RELEASE_WORD: !word[0] & 3 == 0 || armer[0]
 * NO_SELF_CANCEL: !word[0] & 3 == 0 || armer[0]
 * NO_TAG: generation[i] + 1 == mine
 */
#define HAS_STOP
#define HAS_REFRESH
#define HAS_WITHDRAW
#define ARMS_DUE	false
#define ARMS_LATER	true
#ifndef NO_TAG
#define HAS_TAG
#endif
#ifndef FIRST
#ifdef SMALL
#define FIRST		1
#else
#define FIRST		2
#endif
#define SECOND		1
#endif

/* In mutations, the thread that waits takes the completion away from others. */
#ifndef HAS_CLOSE
#define take_completion()	skip
#endif

#include "mapped.pml"

inline check_stopped(i)
{
	assert(!IS_PENDING(word[i]) || armer[i])
}

/* hwheel_source_leave() */
inline leave()
{
	if
	:: left
	:: else -> leaving = 1; kick()
	fi
}

inline stop_file()
{
	stopping = 1;
	leave();
	if
	:: left ->
		atomic {
			take_completion();
			assert(tail == own_tail);
			check_stopped(0);
			check_stopped(1);
			returned = 1
		}
#ifdef HAS_CLOSE
	:: true
#endif
	fi
}

inline close_file()
{
	!threads;
	assert(!returned || armer[0] || !IS_PENDING(word[0]));
	assert(!returned || armer[1] || !IS_PENDING(word[1]));
	closing = 1;
	leave();
	left;
	closed = 1
}

active proctype stopper()
{
	if
	:: stop_file()
#ifdef HAS_CLOSE
	:: true
#endif
	fi
#ifdef HAS_CLOSE
	;close_file()
#endif
}

active proctype ending()
{
	timeout ->
#ifdef HAS_CLOSE
	assert(closed);
#else
	assert(returned);
	assert(!IS_PENDING(word[0]) && !IS_PENDING(word[1]));
#endif
	assert(head == tail && tail == own_tail);
	assert(live[0] == IS_PENDING(word[0]) && live[1] == IS_PENDING(word[1]))
}
