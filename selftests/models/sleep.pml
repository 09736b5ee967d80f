/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sleep and kick: the worker drains the lists of marked CPUs, publishes that it sleeps deeply,
 * looks at the marks again and sleeps. Submitters add; one that found its list empty marks the CPU
 * and kicks. One waits in hwheel_cancel_sync().
 *
 *	submit(), take_marks(), take_lists(), hwheel_submit_take(),
 *	hwheel_submit_empty(), hwheel_submit_kick()	module/engine/submit.c
 *	worker_drain_some(), begin_drain(), hwheel_worker_drain(),
 *	begin_pass(), worker_run_pass(), worker_sleep(), will_linger(),
 *	worker_run_passes()				module/engine/worker.c
 *	close_and_look(), close_and_wait()		module/engine/cancel_sync.c
 *	hwheel_wake_waiters()				module/engine/callback.h
 *
 * Checked: when nothing can happen any more but that time goes by, then
 *  - if the worker sleeps beyond the next edge, nothing is queued;
 *  - however it sleeps, it has not been asked for a pass, or to stop, and nobody waits.
 * When a drain is through, over as many passes as it took, nothing is left of what was on marked
 * lists when it began, so that a timeout waits for one drain.
 *
 * A CPU has two lists with one mark, which the worker takes one after the other. Only one thread
 * submits on CPU 1, so its lists are taken in one step.
 *
 * Of the timeouts only is told who has them: timeout.pml is about their state. One of
 * them, WAITED, may be cancelled by one CPU while another cancel_syncs it. Two submit on CPU 0,
 * as a thread does and an interrupt between its steps, and in all other orders, too.
 *
 * Whether the worker lingers depends on what it remembers of earlier sleeps, its own store. Here
 * both memories may have either value after each pass: no submitter may rely on them.
 *
 * Each define takes something out; spin must then find this property violated:
 * NO_DEEP_FOR_WAITER: waiter_state == 0 && !wants_pass
 * NO_HURRY: waiter_state == 0 && !wants_pass
 * NO_HURRIED_KEPT: waiter_state == 0 && !wants_pass
 * NO_HURRY_AGAIN: waiter_state == 0 && !wants_pass
 * NO_MB_MARK: !batch && !queue[0] && !queue[1]
 * NO_MB_SLEEP: !batch && !queue[0] && !queue[1]
 * NO_MB_WAKE: !should_stop && !urgent.mem
 * NO_ORDER_CLEAR: waiter_state == 0 && !wants_pass
 * NO_ORDER_MARK: !batch && !queue[0] && !queue[1]
 * NO_ORDER_TAKE: !batch && !queue[0] && !queue[1]
 * NO_ORDER_URGENT: !should_stop && !urgent.mem
 * NO_RECHECK_DEEP: !batch && !queue[0] && !queue[1]
 * NO_RECHECK_MARKS: !batch && !queue[0] && !queue[1]
 * NO_RECHECK_MAX: waiter_state == 0 && !wants_pass
 * NO_RECHECK_STOP: !should_stop && !urgent.mem
 * NO_RECHECK_ROUND: !through || !(before & (batch | queue[0] | queue[1]))
 * NO_RECHECK_URGENT: !should_stop && !urgent.mem
 * NO_URGENT_KEPT: waiter_state == 0 && !wants_pass
 * NO_VISIT_OFFLINE: !through || !(before & (batch | queue[0] | queue[1]))
 * NO_WAKE_WAITERS: waiter_state == 0 && !wants_pass
 */
#include "memory.pml"

#define CPUS		2
#ifdef NO_URGENT_KEPT
#define DRAIN_MAX	1
#else
#define DRAIN_MAX	2
#endif

/* Timeouts, and sets of them */
#define WAITED		1
#define OTHER		2
#define FURTHER		4

/* A CPU's lists: which timeouts are added to each, by their addresses */
#define FIRST_LIST	(WAITED | FURTHER)
#define SECOND_LIST	OTHER
#define LIST(timeout)	(timeout == OTHER -> SECOND_LIST : FIRST_LIST)

/* States of tasks */
#define RUNNING		0
#define IDLE		1

/* The wheel's */
byte queue[CPUS], batch;
buffered deep, urgent;
bit should_stop, gone;

/* A bit for each CPU: the marks, and those of a word that the worker has taken */
byte dirty, marked;

#define BIT(cpu)	(1 << (cpu))

/* Both in one word, or one in each, as on a machine with very many */
#if defined(SMALL) && !defined(NO_HURRY_AGAIN)
#define WORDS		1
#define IN_WORD(w)	(BIT(0) | BIT(1))
#else
#define WORDS		2
#define IN_WORD(w)	BIT(CPUS - 1 - (w))
#endif

#ifdef NO_VISIT_OFFLINE
/* A CPU goes offline when nothing is under way on it; what was added there stays. */
byte submitters = 2, online = BIT(0) | BIT(1);

active proctype hotplug()
{
	!submitters;
	online = BIT(1)
}

#define IS_OVER		submitters--
#define DIRTY		(dirty & online)
#else
#define IS_OVER		skip
#define DIRTY		dirty
#endif

/* The worker's task state */
buffered state;

/* The waiter: whether it is on wheel->waiters, and the state of its task */
bit waits, waiter_state;

/* Someone waits for the next pass, though not on that list. */
bit wants_pass;

mtype = { PENDING, QUEUED, SETTLED };
mtype waited = PENDING;

/* How often an edge is reached, and a callback drains, while others are at work */
#if defined(SMALL) && !defined(NO_HURRY_AGAIN)
byte edges = 1, callbacks = 0;
#else
byte edges = 1, callbacks = 1;
#endif

/* Somebody has hurried, and nothing was drained since: the worker's own */
bit hurried;

/* In mutations, the store that clears urgent */
bit cleared_late;

#ifdef SPARE_MB_CLEAR
#define land_clear()							\
	d_step {							\
		urgent.mem = (cleared_late -> 0 : urgent.mem);		\
		cleared_late = 0					\
	}
#else
#define land_clear()	skip
#endif

inline land_worker()
{
	land(deep);
	land(state);
	land_clear()
}

/* try_to_wake_up(), after its full barrier */
inline wake_worker()
{
	state.mem = (state.mem == IDLE -> RUNNING : state.mem)
}

/* wake_up_all(): a waiter that is woken is off the list. */
inline wake_waiters()
{
	if
	:: waits && waiter_state == IDLE ->
		waiter_state = RUNNING;
		waits = 0
	:: else
	fi
}

inline mark_and_kick(cpu)
{
#ifdef NO_MB_MARK
	seen = deep.mem;
#endif
#ifndef NO_ORDER_MARK
	dirty = dirty | BIT(cpu);
#endif
#ifndef NO_MB_MARK
	seen = deep.mem;
#endif
	if
	:: seen ->
		/* Relaxed will do for the exchange: full barriers come before and after it. */
#ifdef SPARE_XCHG_DEEP
		deep.mem = 0;
#else
		d_step { seen = deep.mem; deep.mem = 0 }
#endif
		if
		:: seen -> atomic { wake_worker(); seen = 0 }
		:: else
		fi
	:: else
	fi
}

inline submit(cpu, it)
{
#ifdef NO_ORDER_MARK
	if
	:: !(queue[cpu] & LIST(it)) -> dirty = dirty | BIT(cpu)
	:: else
	fi;
#endif
	if
	:: atomic { queue[cpu] & LIST(it) -> queue[cpu] = queue[cpu] | it }
	:: atomic { !(queue[cpu] & LIST(it)) -> queue[cpu] = queue[cpu] | it }
		mark_and_kick(cpu)
	fi
}

/* hwheel_cancel(), close: a caller that finds the timeout queued has nothing to add. */
inline cancel_waited(cpu)
{
	if
	:: d_step { waited == PENDING -> waited = QUEUED }
		submit(cpu, WAITED)
	:: else
	fi
}

active proctype canceller()
{
	bit seen;

	if
	:: cancel_waited(0)
	:: skip
	fi;
	submit(0, OTHER);
	IS_OVER
}

/* kthread_stop() may come at any time; others then have the stopper to rely on. */
active proctype submitter()
{
	bit seen;

	if
	:: submit(0, FURTHER)
	:: should_stop = 1; wake_worker()
	:: urgent.mem = 1; wake_worker()
	:: skip
	fi;
	IS_OVER
}

inline hurry()
{
#ifdef NO_ORDER_URGENT
	wake_worker();
#endif
	store(urgent, 1);
#ifndef NO_MB_WAKE
	land(urgent);
#endif
#ifndef NO_ORDER_URGENT
	wake_worker()
#endif
}

inline look()
{
	if
#ifndef NO_HURRY
	:: waited == QUEUED -> hurry()
#endif
	:: else
	fi
}

inline cancel_sync()
{
	cancel_waited(1);
	look();
	do
	:: waited == SETTLED || gone -> break
	:: else ->
		/* prepare_to_wait() */
		atomic { waits = 1; waiter_state = IDLE }
		look();
		if
		:: waited == SETTLED -> break
		:: else -> waiter_state == RUNNING || gone
		fi
	od;
	atomic { waits = 0; waiter_state = RUNNING }
}

/* As the thread that stops a set: it has added the set, so the next pass will do. */
inline cancel_and_wait()
{
	if
	:: d_step { waited == PENDING -> waited = QUEUED; wants_pass = 1 }
		submit(1, WAITED);
		hurry();
		waited == SETTLED || gone;
		wants_pass = 0
	:: else
	fi
}

active proctype waiter()
{
	bit seen;

	if
	:: true -> cancel_sync()
	:: true -> cancel_and_wait()
	fi
}

/*
 * Exchanges a word of marks. This, hwheel_submit_take() and drain_some() have full barriers, for
 * which there is no need.
 */
inline take_marks(words)
{
	words--;
	if
	:: DIRTY & IN_WORD(words) ->
#ifndef SPARE_MB_TAKE
		land_worker();
#endif
		marked = DIRTY & IN_WORD(words);
#ifndef NO_ORDER_TAKE
		dirty = dirty & ~marked
#endif
	:: else
	fi
}

#ifdef NO_ORDER_TAKE
/* The mark that is taken after the list */
byte cleared;
#endif

inline take_list(cpu, list)
{
#ifndef SPARE_MB_TAKE
	land_worker();
#endif
	batch = batch | queue[cpu] & list;
	queue[cpu] = queue[cpu] & ~list
}

inline take_last(cpu)
{
	take_list(cpu, SECOND_LIST);
	marked = marked & ~BIT(cpu)
#ifdef NO_ORDER_TAKE
	; cleared = BIT(cpu)
#endif
}

inline act(drained)
{
#ifndef SPARE_MB_TAKE
	land_worker();
#endif
	drained++;
	if
	:: batch & WAITED -> batch = batch & ~WAITED; waited = SETTLED
	:: batch & OTHER -> batch = batch & ~OTHER
	:: batch & FURTHER -> batch = batch & ~FURTHER
	fi
}

/* xchg(&wheel->urgent, 0) */
inline clear_urgent()
{
	atomic {
		if
#ifdef SPARE_MB_CLEAR
		:: urgent.mem -> cleared_late = 1; hurried = 1
#else
		:: urgent.mem -> land_worker(); urgent.mem = 0; hurried = 1
#endif
		:: else
		fi
	}
}

inline begin_drain(words)
{
#ifdef NO_HURRIED_KEPT
	hurried = 0;
#endif
#ifndef NO_ORDER_CLEAR
	clear_urgent();
#endif
	words = WORDS
}

inline drain_some(drained, words)
{
	drained = 0;
	do
	:: atomic { drained < DRAIN_MAX && batch -> act(drained) }
#ifdef NO_ORDER_TAKE
	:: atomic { cleared -> dirty = dirty & ~cleared; cleared = 0 }
#endif
	:: atomic { drained < DRAIN_MAX && !batch && marked & BIT(0) -> take_list(0, FIRST_LIST) }
		atomic { take_last(0) }
	:: atomic { drained < DRAIN_MAX && !batch && marked == BIT(1) ->
		take_list(1, FIRST_LIST); take_last(1) }
	:: atomic { drained < DRAIN_MAX && !batch && !marked && words -> take_marks(words) }
	:: else -> break
	od;
#ifdef NO_ORDER_CLEAR
	clear_urgent();
#endif
#ifndef NO_WAKE_WAITERS
	atomic {
		if
		:: drained -> hurried = 0; land_worker(); wake_waiters()
		:: else
		fi
	}
#endif
}

/* hwheel_worker_drain(), by a callback in hwheel_cancel_sync() */
inline drain_within()
{
	begin_drain(words_within);
	drain_some(within, words_within);
#ifndef NO_HURRY_AGAIN
	/* The pass does not learn that there is more. */
	urgent.mem = (batch || marked || words_within -> 1 : urgent.mem);
#endif
	atomic { within = 0; words_within = 0 }
}

#ifdef NO_RECHECK_ROUND
#define IS_DRAINED	true
#else
#define IS_DRAINED	(!batch && !marked && !words)
#endif

/* A drain goes on until it is through. */
inline begin_pass()
{
	if
	:: !batch && !marked && !words ->
		atomic {
			before = (dirty & BIT(0) -> queue[0] : 0);
			before = before | (dirty & BIT(1) -> queue[1] : 0)
		}
		begin_drain(words)
	:: else ->
#ifdef NO_URGENT_KEPT
		clear_urgent()
#else
		skip
#endif
	fi
}

/* The next edge will come, but a further one may be too far off. */
inline sleep_until_edge()
{
	if
	:: atomic { state.mem == RUNNING -> land_worker() }
	:: atomic { !far && edges -> edges-- }
	:: timeout ->
		assert(!should_stop && !urgent.mem);
		assert(waiter_state == RUNNING && !wants_pass);
		if
		:: far ->
			assert(!batch && !queue[0] && !queue[1]);
end:			false
		:: else
		fi
	fi
}

inline publish()
{
	/* will_linger(), next_edge() */
	if
	:: far = 0
	:: far = 1
	fi;
	deeply = far;
#ifndef NO_DEEP_FOR_WAITER
	if
	:: !far -> deeply = hurried
	:: else
	fi;
#endif
	if
	:: deeply -> store(deep, 1)
	:: else
	fi;
	store(state, IDLE)
}

inline worker_sleep()
{
	atomic { publish() }
#ifndef NO_MB_SLEEP
	land_worker();
#endif
#ifndef NO_RECHECK_STOP
	if
	:: should_stop -> goto awake
	:: else
	fi;
#endif
#ifndef NO_RECHECK_URGENT
	if
	:: urgent.mem -> goto awake
	:: else
	fi;
#endif
#ifndef NO_RECHECK_DEEP
	if
	:: deeply && !load_own(deep) -> goto awake
	:: else
	fi;
#endif
#ifndef NO_RECHECK_MARKS
	if
	:: deeply && DIRTY -> goto awake
	:: else
	fi;
#endif
	land_worker();
	sleep_until_edge();
awake:
	atomic {
		store(state, RUNNING);
		if
		:: deeply -> store(deep, 0)
		:: else
		fi;
		deeply = 0;
		far = 0
	}
}

#ifdef NO_RECHECK_MAX
#define MAY_BE_MORE	false
#else
#define MAY_BE_MORE	(batch || marked || words)
#endif

/* run_pass(); the drain is for what was queued when the clock was read. */
inline run_pass()
{
	begin_pass();
	drain_some(drained, words);
	atomic {
		through = IS_DRAINED;
		assert(!through || !(before & (batch | queue[0] | queue[1])));
		before = (through -> 0 : before);
		drained = 0
	}
	if
	:: callbacks -> callbacks--; drain_within()
	:: true
	fi
}

/* run_passes() */
active proctype worker()
{
	byte drained, within, words, words_within, before;
	bit far, deeply, through = 1;

	do
	:: should_stop -> break
	:: else ->
		run_pass();
		if
		:: !MAY_BE_MORE -> worker_sleep()
		:: else
		fi
	od;
	gone = 1
}

active proctype buffers()
{
end:	do
	:: atomic { deep.late -> land(deep) }
	:: atomic { state.late -> land(state) }
	:: atomic { urgent.late -> land(urgent) }
	:: atomic { cleared_late -> land_clear() }
	od
}
