/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One timeout on a wheel that runs callbacks on the worker, and two users; life.pml tells
 * what is checked. The callback of another timeout may cancel_sync it, too. That, like
 * any callback, may take long, but nobody waits for it who does not have to.
 *
 *	hwheel_worker_drain(), look_at_batch(), look_at(),
 *	worker_expire(), worker_call()			module/engine/worker.c
 *	hwheel_batch_begin(), hwheel_batch_next(),
 *	hwheel_batch_exchanged(), hwheel_batch_end()	module/engine/callback.h
 *
 * The worker ends a batch of callbacks when it pleases. It does not sleep while it has
 * something to do: sleep.pml is about that.
 *
 * Without these is violated:
 * NO_ACQUIRE_LOOK: saw_data || ...
 * NO_ACQUIRE_RUNNING: seen_over[me]
 * NO_ACQUIRE_SETTLED: !releasing && !expiring && ...
 * NO_LAST_CLOSER: !listed && filed == 2 && ...
 * NO_MB_ACTED: !releasing && !expiring && ...
 * NO_MB_AWAIT: !closers
 * NO_MB_BATCH_END: !closers
 * NO_MB_END_CALLBACK: !closers
 * NO_MB_EXPIRE: !releasing && !expiring && ...
 * NO_MB_PREPARE: !closers
 * NO_ORDER_BEGIN: !releasing && !expiring && ...
 * NO_ORDER_BEGIN_RELEASE: !releasing && !expiring && ...
 * NO_ORDER_LINK: !freed
 * NO_ORDER_POP: (seen & 3) == 0
 * NO_ORDER_UNLINK: !releasing && !expiring && ...
 * NO_ORDER_WHEEL: !freed
 * NO_RECHECK_CLOSED: !listed && filed == 2 && ...
 * NO_RECHECK_QUEUED: !freed && releases && ...
 * NO_RECHECK_RUNNING: !releasing && !expiring && ...
 * NO_RELEASE_ARM: !freed && outcomes && ...
 * NO_RELEASE_BATCH_END: !releasing && !expiring && ...
 * NO_RELEASE_CANCEL: !freed && releases && ...
 * NO_RELEASE_END: !releasing && !expiring && ...
 * NO_RELEASE_MOD: data != 2
 * NO_RELEASE_NEXT: !releasing && !expiring && ...
 * NO_RELEASE_REFRESH: data != 2
 * NO_RELEASE_REFRESH_LATER: !freed && releases && ...
 * NO_WAKE_BATCH_END: !closers
 * NO_WAKE_DRAIN: !closers
 * NO_WAKE_END: !closers
 * NO_WAKE_NEXT: !closers
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
#define HAS_BATCHES

/* The worker is in a batch of callbacks. Those do not drain, but what they call may. */
bit in_batch;

#define IN_BATCH(depth)	(!depth && in_batch)

#include "life.pml"

/* Stores with release land after what was stored before. */
#define ENDS(depth)		(running[depth].own == NONE)
#ifdef NO_RELEASE_END
#define IS_RELAXED(depth)	(!IN_BATCH(depth) && ENDS(depth))
#elif defined(SPARE_RELEASE_BEGIN)
#define IS_RELAXED(depth)	(!IN_BATCH(depth) && !ENDS(depth))
#elif defined(NO_RELEASE_BATCH_END)
#define IS_RELAXED(depth)	(IN_BATCH(depth) && ENDS(depth))
#elif defined(NO_RELEASE_NEXT)
#define IS_RELAXED(depth)	(IN_BATCH(depth) && !ENDS(depth))
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

/* The barrier was the exchange. */
inline exchanged()
{
#ifndef NO_WAKE_NEXT
	wake_awaiting()
#else
	skip
#endif
}

/* worker_expire(); it takes the place of the one before it in the batch. */
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
	:: done -> exchanged(); call_expire()
	:: else
	fi
}

inline end_batch()
{
#ifdef NO_WAKE_BATCH_END
	store(running[0], NONE);
#elif defined(NO_MB_BATCH_END)
	store(running[0], NONE);
	wake_awaiting();
#else
	finish(0);
#endif
	in_batch = 0
}

inline drain_here()
{
	if
	:: drain(1)
	:: IS_SETTLED(word)
	fi
}

#ifdef DRAINS_WITHIN
/* It comes upon this one, whichever timeout it waits for. */
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
	in_batch = 1;
	store(running[0], OTHER);
	atomic { land_stores() }
	exchanged();
	leave_there();
	closers == 0 || !IS_SETTLED(word);
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
	bit armed, adds, settled, last;

	use(ops)
}

proctype worker()
{
	byte me = WORKER, seen, tries;
	bit done, armed, adds, settled, next;

end:	do
	:: drain(0)
	:: atomic { filed <= reached -> pop_filed(); in_batch = 1 }
		look_if_due()
	:: others -> call_other()
	:: in_batch -> end_batch()
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
