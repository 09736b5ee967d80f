/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How a wheel is stopped, for models that HAS_STOP: what the stopper does once it has taken
 * the worker's place, and what the others do in view of it.
 *
 *	stop_wheel(), hand_back(), hand_back_queued(),
 *	hand_back_all(), hwheel_drain_here()		module/engine/stop.c
 *	hwheel_timeout_end()				module/engine/timeout.c
 *	do_set() and the others, their read sections,
 *	hwheel_submit_kick(), hwheel_submit_return()	module/engine/submit.c
 *
 * Where there is another timeout it is handed back, too. An op that is called then, for
 * either, may cancel_sync others, which hands back queued ones within hand_back().
 */
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

#ifdef SPARE_SECTION_RETURN
#define return_HOLDS		0
#else
#define return_HOLDS		1
#endif

/* It may have to be woken. */
#define kick()			assert(!task_gone)

/* Constant: is there a handback callback? */
bit has_handback;

/* Then owners are not told what the stop ended, so they can't have references for arms. */
#define IS_UNTOLD		(!has_handback && !has_release)

/* hwheel_submit_kick() */
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

active proctype stopper()
{
#ifndef NO_ORDER_STOPPING
	stopping = 1;
#endif
	should_stop = 1
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
#ifndef NO_RECHECK_ENDED
	:: (seen & QUEUED) != queued -> seen = IDLE; break
#endif
	:: else ->
		atomic {
			ended = (IS_PENDING(seen) -> SET_STATE(seen, CANCELLED) : seen);
			exchange(ended & ~QUEUED, END_IS_FULL);
			ended = 0;
			outcomes = outcomes - (done && IS_PENDING(seen) && IS_UNTOLD)
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

/* Is a callback called? */
#define TELLS		(IS_PENDING(seen) && !IS_UNTOLD || STATE(seen) == CANCELLED && has_release)

/* Without the end */
inline begin_hand_back(queued, depth)
{
#ifndef NO_ORDER_BEGIN
	begin(depth);
#endif
	end_timeout(queued);
#ifdef NO_ORDER_BEGIN
	begin(depth);
#endif
	if
	:: IS_PENDING(seen) && has_handback -> call_handback()
	:: IS_PENDING(seen) && !has_handback && has_release ->
		atomic { prevented() }
		call_release()
	:: STATE(seen) == CANCELLED && has_release -> call_release()
	:: else
	fi
}

inline end_hand_back(depth)
{
	releasing = 0;
	finish(depth);
	wake_waiters()
}

#if OTHERS
/* hwheel_drain_here() */
#ifdef NO_DRAIN_HERE
#define drain_within()	drain(1)
#else
inline drain_within()
{
	atomic { listed -> pop_listed() }
	if
	:: IS_WITHIN(1) -> requeue()
	:: else ->
		atomic { pop_filed() }
		begin_hand_back(QUEUED, 1);
		end_hand_back(1)
	fi
}
#endif

/* In close_and_wait() */
inline drain_here()
{
	if
	:: drain_within()
	:: IS_SETTLED(word)
	fi
}

/* In cancel_sync for a third one */
inline may_drain()
{
	if
	:: drain_within()
	:: true
	fi
}

inline hand_back_other()
{
	atomic { others -> others--; store(running[0], OTHER); land_stores() }
	may_drain();
	leave_there();
	finish(0);
	wake_waiters()
}
#endif

inline hand_back(queued)
{
	begin_hand_back(queued, 0);
#if OTHERS
	if
	:: TELLS -> may_drain()
	:: else
	fi;
#endif
	end_hand_back(0)
}

inline empty_slots()
{
	do
	:: atomic { filed != NOWHERE -> pop_filed() }
		hand_back(0)
#if OTHERS
	:: hand_back_other()
#endif
	:: filed == NOWHERE -> break
	od
}

inline synchronize_rcu()
{
	!in_section[0];
	!in_section[1]
}

inline hand_back_queued()
{
	do
	:: atomic { listed -> pop_listed(); pop_filed() }
		hand_back(QUEUED)
#if OTHERS
	:: hand_back_other()
#endif
	:: !listed && !others -> break
	od
}

/* With one's locals: those of drain(), and ended */
inline stop_wheel()
{
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
