/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Mapped timeouts: threads of a program arm, cancel, refresh and withdraw without a system call;
 * record.pml tells what is checked.
 *
 *	hwheel_map_lists_take(), hwheel_map_lists_park(),
 *	hwheel_map_lists_wake()				module/device/mapped/list.c
 *	map_act(), hwheel_map_drain()			module/device/mapped/drain.c
 *	map_look_at(), hwheel_map_expire()		module/device/mapped/expire.c
 *	take_kick(), work(), drain_and_expire(),
 *	goes_on()					module/device/mapped/source.c
 *	hwheel_map_ring_put(), hwheel_map_ring_publish()	module/device/mapped/ring.h
 *
 * SPARE_PUSH_CANCEL: a thread that cancels need not push the record. The worker would come upon
 * the node at its edge, and the next arm pushes.
 *
 * Without these is violated:
 * NO_DUE_AGAIN: !listed[i]
 * NO_KEEP_EXPIRED: word[i] & 3 == 1
 * NO_KEEP_QUEUED: !listed[i]
 * NO_MB_PARK: has_stuck || ...
 * NO_ORDER_LINK: stuck[0] || !word[0] & 4
 * NO_ORDER_PARK: has_stuck || ...
 * NO_PUSH_EARLIER: stuck[0] || !word[0] & 3 == 0 || ...
 * NO_RECHECK_ACTED: stuck[0] || !word[0] & 3 == 0 || ...
 * NO_RECHECK_EXPIRED: word[k] & 3 == 0 && ...
 * NO_RECHECK_LISTS: has_stuck || ...
 * NO_RECHECK_QUEUED: !listed[i]
 * NO_RELEASE_PUSH: stuck[0] || !word[0] & 4
 */
#ifndef ARMS_DUE
#define ARMS_DUE	true
#define ARMS_LATER	true
#define HAS_TIME
#define HAS_REFRESH
#define HAS_WITHDRAW
#endif

#ifdef FIRST
#elif defined(NO_DUE_AGAIN)
#define FIRST		3
#define SECOND		1
#elif defined(SMALL)
#define FIRST		2
#define SECOND		1
#else
#define FIRST		2
#define SECOND		2
#endif

#include "record.pml"

proctype thread(byte me; byte ops)
{
	byte i;
	bit adds, asleep;
#ifdef HAS_STOP
	byte mine;
	bit stores, shut, early;
#endif

	use()
}

#ifndef HAS_STOP
active proctype at_end()
{
	timeout ->
	judge_lists();
	judge(0);
	judge(1)
}
#endif

init {
	atomic {
		run thread(0, FIRST);
		run thread(1, SECOND)
	}
}
