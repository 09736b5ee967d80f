/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One work on a wheel and a workqueue: it expires, is handed over, taken back, moved and armed
 * again, also by its own function, beside a stop of the wheel. The memory is sequentially
 * consistent: the word, the work item and the entry of what the worker calls are exchanged with
 * full order, or claimed.
 *
 *	hwheel_work_hand_over(), claim(), take_back(), hwheel_work_arm(),
 *	hwheel_work_mod(), hwheel_work_cancel()			module/engine/work.c
 *	close_and_look(), wait_for_function(), end_closing()	module/engine/cancel_sync.c
 *	hand_back_all(), hand_back_queued()			module/engine/stop.c
 *
 * Each user has a reference to the object, and takes one for the wheel before it arms or moves the
 * work, as hwheel_mod_at() describes. The function, the release op and the handback drop the
 * wheel's. Interrupts are off where an operation must not be interrupted for long; that others spin
 * meanwhile is a wait here.
 *
 * Checked:
 *  - nobody touches the object after its last reference was dropped, and none is left in the end;
 *  - each arm has one outcome: the function ran, a cancel prevented that, or stop handed it back;
 *  - the item is not queued twice, and no two runs overlap;
 *  - a work that cancel_sync returned for is at rest, and was not armed or run meanwhile;
 *  - nobody waits for ever.
 *
 * Without these is violated:
 * NO_CLAIM: arms == ...
 * NO_CLOSED: !listed && !filed && ...
 * NO_HANDING: refs && !queued
 * NO_SECOND_LOOK: !listed && !filed && ...
 * NO_SECTION: !refs && !listed
 * NO_STOPPING: invalid end state
 * NO_WAIT: !listed && !filed && ...
 */
#define PENDING		0
#define EXPIRED		1
#define CANCELLED	2
#define IDLE		3

#define USERS		2
#ifndef FIRST_OPS
#define FIRST_OPS	2
#endif

#ifdef NO_CLAIM
#define CLAIMED		EXPIRED
#else
#define CLAIMED		IDLE
#endif

#ifdef NO_STOPPING
#define STOPS		false
#else
#define STOPS		stopping
#endif

#ifdef NO_CLOSED
#define CLOSES		0
#else
#define CLOSES		1
#endif

/* The word */
byte state = IDLE;
bit q, closed;

/* Is it on a submission list, in a slot, and its item on the workqueue? */
bit listed, filed, queued;

/* Is it handed over, or its release op called? */
bit handing, releasing;

/* Functions under way, threads in cancel_sync, threads from a look at stopping to the push */
byte running, closers, sections;

bit stopping, worker_gone, stopped;

/* References: one of each user */
byte refs = USERS;

/* How many runs were handed over, and how many of these have ended or were taken back */
#ifdef HAS_FLUSH
byte handed, over;
#define NOTE_HANDED		handed++
#define NOTE_OVER(n)		over = over + n
#else
#define NOTE_HANDED		skip
#define NOTE_OVER(n)		skip
#endif

/* What happened */
byte arms, runs, prevented, handed_back, users_gone;

#define HANDED		(state == EXPIRED && q)
#define IS_CLAIMED	(state == IDLE && q)
#define SETTLED		(HANDED || (!q && state != PENDING))
#define MAY_ARM		(!q && !closed && state != PENDING)
#define AT_REST		(!listed && !filed && !queued && !running && !handing && !releasing)

inline push()
{
	atomic { assert(refs && !listed); listed = 1 }
}

inline put()
{
	atomic { assert(refs); refs-- }
}

/*
 * @took: 1 if it took the work back, whose state is @new then. If the wheel is being stopped, only a
 * caller that @releases takes it back.
 */
inline take_back(new, releases)
{
	took = 0;
	atomic { assert(refs); sections++ };
	if
	:: atomic { HANDED -> state = CLAIMED };
#ifndef NO_HANDING
		!handing;
#endif
		stops = STOPS;
		if
		:: new == EXPIRED || (new == PENDING && closed) || (stops && !(releases)) ->
			waits = queued
		:: else ->
			atomic { took = queued; waits = 0; queued = 0; NOTE_OVER(took) }
		fi;
		atomic {
			assert(refs);
			state = (took -> new : EXPIRED);
			q = took || waits
		};
		if
		:: took && stops -> put(); atomic { assert(q); q = 0 }
		:: took && !stops -> push()
		:: else
		fi
	:: atomic { !HANDED && !IS_CLAIMED }
	fi;
	sections--
}

/* The caller has taken a reference for the wheel. */
inline arm()
{
	do
	:: take_back(EXPIRED, false);
		sections++;
		if
		:: stopping -> sections--; put(); break
		:: else
		fi;
		if
		:: atomic { MAY_ARM -> assert(refs); state = PENDING; q = 1; arms++ };
			push();
			sections--;
			break
		:: atomic { !MAY_ARM && !IS_CLAIMED } -> sections--; put(); break
		:: IS_CLAIMED -> sections--
		fi
	od
}

inline mod()
{
	do
	:: take_back(PENDING, false);
		sections++;
		if
		:: stopping -> sections--; put(); break
		:: else
		fi;
		if
		:: atomic { MAY_ARM -> assert(refs); state = PENDING; q = 1; arms++ };
			push();
			sections--;
			break
		:: atomic { state == CANCELLED && q && !closed -> state = PENDING; arms++ };
			sections--;
			put();
			break
		:: atomic { state == PENDING && !closed } -> sections--; put(); break
		:: atomic { state == PENDING && !q && !closed -> q = 1 };
			push();
			sections--;
			put();
			break
		:: closed -> sections--; put(); break
		:: atomic { (HANDED || IS_CLAIMED) && !closed } -> sections--
		fi
	od
}

inline cancel(releases)
{
	sections++;
	if
	:: atomic { state == PENDING && q -> assert(refs); state = CANCELLED; prevented++ };
		sections--;
	:: atomic { state == PENDING && !q -> assert(refs); state = CANCELLED; q = 1; prevented++ };
		push();
		sections--;
	:: atomic { state != PENDING } ->
		sections--;
		take_back(CANCELLED, releases);
		prevented = prevented + took
	fi
}

inline cancel_sync()
{
	closers++;
	do
	:: closed = closed || CLOSES;
		cancel(true);
		/* A drain, or the end of what the worker calls, wakes the thread. */
		if
		:: atomic { SETTLED && !handing && !releasing };
			take_back(CANCELLED, true);
			prevented = prevented + took;
#ifndef NO_WAIT
			atomic { !queued && !running };
#endif
			if
			:: atomic { !q && state != PENDING && !releasing } -> break
#ifdef NO_SECOND_LOOK
			:: else -> break
#else
			:: else
#endif
			fi
		:: atomic { state == PENDING || IS_CLAIMED }
		fi
	od;
	atomic {
		assert(AT_REST && !q && state != PENDING);
		closers--;
		closed = closed && closers
	}
}

#ifdef HAS_FLUSH
/*
 * A pending work expires in the worker's next pass. A run that was handed over by then has ended, or
 * was taken back, on return.
 */
inline flush()
{
	state != PENDING || stopping;
	due = handed;
#ifndef DOES_NOT_CLAIM
	take_back(EXPIRED, false);
#endif
	atomic { !queued && !running };
	assert(over >= due)
}
#endif

/* The function arms its work once more, if that is allowed. */
proctype workqueue()
{
	bit armed, took, waits, stops;

end:	do
	:: atomic { queued && !running -> queued = 0; running++; runs++ };
		if
		:: atomic { !armed -> armed = 1; assert(refs); refs++ };
			arm()
		:: true
		fi;
		atomic { assert(refs && running == 1); refs--; running--; NOTE_OVER(1) }
	od
}

inline act()
{
	do
	:: atomic { state == PENDING -> filed = 1 };
		if
		:: atomic { state == PENDING -> q = 0 }; break
		:: else
		fi
	:: atomic { state == CANCELLED -> filed = 0; releasing = 1 };
		if
		:: atomic { state == CANCELLED -> q = 0 };
			put();
			releasing = 0;
			break
		:: else -> releasing = 0
		fi
	od
}

inline hand_over()
{
	atomic { assert(refs); filed = 0; handing = 1 };
	if
	:: atomic { state == PENDING && !q -> state = EXPIRED; q = 1; NOTE_HANDED };
		atomic { assert(refs && !queued); queued = 1 }
	:: atomic { state != PENDING || q }
	fi;
	handing = 0
}

proctype worker()
{
	do
	:: atomic { listed -> assert(refs); listed = 0 };
		act()
	:: atomic { filed && state == PENDING && !q };
		hand_over()
	:: stopping -> break
	od;
	worker_gone = 1
}

proctype stopper()
{
	stopping = 1;
	worker_gone;
	if
	:: filed ->
		filed = 0;
		releasing = 1;
		if
		:: atomic { state == PENDING && !q -> state = CANCELLED; handed_back++ };
			put()
		:: atomic { state != PENDING || q }
		fi;
		releasing = 0
	:: else
	fi;
#ifndef NO_SECTION
	!sections;
#endif
	do
	:: atomic { listed -> assert(refs); listed = 0; releasing = 1 };
		atomic {
			handed_back = handed_back + (state == PENDING);
			state = CANCELLED;
			q = 0
		};
		put();
		releasing = 0
	:: !listed -> break
	od;
	stopped = 1
}

proctype user(byte ops)
{
	bit took, waits, stops;
#ifdef HAS_FLUSH
	byte due;
#endif

	do
	:: ops ->
		ops--;
		if
		:: atomic { refs++ }; arm()
		:: atomic { refs++ }; mod()
		:: cancel(false)
		:: cancel_sync()
#ifdef HAS_FLUSH
		:: flush()
#endif
		fi
	:: break
	od;
	atomic { put(); users_gone++ }
}

init {
	atomic {
		run workqueue();
		run worker();
		run stopper();
		run user(FIRST_OPS);
		run user(1)
	}
	atomic {
		stopped && users_gone == USERS && !queued && !running ->
		assert(!refs && !listed);
		assert(arms == runs + prevented + handed_back)
	}
}
