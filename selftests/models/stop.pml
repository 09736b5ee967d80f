/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One timeout on a wheel that is stopped, with two users. life.pml tells what is checked;
 * here to be handed back is an outcome, too, as is to end without anybody being told, where
 * there is neither a handback callback nor a release op. When the wheel has stopped, nothing is
 * pending or comes to be, nor is the worker's task woken any more. halt.pml has how it is
 * stopped, and most of what may be taken out. Callbacks do not arm again: rearm.pml has that.
 * Nor do they cancel_sync others: within.pml has that.
 *
 *	worker_run_passes(), hwheel_worker_drain(), look_at()	module/engine/worker.c
 *
 * Worker and stopper are one after the other the owner of the slots: one process here.
 *
 * Without these is violated:
 * NO_GRACE_PERIOD: !task_gone
 * NO_MB_END: !releasing && !expiring && ...
 * NO_ORDER_BEGIN: !releasing && !expiring && ...
 * NO_ORDER_SLOTS: !task_gone
 * NO_ORDER_STOPPING: !task_gone
 * NO_ORDER_TASK: !task_gone
 * NO_RECHECK_ENDED: !releasing && !expiring && ...
 * NO_RECHECK_HURRY: !task_gone
 * NO_RECHECK_QUEUED: !freed
 * NO_RECHECK_STOPPING: !task_gone
 * NO_SECTION_ARM: !task_gone
 * NO_SECTION_CANCEL: !task_gone
 * NO_SECTION_HURRY: !task_gone
 * NO_SECTION_REFRESH: !task_gone
 */
#define CPUS		3
#ifndef HOLDERS
#define HOLDERS		2
#endif
#ifndef REARMS
#define REARMS		0
#endif
#define HAS_TIME	true
#define HAS_DATA	false
#define HAS_STOP

#define FIRST		1
#ifdef SMALL
#define SECOND		0
#else
#define SECOND		1
#endif

#include "life.pml"

proctype user(byte me; byte ops)
{
	bit armed, adds, settled, last;

	use(ops)
}

active proctype buffers()
{
end:	do
	:: atomic { written[WORKER] -> assert(!freed); written[WORKER] = 0 }
	:: atomic { running[0].late && !written[WORKER] -> land(running[0]) }
	:: atomic { running[1].late && !written[WORKER] -> land(running[1]) }
	od
}

#define EXPIRE_IS_FULL	true

inline expire()
{
	begin(0);
	atomic { exchange(SET_STATE(seen, EXPIRED), EXPIRE_IS_FULL) }
	if
	:: done -> call_expire()
	:: else
	fi;
	finish(0)
}

proctype owner()
{
	byte me = WORKER, seen, ended, tries;
	bit done, armed, adds, settled;

	do
	:: drain(0)
	:: atomic { filed <= reached -> pop_filed() }
		look_if_due()
	:: should_stop -> break
	od;
	stop_wheel()
}

active proctype at_end()
{
	timeout ->
	judge();
	assert(stopped && !IS_PENDING(word))
}

init {
	atomic {
		if
		:: has_release = 1
		:: true
		fi;
		if
		:: has_handback = 1
		:: true
		fi;
		if
		:: !IS_UNTOLD -> counted = 1
		:: true
		fi;
		run user(0, FIRST);
		run user(1, SECOND);
		run owner()
	}
}
