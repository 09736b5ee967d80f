/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The life of one timeout, as far as the models share it: what users, callbacks and the
 * worker do with it.
 *
 *	do_set(), quick_arm(), quick_refresh(), do_cancel(), cancel_from(),
 *	submit()					module/engine/submit.c
 *	hwheel_submit_pop()				module/engine/submit.h
 *	worker_drain_some(), worker_drain_batch(), worker_act_on_latest(), worker_act(),
 *	worker_release(), worker_defers(), worker_requeue(), look_at()	module/engine/worker.c
 *	close_and_look(), close_and_wait(),
 *	end_closing(), is_settled()			module/engine/cancel_sync.c
 *	hwheel_callback_begin(), hwheel_callback_end(), hwheel_wake_waiters(),
 *	hwheel_wake_awaiting(), hwheel_callback_await()		module/engine/callback.h
 *	hwheel_word_arm() and all the others			module/engine/state.h
 *
 * The quick forms of arm, mod and cancel do what the full ones do, so they are one here. A reduce is a mod
 * or does nothing.
 *
 * Left out: what the due op (worker_call_due() in module/engine/worker.c) does, which can be no more than to
 * refresh, as a user may at that moment; max_pending, -ERANGE, tracepoints and counts.
 *
 * Checked:
 *  - each arm has one outcome: the callback is called, or it is prevented;
 *  - each cancel has one release, if there is such an op, unless a mod takes the timeout back, and
 *    no arm comes before that is called;
 *  - nothing touches the timeout once it is freed, which its owner does
 *     - in the callback or in the release op, each arm having a reference, and each mod that
 *       found the timeout not held; or
 *     - when cancel_sync has returned;
 *  - callbacks see what was written before the arm, refresh or cancel, and who called
 *    cancel_sync sees what callbacks wrote;
 *  - nobody waits for ever, and in the end what is pending is filed for its deadline at
 *    the latest, and was not due.
 *
 * A model defines CPUS, how many threads there are: users first, then the worker, then its
 * own; HOLDERS, how many of them have a reference; FIRST and SECOND, how much the users do
 * before they give theirs up; REARMS, how often callbacks arm again; HAS_TIME, are there
 * later deadlines; HAS_DATA, does the first user write anything. If it HAS_BATCHES, it defines
 * what else belongs to these. OTHERS is how often a callback of another
 * timeout is called on the worker, who has a reference then: such a model defines drain_here().
 * If it DRAINS_WITHIN, its own expire callback may do so, too, by drain_in_callback().
 */
#include "memory.pml"
#include "word.pml"

#ifndef HAS_BATCHES
#define IN_BATCH(depth)		false
#endif

#ifndef DRAINS_WITHIN
#define drain_in_callback()		skip
#endif

#define USERS		2
#define WORKER		USERS
#define ACT_MAX		2

/* Timeouts in wheel->running: the one, and another one */
#define NONE		0
#define IT		1
#define OTHER		2

/* Where it is filed: for an edge, or */
#define NOWHERE		2

/* What the first user writes before it arms and so on: need a callback see it? */
#define LANDED		0
#define BUFFERED	1
#define PUBLISHED	2

#ifndef OTHERS
#define OTHERS		0
#endif

/* Do users call hwheel_mod_at()? */
#ifndef HAS_MOD
#define HAS_MOD		true
#endif

/* And hwheel_shutdown_sync()? */
#ifndef HAS_SHUTDOWN
#define HAS_SHUTDOWN	false
#endif

/* Nested, in its own callback */
#ifndef IS_WITHIN
#define IS_WITHIN(depth)	(depth && load_own(running[0]) == IT)
#endif

/* How often the callback of the other one is still to be called */
byte others = OTHERS;

#ifdef HAS_STOP
#include "halt.pml"
#else
#define BEGIN_SECTION(op)
#define END_SECTION
#define IS_BARRED		false
#define UNLESS_BARRED
#define kick()			skip
#define hurry()			skip
#endif

/* What the owner does, constant: has it a release op, has each arm a reference? */
bit has_release, counted;

/* The timeout; linked: its link is in use, filed: the worker's own */
byte word = IDLE, filed = NOWHERE;
bit listed, linked, freed;

/* The wheel; running is by depth */
bit reached;
buffered running[2];
byte closers;
bit waits[USERS], sleeps[USERS];

/* References: the users', the arms', perhaps of more */
byte refs = HOLDERS;

/* A thread has written to the timeout, or to what it is in, and it has not landed. */
bit written[CPUS];
byte data = LANDED;

/* Arms without an outcome yet, cancels without a release yet; which op is being called */
byte outcomes, releases;
bit releasing, expiring;

/* A callback that is under way is waited for: wheel->awaited. */
bit awaited;

/* Has it been shut down? Who is about to do so? */
bit shut, shuts[CPUS];

#ifndef STAYS_SHUT
#define STAYS_SHUT	shut
#endif

/* How many releases a mod that takes a timeout back makes void */
#ifndef VOIDS
#define VOIDS		has_release
#endif

byte rearms = REARMS;

inline land_stores()
{
	assert(!written[me] || !freed);
	written[me] = 0;
	if
	:: me == WORKER -> land(running[0]); land(running[1])
	:: else
	fi
}

inline free()
{
	assert(!freed);
	freed = 1
}

/* As refcount_dec_and_test(), with release */
inline put()
{
	atomic {
		if
		:: counted ->
			written[me] = 0;
			refs--;
			if
			:: !refs -> free()
			:: else
			fi
		:: else
		fi
	}
}

#ifdef NO_ACQUIRE_LOOK
/* The first user has changed the word. What the worker saw of that, and of the data before */
bit published, saw_published, saw_data;
#endif

/*
 * Submission. An operation with release lands what was written before; adding to a list
 * is a full barrier.
 */
inline land_data()
{
	data = (me == 0 -> LANDED : data)
}

inline change(new)
{
#ifdef NO_ACQUIRE_LOOK
	published = published || me == 0;
#endif
	data = (me == 0 && data == BUFFERED -> PUBLISHED : data);
	adds = !(word & QUEUED) && (new & QUEUED);
	word = new
}

inline submit()
{
	if
	:: atomic { adds ->
		assert(!freed && !listed && !linked);
		listed = 1;
		linked = 1;
		land_data();
		adds = 0
	   }
#ifdef NO_ORDER_WHEEL
		assert(!freed);
#endif
		kick()
	:: else
	fi
}

inline arm_from_word(gets)
{
	assert(!shut && (!releases || !(word & QUEUED)));
#ifndef NO_RELEASE_ARM
	land_data();
#endif
	if
	:: true -> change(WORD(DUE, PENDING | QUEUED))
	:: HAS_TIME -> change(WORD(LATER, PENDING | QUEUED))
	fi;
	outcomes++;
	armed = 1;
	refs = refs + (counted && gets)
}

inline try_to_arm(gets)
{
	atomic {
		assert(!freed);
		if
		:: MAY_ARM(word) -> arm_from_word(gets)
		:: else
		fi
	}
}

/* A user that armed without getting a reference has left its own to the arm. */
inline arm(gets)
{
	armed = 0;
	BEGIN_SECTION(arm)
	if
	:: IS_BARRED
	:: UNLESS_BARRED try_to_arm(gets)
	fi;
	submit()
	END_SECTION
}

/* Moves one that is pending, takes back one that is cancelled and held, or arms. */
inline try_to_mod()
{
	atomic {
		assert(!freed);
		if
		:: IS_PENDING(word) && !(word & CLOSED) ->
#ifndef NO_RELEASE_MOD
			land_data();
#endif
			if
			:: HAS_TIME -> change(WORD(LATER, word & FLAGS))
			:: DEADLINE(word) == LATER -> change(WORD(DUE, word & FLAGS | QUEUED))
			:: true -> change(word)
			fi
		:: (word & FLAGS) == (CANCELLED | QUEUED) ->
			land_data();
			releases = releases - VOIDS;
			if
			:: true -> change(WORD(DUE, PENDING | QUEUED))
			:: HAS_TIME -> change(WORD(LATER, PENDING | QUEUED))
			fi;
			outcomes++
		:: MAY_ARM(word) && (word & FLAGS) != (CANCELLED | QUEUED) -> arm_from_word(false)
		:: else
		fi
	}
}

/* With a reference that the wheel keeps if it did not hold the timeout */
inline mod()
{
	atomic { refs = refs + counted; armed = 0 }
	BEGIN_SECTION(arm)
	if
	:: IS_BARRED
	:: UNLESS_BARRED try_to_mod()
	fi;
	submit()
	END_SECTION;
	if
	:: !armed -> put()
	:: else
	fi
}

/* Outside of any section: there is nothing to add. */
inline refresh_later()
{
	assert(!freed);
#ifndef NO_RELEASE_REFRESH_LATER
	land_data();
#endif
	change(WORD(LATER, PENDING))
}

inline do_refresh()
{
	BEGIN_SECTION(refresh)
	atomic {
		assert(!freed);
#ifndef NO_RELEASE_REFRESH
		land_data();
#endif
		if
		:: IS_PENDING(word) -> change(WORD(LATER, word & FLAGS))
		:: IS_PENDING(word) && DEADLINE(word) == LATER ->
			change(WORD(DUE, word & FLAGS | QUEUED))
		:: !IS_PENDING(word)
		fi
	}
	submit()
	END_SECTION
}

inline refresh()
{
	if
	:: atomic { IS_FILED(word) -> refresh_later() }
	:: do_refresh()
	fi
}

inline prevented()
{
	outcomes--;
	releases = releases + has_release
}

inline cancel()
{
	BEGIN_SECTION(cancel)
	atomic {
		assert(!freed);
#ifndef NO_RELEASE_CANCEL
		land_data();
#endif
		if
		:: IS_PENDING(word) ->
			change(SET_STATE(word, CANCELLED) | QUEUED);
			prevented()
		:: else
		fi
	}
	submit()
	END_SECTION
}

inline close()
{
	atomic { assert(!freed); word = word | CLOSED }
}

/* No callback can write any more, and what they wrote has landed. */
#define IS_OVER		(!releasing && !expiring && !written[WORKER])

/* In mutations, what the caller reads of what callbacks wrote is read before a look at them. */
#if defined(NO_ACQUIRE_RUNNING) || defined(SPARE_ACQUIRE_OPEN)
#define READS_EARLY
#endif
#ifdef READS_EARLY
bit seen_over[CPUS];
#define SEES_OVER	seen_over[me]
#else
#define SEES_OVER	IS_OVER
#endif

/* hwheel_callback_await() */
inline await_callback()
{
	if
	:: settled ->
		settled = (running[0].mem != IT);
		settled = settled && running[1].mem != IT;
		if
		:: !settled ->
			awaited = 1;
#ifndef NO_MB_AWAIT
			settled = (running[0].mem != IT);
			settled = settled && running[1].mem != IT
#endif
		:: else
		fi
	:: else
	fi
}

/* The word comes first. */
inline close_and_look()
{
	close();
	cancel();
	hurry();
#ifdef NO_ACQUIRE_SETTLED
	awaited = 1;
	settled = running[0].mem != IT && running[1].mem != IT;
	settled = settled && IS_SETTLED(word)
#else
	settled = IS_SETTLED(word);
#ifdef NO_ACQUIRE_RUNNING
	seen_over[me] = IS_OVER;
#endif
#ifndef NO_RECHECK_RUNNING
	await_callback()
#endif
#ifdef SPARE_ACQUIRE_OPEN
	; seen_over[me] = IS_OVER
#endif
#endif
}

/* Nothing refers to it, its callbacks are over, and nobody can arm it. */
inline end_closing()
{
	assert(!listed && filed == NOWHERE && !outcomes && !releases);
	assert(SEES_OVER);
	closers--;
	shut = shut || shuts[me];
	shuts[me] = 0;
#ifdef NO_LAST_CLOSER
	word = word & ~CLOSED;
#else
	word = (closers || STAYS_SHUT -> word : word & ~CLOSED);
#endif
	settled = 0
}

/* wake_up_all() takes whom it wakes off the list. */
inline wake_all()
{
	if
	:: waits[0] && sleeps[0] -> waits[0] = 0; sleeps[0] = 0
	:: else
	fi;
	if
	:: waits[1] && sleeps[1] -> waits[1] = 0; sleeps[1] = 0
	:: else
	fi
}

/*
 * hwheel_wake_waiters(). An exchange is the barrier before it, so no search shows that it needs that
 * of wq_has_sleeper().
 */
inline wake_waiters()
{
	atomic {
		land_stores();
		wake_all()
	}
}

/* hwheel_wake_awaiting(): the wake-up, which takes a lock, comes last. */
inline wake_awaiting()
{
	if
	:: atomic { awaited -> awaited = 0 }
		atomic { wake_all() }
	:: else
	fi
}

/* A full barrier comes before one looks again. */
inline prepare_to_wait()
{
	atomic { waits[me] = 1; sleeps[me] = 1 }
}

inline close_and_wait()
{
	closers++;
	do
	:: settled -> break
	:: else ->
#ifndef NO_MB_PREPARE
		prepare_to_wait();
#endif
		close_and_look();
#ifdef NO_MB_PREPARE
		prepare_to_wait();
#endif
		if
		:: settled
		:: else -> !sleeps[me]
		fi
	od;
	atomic { waits[me] = 0; sleeps[me] = 0; end_closing() }
}

/* On the worker */
inline close_and_drain()
{
	closers++;
	do
	:: settled -> break
	:: else ->
		close_and_look();
		drain_here()
	od;
	atomic { end_closing() }
}

/* Callbacks. The arm that had its outcome had a reference, which the next one may get. */
inline arm_or_put()
{
	if
	:: rearms -> rearms--; arm(false)
	:: armed = 0
	fi;
	if
	:: !armed -> put()
	:: else
	fi
}

inline call_expire()
{
	atomic {
		assert(!freed && outcomes && data != PUBLISHED && !expiring && !releasing);
		outcomes--;
		expiring = 1;
		written[me] = 1
	}
	arm_or_put();
	drain_in_callback();
	expiring = 0
}

/* But for the end of it, before which it may go on */
inline call_release()
{
	atomic {
		assert(!freed && releases && data != PUBLISHED && !expiring && !releasing);
		releases--;
		releasing = 1;
		written[me] = 1
	}
	arm_or_put()
}

inline begin(depth)
{
	store(running[depth], IT)
}

inline finish(depth)
{
	store(running[depth], NONE);
#ifndef NO_WAKE_END
#ifndef NO_MB_END_CALLBACK
	atomic { land_stores() }
#endif
	wake_awaiting()
#endif
}

/* The worker. Its transitions are full barriers, if they succeed. */

#ifdef NO_MB_ACTED
#define ACTED_IS_FULL	false
#else
#define ACTED_IS_FULL	true
#endif

inline exchange(new, is_full)
{
	assert(!freed);
	done = (word == seen);
	if
	:: done && is_full -> land_stores(); word = new
	:: done && !is_full -> word = new
	:: else -> seen = word
	fi
}

/* Or unlinks it */
inline file()
{
	assert(!freed);
	written[me] = 1;
	filed = (IS_PENDING(seen) -> DEADLINE(seen) : NOWHERE)
}

inline release(depth)
{
#ifndef NO_ORDER_BEGIN_RELEASE
	begin(depth);
#endif
	atomic { exchange(seen & ~QUEUED, ACTED_IS_FULL) }
#ifdef NO_ORDER_BEGIN_RELEASE
	begin(depth);
#endif
	if
	:: done -> call_release(); releasing = 0
	:: else
	fi;
	finish(depth)
}

inline requeue()
{
	atomic { assert(!freed && !listed && !linked); listed = 1; linked = 1 }
}

inline act(depth)
{
#ifndef NO_ORDER_UNLINK
	atomic { file() }
#endif
	if
	:: has_release && !IS_PENDING(seen) && IS_WITHIN(depth) ->
		requeue();
		done = 1
	:: has_release && !IS_PENDING(seen) && !IS_WITHIN(depth) ->
		release(depth)
	:: else ->
		atomic { exchange(seen & ~QUEUED, ACTED_IS_FULL) }
	fi;
#ifdef NO_ORDER_UNLINK
	atomic { file() }
#endif
}

inline act_on_latest(depth)
{
	do
	:: tries ->
		act(depth);
		if
		:: done -> break
		:: else -> tries--
		fi
	:: else ->
		requeue();
		break
	od
}

inline pop_listed()
{
	assert(!freed);
	listed = 0;
#ifndef NO_ORDER_LINK
	linked = 0;
#endif
	tries = ACT_MAX;
	seen = word
}

/* hwheel_worker_drain() */
inline drain(depth)
{
	atomic { listed && !IN_BATCH(depth) -> pop_listed() }
	act_on_latest(depth);
#ifdef NO_ORDER_LINK
	atomic { assert(!freed); linked = 0 }
#endif
#ifndef NO_WAKE_DRAIN
	wake_waiters();
#endif
	atomic { done = 0; seen = 0; tries = 0 }
}

inline pop_filed()
{
	assert(!freed);
	filed = NOWHERE;
	written[me] = 1
}

#ifdef SPARE_RECHECK_MOVE
#define MAY_MOVE	true
#else
#define MAY_MOVE	!(seen & QUEUED)
#endif

/* The due op reads what its owner wrote, and nothing but the look at the word comes before. */
inline tell_due()
{
	assert(data != PUBLISHED);
#ifdef NO_ACQUIRE_LOOK
	assert(saw_data || !saw_published);
#endif
}

/* look_at() */
inline look_if_due()
{
#ifdef NO_ACQUIRE_LOOK
	saw_data = (data == LANDED);
#endif
	atomic {
		assert(!freed);
		seen = word;
#ifdef NO_ACQUIRE_LOOK
		saw_published = published;
#endif
		if
		:: IS_DUE(seen) -> tell_due()
		:: else
		fi
	}
	do
	:: IS_DUE(seen) ->
		assert(IS_PENDING(seen));
		expire();
		if
		:: done -> break
		:: else
		fi
	:: else ->
		atomic {
			if
			:: MAY_MOVE -> file()
			:: else
			fi
		}
		break
	od;
	atomic { done = 0; seen = 0 }
}

/* By the callback of the other one */
inline leave_there()
{
	if
	:: counted -> put()
	:: !counted && refs == 1 -> close_and_drain(); free()
	:: !counted && refs > 1 -> close_and_drain(); refs--
	fi
}

/* Everyone has a reference. The last one either leaves it to an arm or frees. */
inline leave()
{
	if
	:: counted ->
		arm(false);
		if
		:: !armed -> put()
		:: else
		fi
	:: counted -> put()
	:: atomic { !counted -> refs--; last = !refs }
		if
		:: last -> close_and_wait(); free()
		:: else
		fi
	fi
}

/* With one's locals: armed, adds, settled, last */
inline use(ops)
{
	do
	:: atomic { ops -> ops--; data = (HAS_DATA && me == 0 -> BUFFERED : data) }
		if
		:: arm(true)
		:: HAS_MOD -> mod()
		:: HAS_TIME -> refresh()
		:: has_release || !counted -> cancel()
		:: !counted -> close_and_wait()
		:: !counted && HAS_SHUTDOWN -> shuts[me] = 1; close_and_wait()
		fi
	:: else -> break
	od;
	leave()
}

/* LATER may come at any time or never. */
active proctype clock()
{
	if
	:: HAS_TIME -> reached = LATER
	:: true
	fi
}

/* Asserts what must hold when nothing can happen any more. */
inline judge()
{
	assert(outcomes == IS_PENDING(word) && !releases);
	assert(!closers);
	assert(!counted || refs == outcomes && freed == !refs);
	assert(freed || !(word & QUEUED));
	assert(!IS_PENDING(word) || filed <= DEADLINE(word) && DEADLINE(word) > reached)
}
