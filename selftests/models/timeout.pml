/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One timeout on a wheel that runs callbacks on the worker, and two users; life.pml tells
 * what is checked. The callback of another timeout may cancel_sync it, too. That, like
 * any callback, may take long, but nobody waits for it who does not have to.
 *
 *	hwheel_worker_drain(), look_at(), worker_call(),
 *	look_at_batch(), look_in_batch(), look_again()	module/engine/worker.c
 *	hwheel_batch_begin(), hwheel_batch_next(),
 *	hwheel_batch_exchanged(), hwheel_batch_end()	module/engine/callback.h
 *
 * The worker has callbacks in rows or one by one as it pleases, as what it decides that by
 * may change any time. It does not sleep while it has something to do: sleep.pml is about
 * that.
 *
 * Without these is violated:
 * NO_ACQUIRE_ARM: !releases && (!releasing || ...
 * NO_ACQUIRE_LOOK: saw_data || ...
 * NO_ACQUIRE_RUNNING: seen_over[me]
 * NO_ACQUIRE_SETTLED: !releasing && !expiring && ...
 * NO_LAST_CLOSER: !listed && filed == 2 && ...
 * NO_MB_ACTED: !releasing && !expiring && ...
 * NO_MB_EXPIRE: !releasing && !expiring && ...
 * NO_MB_PREPARE: !closers
 * NO_MB_ROW_END: !closers
 * NO_MB_ROW_EXPIRE: !releasing && !expiring && ...
 * NO_MB_WAKE: !closers
 * NO_ORDER_BEGIN: !releasing && !expiring && ...
 * NO_ORDER_BEGIN_RELEASE: !releasing && !expiring && ...
 * NO_ORDER_LINK: !freed
 * NO_ORDER_POP: (seen & 3) == 0
 * NO_ORDER_ROW_NEXT: !releasing && !expiring && ...
 * NO_ORDER_UNLINK: !releasing && !expiring && ...
 * NO_ORDER_WHEEL: !freed
 * NO_RECHECK_CLOSED: !listed && filed == 2 && ...
 * NO_RECHECK_QUEUED: !freed
 * NO_RECHECK_RELEASE: !releases && (!releasing || ...
 * NO_RECHECK_ROW_QUEUED: !freed && outcomes && ...
 * NO_RECHECK_RUNNING: !releasing && !expiring && ...
 * NO_RELEASE_ARM: !freed && outcomes && ...
 * NO_RELEASE_CANCEL: !freed && releases && ...
 * NO_RELEASE_CLOSE: !freed && releases && ...
 * NO_RELEASE_END: !releasing && !expiring && ...
 * NO_RELEASE_REFRESH: data != 2
 * NO_RELEASE_ROW_END: !releasing && !expiring && ...
 * NO_RELEASE_ROW_NEXT: !releasing && !expiring && ...
 * NO_RELEASE_TRY_REFRESH: !freed && releases && ...
 * NO_WAKE_END: !closers
 * NO_WAKE_ROW_END: !closers
 * NO_WAKE_ROW_NEXT: !closers
 */
#define CPUS		3
#ifndef HOLDERS
#define HOLDERS		3
#define REARMS		1
#define HAS_TIME	true
#define HAS_DATA	true
#define FIRST		1
#define SECOND		1
#define OTHERS		1
#endif
#define HAS_ROWS

/* The worker is in a row of callbacks. Those do not drain, but what they call may. */
bit in_row;

#define IN_ROW(depth)	(!depth && in_row)

#include "life.pml"

/* Stores with release land after what was stored before. */
#define ENDS(depth)		(running[depth].own == NONE)
#ifdef NO_RELEASE_END
#define IS_RELAXED(depth)	(!IN_ROW(depth) && ENDS(depth))
#elif defined(SPARE_RELEASE_BEGIN)
#define IS_RELAXED(depth)	(!IN_ROW(depth) && !ENDS(depth))
#elif defined(NO_RELEASE_ROW_END)
#define IS_RELAXED(depth)	(IN_ROW(depth) && ENDS(depth))
#elif defined(NO_RELEASE_ROW_NEXT)
#define IS_RELAXED(depth)	(IN_ROW(depth) && !ENDS(depth))
#else
#define IS_RELAXED(depth)	false
#endif

inline land_running(depth)
{
	running[depth].late && (!written[WORKER] || IS_RELAXED(depth)) -> land(running[depth])
}

active proctype buffers()
{
end:	do
	:: atomic { written[WORKER] -> assert(!freed); written[WORKER] = 0 }
	:: atomic { land_running(0) }
	:: atomic { land_running(1) }
	:: atomic { data != LANDED -> data = LANDED }
	od
}

#ifdef NO_MB_EXPIRE
#define EXPIRE_IS_FULL		false
#else
#define EXPIRE_IS_FULL		true
#endif

#ifdef NO_MB_ROW_EXPIRE
#define ROW_EXPIRE_IS_FULL	false
#else
#define ROW_EXPIRE_IS_FULL	true
#endif

/* call() */
inline expire()
{
#ifndef NO_ORDER_BEGIN
	begin(0);
#endif
	atomic { exchange(SET_STATE(seen, EXPIRED), EXPIRE_IS_FULL) }
#ifdef NO_ORDER_BEGIN
	begin(0);
#endif
	if
	:: done -> call_expire()
	:: else
	fi;
	finish(0)
}

/* The barrier was the exchange. */
inline row_exchanged()
{
#ifndef NO_WAKE_ROW_NEXT
	atomic { wake_all() }
#else
	skip
#endif
}

inline row_end()
{
#ifdef NO_WAKE_ROW_END
	store(running[0], NONE);
#elif defined(NO_MB_ROW_END)
	store(running[0], NONE);
	atomic { wake_all() }
#else
	finish(0);
#endif
	in_row = 0
}

#ifdef NO_RECHECK_ROW_QUEUED
#define ROW_IS_QUEUED(word)	false
#else
#define ROW_IS_QUEUED(word)	((word) & QUEUED)
#endif

/* Leaves the row for look_at() if the word was changed meanwhile. */
inline look_in_row()
{
	atomic { assert(!freed); seen = word }
	if
	:: ROW_IS_QUEUED(seen)
	:: !ROW_IS_QUEUED(seen) && DEADLINE(seen) > reached -> atomic { file() }
	:: else ->
#ifndef NO_ORDER_ROW_NEXT
		store(running[0], IT);
#endif
		atomic { exchange(SET_STATE(seen, EXPIRED), ROW_EXPIRE_IS_FULL) }
#ifdef NO_ORDER_ROW_NEXT
		store(running[0], IT);
#endif
		if
		:: done -> row_exchanged(); call_expire()
		:: else -> row_end(); again = 1
		fi
	fi;
	atomic { done = 0; seen = 0 }
}

/* The next of a list, in a row or not */
inline look_at_next()
{
	if
	:: true -> in_row = 1
	:: !in_row
	fi;
	again = !in_row;
	if
	:: in_row -> look_in_row()
	:: else
	fi;
	if
	:: again -> again = 0; look_if_due()
	:: else
	fi
}

inline drain_here()
{
	if
	:: drain(1)
	:: IS_SETTLED(word)
	fi
}

#ifdef DRAINS_WITHIN
/* Whoever it waits for by that, it comes upon this one. */
inline drain_in_callback()
{
	if
	:: listed -> drain(1); done = 1
	:: true
	fi
}
#endif

/* Its word is exchanged, too. */
inline call_other()
{
#ifdef NO_ORDER_POP
	next = (filed <= reached);
#endif
	others--;
	if
	:: true -> in_row = 1
	:: !in_row
	fi;
	store(running[0], OTHER);
	atomic { land_stores() }
	if
	:: in_row -> row_exchanged()
	:: else
	fi;
	leave_there();
	closers == 0 || !IS_SETTLED(word);
	if
	:: !in_row -> finish(0)
	:: else
	fi;
#ifdef NO_ORDER_POP
	if
	:: next -> next = 0;
		atomic { pop_filed() }
		look_if_due()
	:: else
	fi
#endif
}

proctype user(byte me; byte ops)
{
	byte old;
	bit armed, in_release, adds, settled, last;

	use(ops)
}

proctype worker()
{
	byte me = WORKER, seen, old, tries;
	bit done, armed, in_release, adds, settled, next, again;

end:	do
	:: drain(0)
	:: atomic { filed <= reached -> pop_filed() }
		look_at_next()
	:: others -> call_other()
	:: in_row -> row_end()
	od
}

active proctype at_end()
{
	timeout -> judge()
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
		run user(0, FIRST);
		run user(1, SECOND);
		run worker()
	}
}
