/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One timeout on a wheel with an executor of two runners: it is handed over, run, blocked
 * while its last callback still runs, and taken back by cancel_sync. life.pml tells what is
 * checked, and here also that its callbacks don't overlap, nor with its release op.
 *
 *	hwheel_executor_hand_over(), hwheel_executor_start(), run_next(),
 *	begin_next(), take_handed(), start_another(), executor_end(),
 *	hwheel_executor_defer(), hwheel_executor_recall(), runner_of(),
 *	hwheel_executor_runs()				module/engine/executor.c
 *	look_at(), worker_expire(), worker_release()	module/engine/worker.c
 *	cancel_sync_drain()				module/engine/cancel_sync.c
 *
 * Left out: mod, of which timeout.pml has more, and which is refused while a timeout is handed over;
 * start_another() in begin_next(), which is for other timeouts on the list; and that
 * a runner makes way for others after RUN_MAX callbacks. Callbacks cancel_sync no others:
 * across.pml has that.
 *
 * Of what life.pml has, here too: SPARE_ACQUIRE_OPEN, as the looks at what runs acquire.
 *
 * Without these is violated:
 * NO_ACQUIRE_RUNNING: seen_over[me]
 * NO_ACQUIRE_RUNS: seen_over[me]
 * NO_ACQUIRE_SETTLED: !releasing && !expiring && ...
 * NO_MB_ACTED: !releasing && !expiring && ...
 * NO_MB_BEGIN: !releasing && !expiring && ...
 * NO_MB_PREPARE: !closers
 * NO_ORDER_BEGIN: !releasing && !expiring && ...
 * NO_RECHECK_BLOCKED: outcomes == ...
 * NO_RECHECK_BUSY: !freed && outcomes && ...
 * NO_RECHECK_CLOSED: !listed && filed == 2 && ...
 * NO_RECHECK_HANDED: !listed && filed == 2 && ...
 * NO_RECHECK_OWED: !freed && releases && ...
 * NO_RECHECK_OWING: outcomes == ...
 * NO_RECHECK_RUNS: !releasing && !expiring && ...
 * NO_RELEASE_END: !releasing && !expiring && ...
 * NO_WAKE_RUN: !closers
 */
#define CPUS		5
#ifndef HOLDERS
#define HOLDERS		2
#endif
#ifndef REARMS
#define REARMS		1
#endif
#define HAS_TIME	false
#define HAS_DATA	false
#define HAS_EXECUTOR
#define HAS_MOD		false

#define FIRST		1
#ifdef SMALL
#define SECOND		0
#else
#define SECOND		1
#endif

#define RUNNERS		2
#define FIRST_RUNNER	3
#define HAVE_LANDED	(!written[2] && !written[3] && !written[4])

#ifdef NO_ACQUIRE_RUNS
#define READS_EARLY
#endif

#include "life.pml"

/* On which list of the executor it is, if any: that of runner 0 or 1, or */
#define BLOCKED(runner)		(runner)
#define HANDED			2
#define ON_NONE			3

/* Under the lock, but that anyone may look at what runs. */
bit lock;
byte handed = ON_NONE;
bit busy[RUNNERS], owed[RUNNERS];
buffered runs[RUNNERS];

/*
 * Is a third timeout queued? In a model that DRAINS_WITHIN, callbacks on the executor may
 * cancel_sync it, which waits for the worker.
 */
bit third;

/* The lock has been released by the worker or a runner, and that has not landed. */
bit unlocks[CPUS];

#define LOCK		atomic { !lock -> lock = 1 }
#define UNLOCK		lock = 0

#ifdef SPARE_MB_HAND_OVER
#define EXPIRE_IS_FULL	false
#else
#define EXPIRE_IS_FULL	true
#endif

#ifdef NO_RELEASE_END
#define RELEASED(runner)	(!written[FIRST_RUNNER + runner] || runs[runner].own == NONE)
#elif defined(SPARE_RELEASE_BEGIN)
#define RELEASED(runner)	(!written[FIRST_RUNNER + runner] || runs[runner].own != NONE)
#else
#define RELEASED(runner)	(!written[FIRST_RUNNER + runner])
#endif

inline land_unlock(cpu)
{
	lock = (unlocks[cpu] -> 0 : lock);
	unlocks[cpu] = 0
}

inline land_more()
{
	if
	:: me >= FIRST_RUNNER -> land(runs[me - FIRST_RUNNER])
	:: else
	fi;
	land_unlock(me)
}

inline wait_for_more()
{
	!in_section[FIRST_RUNNER];
	!in_section[FIRST_RUNNER + 1]
}

/* A release of the lock, too, lands after what was stored before. */
active proctype buffers()
{
end:	do
	:: atomic { written[WORKER] -> assert(!freed); written[WORKER] = 0 }
	:: atomic { running[0].late && !written[WORKER] -> land(running[0]) }
	:: atomic { running[1].late && !written[WORKER] -> land(running[1]) }
	:: atomic { unlocks[WORKER] && !running[0].late && !running[1].late &&
		    !written[WORKER] ->
		land_unlock(WORKER)
	   }
	:: atomic { data != LANDED -> data = LANDED }
	od
}

proctype buffers_of(byte runner)
{
end:	do
	:: atomic { written[FIRST_RUNNER + runner] ->
		assert(!freed);
		written[FIRST_RUNNER + runner] = 0
	   }
	:: atomic { runs[runner].late && RELEASED(runner) -> land(runs[runner]) }
	:: atomic { unlocks[FIRST_RUNNER + runner] && !runs[runner].late &&
		    !written[FIRST_RUNNER + runner] ->
		land_unlock(FIRST_RUNNER + runner)
	   }
	od
}

/* By the worker, and by runners; the first one is taken that is not busy. */
inline start_another()
{
	if
	:: handed == HANDED && !busy[0] -> busy[0] = 1
	:: handed == HANDED && busy[0] && !busy[1] -> busy[1] = 1
	:: else
	fi
}

inline hand_over()
{
	LOCK;
	atomic { exchange(SET_STATE(seen, EXPIRED) | QUEUED, EXPIRE_IS_FULL) }
	atomic {
		if
		:: done -> handed = HANDED; written[WORKER] = 1
		:: else
		fi;
		unlocks[me] = 1
	}
}

inline expire()
{
	hand_over();
	if
	:: done -> atomic { !lock -> start_another() }
	:: else
	fi
}

/* The release op waits for the callback: then it is the runner's to submit it again. */
inline defer()
{
#ifdef NO_RECHECK_OWED
	done = 0;
#else
	atomic { !lock ->
		owed[0] = owed[0] || runs[0].mem == IT;
		owed[1] = owed[1] || runs[1].mem == IT;
		done = owed[0] || owed[1]
	}
#endif
}

/* hwheel_submit_return() */
inline return_timeout()
{
	BEGIN_SECTION(return)
	submit()
	END_SECTION
}

inline recall()
{
	if
	:: IS_HANDED(word) ->
		LOCK;
		if
#ifdef NO_RECHECK_HANDED
		:: atomic { true ->
#else
		:: atomic { IS_HANDED(word) ->
#endif
			handed = ON_NONE;
			word = SET_STATE(word, CANCELLED);
			prevented();
			adds = 1
		   }
		:: else
		fi;
#ifndef RECALLS_LATE
		return_timeout();
#endif
		UNLOCK
#ifdef RECALLS_LATE
		; return_timeout()
#endif
	:: else
	fi
}

inline look_elsewhere()
{
#ifdef NO_RECHECK_RUNS
	skip
#else
#ifdef NO_ACQUIRE_RUNS
	seen_over[me] = IS_OVER;
#endif
	settled = settled && runs[0].mem != IT;
	settled = settled && runs[1].mem != IT
#endif
}

/* take_handed(): one that runs is left to whom it runs on. */
inline take_handed()
{
	if
#ifndef NO_RECHECK_BUSY
	:: handed == HANDED && runs[1 - runner].mem == IT -> handed = BLOCKED(1 - runner)
#endif
	:: else
	fi;
	if
	:: handed == HANDED -> handed = ON_NONE; written[me] = 1; taken = 1
	:: else -> busy[runner] = 0
	fi
}

/* Entered before QUEUED is cleared */
inline begin_next()
{
	atomic { LOCK; take_handed() }
	if
	:: taken ->
#ifndef NO_ORDER_BEGIN
		store(runs[runner], IT);
#endif
#ifdef NO_MB_BEGIN
		atomic { assert(!freed); word = word & ~QUEUED }
#else
		atomic { assert(!freed); land_stores(); word = word & ~QUEUED }
#endif
#ifdef NO_ORDER_BEGIN
		store(runs[runner], IT);
#endif
	:: else
	fi;
	UNLOCK
}

inline end_run()
{
	atomic { LOCK;
#ifndef NO_RECHECK_BLOCKED
		handed = (handed == BLOCKED(runner) -> HANDED : handed);
#endif
#ifndef NO_RECHECK_OWING
		adds = owed[runner];
#endif
		owed[runner] = 0
	}
	return_timeout();
	atomic { store(runs[runner], NONE); unlocks[me] = 1; taken = 0 }
}

#ifdef DRAINS_WITHIN
inline drain_in_callback()
{
	if
	:: third = 1; !third
	:: true
	fi
}
#endif

/* hwheel_wake_waiters() comes after the run. */
proctype work(byte me; byte runner)
{
	bit armed, adds, taken;

end:	do
	:: busy[runner] ->
		begin_next();
		if
		:: taken ->
			call_expire();
			end_run()
		:: else
		fi;
#ifndef NO_WAKE_RUN
		wake_waiters()
#endif
	od
}

proctype user(byte me; byte ops)
{
	bit armed, adds, settled, last;

	use(ops)
}

inline drain_third()
{
	atomic { third -> third = 0 }
}

#ifdef HAS_STOP
/* hwheel_executor_is_idle() */
#define EXECUTOR_IS_IDLE	(!lock && handed == ON_NONE && !busy[0] && !busy[1])

inline finish_executor()
{
	do
	:: drain(0)
	:: drain_third()
#ifdef WAITS_FOR_EXECUTOR
	:: else -> EXECUTOR_IS_IDLE
#endif
	:: atomic { EXECUTOR_IS_IDLE -> break }
	od
}
#endif

#if OTHERS
#define RUNS		(runs[0].mem == IT || runs[1].mem == IT)
#define IS_AT_REST	(IS_SETTLED(word) && !RUNS)

/* cancel_sync_drain() in module/engine/cancel_sync.c; time goes by until there is something to drain or to see. */
inline drain_here()
{
	do
	:: drain(1)
	:: drain_third()
	:: else -> break
	od;
#ifdef WAITS_FOR_REST
	if
	:: RUNS && WAITS_FOR_REST -> IS_AT_REST
	:: else
	fi;
#endif
	listed || third || IS_AT_REST
}

/* Its release op */
inline call_other()
{
	atomic { others -> others--; store(running[0], OTHER); land_stores() }
	leave_there();
	finish(0)
}
#endif

proctype worker()
{
	byte me = WORKER, seen, ended, tries;
	bit done, armed, adds, settled;

end:	do
	:: drain(0)
	:: drain_third()
#if OTHERS
	:: call_other()
#endif
	:: atomic { filed <= reached -> pop_filed() }
		look_if_due()
#ifdef HAS_STOP
	:: should_stop -> break
#endif
	od;
#ifdef HAS_STOP
#ifndef LEAVES_EXECUTOR
	finish_executor();
#endif
	stop_wheel()
#endif
}

active proctype at_end()
{
	timeout ->
	judge();
	assert(handed == ON_NONE && !lock && !busy[0] && !busy[1] && !owed[0] && !owed[1]);
#ifdef HAS_STOP
	assert(stopped && !IS_PENDING(word))
#endif
}

init {
	atomic {
		if
		:: has_release = 1
		:: true
		fi;
		if
		:: counted = 1
		:: true
		fi;
#ifdef HAS_STOP
		has_handback = counted && IS_UNTOLD;
#endif
		run user(0, FIRST);
		run user(1, SECOND);
		run worker();
		run work(FIRST_RUNNER, 0);
		run work(FIRST_RUNNER + 1, 1);
		run buffers_of(0);
		run buffers_of(1)
	}
}
