/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One timeout on a wheel that is stopped, with two users. life.pml tells what is checked;
 * here to be handed back is an outcome, too, and when the wheel has stopped, nothing is
 * pending or comes to be, nor is the worker's task woken any more.
 *
 *	stop_wheel(), hand_back(), end_timeout(),
 *	hand_back_queued(), hand_back_all()			module/wheel.c
 *	run_passes(), hwheel_worker_drain(), look_at()		module/worker.c
 *	arm_locked() and the others, their read sections,
 *	hwheel_queue_hurry()					module/queue.c
 *
 * Worker and stopper are one after the other the owner of the slots: one process here.
 */
#define CPUS		3
#define HOLDERS		2
#define REARMS		0
#define HAS_TIME	true
#define HAS_DATA	false
#define HAS_STOP

#define FIRST		1
#ifdef SMALL
#define SECOND		0
#else
#define SECOND		1
#endif

bit stopping, should_stop, task_gone, stopped;

/* Preemption is off: a grace period waits for its end. */
bit in_section[CPUS];

#define BEGIN_SECTION(op)	in_section[me] = op##_HOLDS;
#define END_SECTION		; in_section[me] = 0

#ifdef NO_RECHECK_STOPPING
#define IS_BARRED		false
#define UNLESS_BARRED
#else
#define IS_BARRED		stopping
#define UNLESS_BARRED		!stopping ->
#endif

#ifdef NO_SECTION_ARM
#define arm_HOLDS		0
#else
#define arm_HOLDS		1
#endif

#ifdef NO_SECTION_REFRESH
#define refresh_HOLDS		0
#else
#define refresh_HOLDS		1
#endif

#ifdef NO_SECTION_CANCEL
#define cancel_HOLDS		0
#else
#define cancel_HOLDS		1
#endif

#ifdef NO_SECTION_HURRY
#define hurry_HOLDS		0
#else
#define hurry_HOLDS		1
#endif

#ifdef NO_SECTION_CLOSE
#define close_HOLDS		0
#else
#define close_HOLDS		1
#endif

/* It may have to be woken. */
#define kick()			assert(!task_gone)

#include "life.pml"

/* Constant: is there a handback callback? */
bit has_handback;

/* hwheel_queue_hurry() */
#ifdef NO_RECHECK_HURRY
#define MAY_HURRY		true
#else
#define MAY_HURRY		!stopping
#endif

inline hurry()
{
	if
	:: word & QUEUED ->
		BEGIN_SECTION(hurry)
		if
		:: MAY_HURRY -> kick()
		:: else
		fi
		END_SECTION
	:: else
	fi
}

proctype user(byte me; byte ops)
{
	byte old;
	bit armed, in_release, adds, settled, last;

	use(ops)
}

active proctype buffers()
{
end:	do
	:: atomic { written[WORKER] -> assert(!freed); written[WORKER] = 0 }
	:: atomic { running[0].late && !written[WORKER] -> land(running[0]) }
	od
}

active proctype stopper()
{
#ifndef NO_ORDER_STOPPING
	stopping = 1;
#endif
	should_stop = 1
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

#ifdef NO_MB_END
#define END_IS_FULL	false
#else
#define END_IS_FULL	true
#endif

inline end_timeout(queued)
{
	atomic { assert(!freed); seen = word }
	do
#ifndef NO_RECHECK_QUEUED
	:: (seen & QUEUED) != queued -> seen = IDLE; break
#endif
	:: else ->
		atomic {
			ended = (IS_PENDING(seen) -> SET_STATE(seen, CANCELLED) : seen);
			exchange(ended & ~QUEUED, END_IS_FULL);
			ended = 0
		}
		if
		:: done -> break
		:: else
		fi
	od
}

/* The caller may free it. */
inline call_handback()
{
	atomic {
		assert(!freed && outcomes && !expiring && !releasing);
		outcomes--;
		written[me] = 1
	}
	put()
}

inline hand_back(queued)
{
#ifndef NO_ORDER_BEGIN
	begin(0);
#endif
	end_timeout(queued);
#ifdef NO_ORDER_BEGIN
	begin(0);
#endif
	if
	:: IS_PENDING(seen) && (has_handback || !has_release) -> call_handback()
	:: IS_PENDING(seen) && !has_handback && has_release ->
		atomic { prevented() }
		call_release()
	:: STATE(seen) == CANCELLED && has_release -> call_release()
	:: else
	fi;
	finish(0)
}

inline empty_slots()
{
	if
	:: atomic { filed != NOWHERE -> pop_filed() }
		hand_back(0)
	:: else
	fi
}

inline synchronize_rcu()
{
	!in_section[0];
	!in_section[1]
}

inline hand_back_queued()
{
	if
	:: atomic { listed -> pop_listed(); pop_filed() }
		hand_back(QUEUED)
	:: else
	fi
}

proctype owner()
{
	byte me = WORKER, seen, old, ended, tries;
	bit done, armed, in_release, adds;

	do
	:: drain(0)
	:: atomic { filed <= reached -> pop_filed() }
		look_if_due()
	:: should_stop -> break
	od;
#ifndef NO_ORDER_SLOTS
	empty_slots();
#endif
#ifdef NO_ORDER_TASK
	task_gone = 1;
#endif
#ifndef NO_GRACE_PERIOD
	synchronize_rcu();
#endif
#ifdef NO_ORDER_SLOTS
	empty_slots();
#endif
#ifdef NO_ORDER_STOPPING
	stopping = 1;
#endif
	hand_back_queued();
	task_gone = 1;
	stopped = 1
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
		:: counted = 1
		:: true
		fi;
		run user(0, FIRST);
		run user(1, SECOND);
		run owner()
	}
}
