/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Two records of a mapping, as far as the models of mapped timeouts share them: what the threads
 * of a program do with them, and what the worker does. mapped.pml names the functions.
 *
 * Each operation of a thread takes the record as it is: the load and the exchange are one step,
 * as an exchange that fails begins again. In walk.pml a thread arms a record without QUEUED by a
 * load and a store, which are two steps. A record changes hands freely: any thread arms one that is
 * IDLE or CANCELLED. An operation that would change nothing is left out.
 *
 * The worker drains and expires as much as it pleases in a pass, so that a pass may end in the
 * midst of either. Lists have no order among them. Of the engine this model has ACTIVE, and
 * whether the source is on wheel->kicked; source.pml has the rest.
 *
 * Checked:
 *  - each arm ends once: a cancel or withdrawing its event succeeds, or there is one event;
 *  - no timeout expires before the deadline in its word;
 *  - no record is pushed while it is on a list;
 *  - the ring never overflows, and each of its entries is reaped once;
 *  - when nothing can happen any more but that time goes by, the lists are ASLEEP, no record is
 *    QUEUED, and a pending record is filed for its deadline at the latest, and was not due.
 *
 * A model defines FIRST and SECOND, how much the two threads do. HAS_STOPS: one of them may stop
 * for ever between setting QUEUED and the end of its push. HAS_STOP: the file is stopped and
 * closed, by shutdown.pml. HAS_REAPERS: reaping in full, by reap.pml. HAS_TAG: the count of the
 * record's arms is a part of the word. HAS_WITHDRAW: threads withdraw events.
 */
#include "memory.pml"

#define RECORDS		2
#define LISTS		2

/* The word; DUE was reached, LATER may be reached some time. */
#define PENDING		0
#define EXPIRED		1
#define CANCELLED	2
#define IDLE		3
#define QUEUED		4
#define WITHDRAWN	64
#define DUE		0
#define LATER		1
#define TAGS		4

#define WORD(tag, deadline, flags)	((tag) << 4 | (deadline) << 3 | (flags))
#define STATE(word)			((word) & 3)
#define DEADLINE(word)			((word) >> 3 & 1)
#define TAG(word)			((word) >> 4 & 3)
#define IS_EVENT(word)			(((word) & (3 | WITHDRAWN)) == EXPIRED)
#define IS_PENDING(word)		(STATE(word) == PENDING)
#define IS_DUE(word)			(IS_PENDING(word) && HAS_COME(DEADLINE(word)))
#define MAY_ARM(word)			((word) & CANCELLED)

#ifdef HAS_TAG
#define TAG_OF(i)	(generation[i])
#else
#define TAG_OF(i)	0
#endif

/* Where a record's node is: enqueued for an edge, or */
#define NOWHERE		2

/* A list is empty, and the worker does not look; STOP has closed it for good. */
#define ASLEEP		3
#define CLOSED		4

/* The memory. How often a record was armed counts up to TAGS. */
byte word[RECORDS] = IDLE, link[RECORDS], generation[RECORDS];
byte list[LISTS] = ASLEEP;
byte ring[RECORDS], tail, head;

/* The worker's own; again: records that changed all the time */
byte taken, filed[RECORDS] = NOWHERE, own_tail;
bit again[RECORDS];

/*
 * The source: ACTIVE, on wheel->kicked, on wheel->sources, detached; was_kicked: the next run wakes
 * the lists.
 */
bit is_active, kicked, polled, gone, was_kicked;

/* The clock's edge */
bit reached;

/* An arm has not ended; the record is on a list, or the worker has taken it from there. */
bit live[RECORDS], listed[RECORDS];

/* A thread has stopped for ever before it had pushed the record and kicked. */
bit stuck[RECORDS], has_stuck;

/* Both records are alike, so record 0 is armed first. */
bit begun;

#ifdef NO_LIST_EACH
#define MY_LIST		0
#else
#define MY_LIST		me
#endif

#ifdef HAS_STOP
#include "walk.pml"
#else
#define MUST_STAY		false
#define MAY_TAKE(i)		true
#define MAY_USE(i)		true
#define IS_SHUT			false
#define look_early()		skip
#define take_record()		begin_arm()
#define store_arm()		skip
#define end_push()		skip
#define look_for_stop()		skip
#define note_arm()		skip
#define stop_arm()		skip
#define end_thread()		ops = 0
#define HAS_COME(edge)		((edge) <= reached)
#endif

#ifdef HAS_REAPERS
#include "fields.pml"
#else
#define land_more()
#define write_fields()		skip
#define fire()			skip
#define land_fields()		skip
#define put_entry()		ring[own_tail % RECORDS] = k
#define publish()		tail = own_tail
#endif

/* In mutations, stores that land late */
bit clear_late, link_late[RECORDS];
byte link_own[RECORDS];

inline land_clear()
{
	d_step {
		is_active = (clear_late -> 0 : is_active);
		clear_late = 0
	}
}

inline land_link(i)
{
	d_step {
		link[i] = (link_late[i] -> link_own[i] : link[i]);
		link_own[i] = 0;
		link_late[i] = 0
	}
}

/* source.pml has more steps of it. */
inline kick_source()
{
	if
	:: !is_active -> is_active = 1; kicked = 1
	:: else
	fi
}

inline kick()
{
	atomic { kick_source() }
}

/* The program */

#ifdef NO_RECHECK_QUEUED
#define IS_QUEUED	0
#else
#define IS_QUEUED	(word[i] & QUEUED)
#endif

inline change(new)
{
	adds = !IS_QUEUED && ((new) & QUEUED);
	word[i] = new
}

/* Nothing reads a link that is not on a list, so it is stored along with the exchange. */
inline store_link()
{
#ifdef NO_RELEASE_PUSH
	link_own[i] = (asleep -> 0 : list[MY_LIST]);
	link_late[i] = 1
#else
	link[i] = (asleep -> 0 : list[MY_LIST])
#endif
}

inline stop_here()
{
	stuck[i] = 1;
	has_stuck = 1;
	adds = 0;
	asleep = 0;
	ops = 0;
	stop_arm()
}

#ifdef HAS_STOPS
#define MAY_STOP	!has_stuck
#else
#define MAY_STOP	false
#endif

inline push()
{
	if
	:: atomic { adds && MAY_STOP -> stop_here() }
	:: atomic { adds && IS_SHUT -> end_push(); adds = 0 }
	:: atomic { adds && !IS_SHUT ->
		assert(!listed[i]);
		listed[i] = 1;
		asleep = (list[MY_LIST] == ASLEEP);
		store_link();
		list[MY_LIST] = i + 1;
		adds = 0
	   }
		if
		:: atomic { asleep && MAY_STOP -> stop_here() }
		:: asleep -> kick(); asleep = 0
		:: else
		fi
	:: else
	fi
}

inline begin_arm()
{
	assert(!live[i]);
	live[i] = 1;
	begun = 1;
	generation[i] = (generation[i] + 1) % TAGS;
	write_fields();
	note_arm();
	if
	:: ARMS_DUE -> change(WORD(TAG_OF(i), DUE, PENDING | QUEUED))
	:: ARMS_LATER -> change(WORD(TAG_OF(i), LATER, PENDING | QUEUED))
	fi
}

inline end_live()
{
	assert(live[i]);
	live[i] = 0
}

#ifdef SPARE_PUSH_CANCEL
#define CANCEL_ADDS	0
#else
#define CANCEL_ADDS	QUEUED
#endif

inline begin_cancel()
{
	end_live();
	change(word[i] | CANCELLED | CANCEL_ADDS)
}

/* The record is in the ring, and the thread that reaps it makes it free. */
#ifdef NO_KEEP_EXPIRED
#define AS_WITHDRAWN	(word[i] | WITHDRAWN | IDLE)
#else
#define AS_WITHDRAWN	(word[i] | WITHDRAWN)
#endif

inline withdraw()
{
	end_live();
	word[i] = AS_WITHDRAWN
}

/* What the thread that reaps finds as it makes the record free */
inline end_event(i)
{
	if
	:: word[i] & WITHDRAWN
	:: else -> end_live()
	fi
}

#ifdef NO_PUSH_EARLIER
#define EARLIER_ADDS	0
#else
#define EARLIER_ADDS	QUEUED
#endif

#define REFRESHED(deadline)	WORD(TAG(word[i]), deadline, word[i] & QUEUED)

inline operate()
{
	look_early();
	atomic {
		ops--;
		if
		:: true -> i = 0
		:: begun -> i = 1
		fi;
		if
		:: MAY_ARM(word[i]) && MAY_TAKE(i) -> take_record()
		:: IS_PENDING(word[i]) && MAY_USE(i) -> begin_cancel()
#ifdef HAS_WITHDRAW
		:: IS_EVENT(word[i]) -> withdraw()
#endif
#ifdef HAS_REFRESH
		:: IS_PENDING(word[i]) && MAY_USE(i) && DEADLINE(word[i]) == DUE ->
			change(REFRESHED(LATER))
		:: IS_PENDING(word[i]) && MAY_USE(i) && DEADLINE(word[i]) == LATER ->
			change(REFRESHED(DUE) | EARLIER_ADDS)
#endif
		:: else
		fi
	}
	store_arm();
	push();
	look_for_stop();
	i = 0
}

/* With a thread's locals: i, adds, asleep */
inline use()
{
	do
	:: ops -> operate()
	:: atomic { true -> end_thread(); break }
	od
}

#ifndef HAS_REAPERS
active proctype reaper()
{
	byte i;

end:	do
	:: atomic { head != tail ->
		i = ring[head % RECORDS];
		head++;
		assert(STATE(word[i]) == EXPIRED);
		end_event(i);
		word[i] = word[i] | IDLE;
		i = 0
	   }
	od
}
#endif

/* The worker. Its exchanges are full barriers, if they succeed. */

inline land_stores()
{
	land_clear();
	land_fields()
}

/* Where nothing comes due, it is all the same where a node is. */
inline file()
{
#ifdef HAS_STOP
	filed[k] = NOWHERE
#else
	filed[k] = (IS_PENDING(seen) -> DEADLINE(seen) : NOWHERE)
#endif
}

#ifdef NO_RECHECK_ACTED
#define IS_SEEN		true
#else
#define IS_SEEN		(word[k] == seen)
#endif

inline end_act()
{
	land_stores();
	listed[k] = 0;
	word[k] = word[k] & ~QUEUED
}

/* map_act(); the worker tries again, or puts off a record that changes all the time. */
inline act()
{
	do
	:: atomic { seen = word[k]; file() }
		atomic {
			if
			:: IS_SEEN -> end_act(); break
			:: !IS_SEEN
			:: !IS_SEEN -> filed[k] = NOWHERE; again[k] = 1; break
			fi
		}
	od;
#ifdef NO_ORDER_LINK
	atomic { taken = (chained -> link[k] : taken); chained = 0 }
#endif
	atomic { seen = 0; k = 0 }
}

inline pick_again(i)
{
	again[i] = 0;
	k = i
}

/* Nothing writes the link while the record is QUEUED. */
inline pick_taken()
{
	k = taken - 1;
#ifdef NO_ORDER_LINK
	chained = 1;
#else
	taken = link[k]
#endif
}

#define IS_ON(i)	(list[i] && list[i] != ASLEEP)

inline take(i)
{
	land_stores();
	taken = list[i];
	list[i] = 0;
	pick_taken()
}

#define HAS_DUE		(HAS_COME(filed[0]) || HAS_COME(filed[1]))

/* hwheel_map_drain(); there is none while the worker moves what is due. */
inline drain()
{
	do
	:: atomic { again[0] -> pick_again(0); drained = 1 }
		act()
	:: atomic { !again[0] && again[1] -> pick_again(1); drained = 1 }
		act()
	:: atomic { !again[0] && !again[1] && taken -> pick_taken(); drained = 1 }
		act()
	:: atomic { !again[0] && !again[1] && !taken && IS_ON(0) -> take(0); drained = 1 }
		act()
	:: atomic { !again[0] && !again[1] && !taken && IS_ON(1) -> take(1); drained = 1 }
		act()
	:: drained || HAS_DUE -> break
	:: else -> break
	od
}

#ifdef NO_KEEP_QUEUED
#define AS_EXPIRED	((word[k] | EXPIRED) & ~QUEUED)
#else
#define AS_EXPIRED	(word[k] | EXPIRED)
#endif

/* hwheel_map_ring_put() */
inline expire_it()
{
	assert(IS_DUE(word[k]));
	land_stores();
	word[k] = AS_EXPIRED;
	assert((own_tail - head) < RECORDS);
	put_entry();
	own_tail++
}

/* A record that changes all the time is due again, and the next pass looks at it. */
inline put_off()
{
#ifdef NO_DUE_AGAIN
	again[k] = 1
#else
	filed[k] = DUE
#endif
}

#ifdef NO_RECHECK_EXPIRED
#define IS_SAME		true
#else
#define IS_SAME		(word[k] == seen)
#endif

/* map_look_at() */
inline look_at()
{
	do
	:: atomic { IS_DUE(seen) -> fire() }
		atomic {
			if
			:: IS_SAME -> expire_it(); break
			:: !IS_SAME -> seen = word[k]
			:: !IS_SAME -> put_off(); break
			fi
		}
	:: atomic { !IS_DUE(seen) -> file(); break }
	od;
	atomic { seen = 0; k = 0 }
}

inline pop(i)
{
	k = i;
	filed[k] = NOWHERE;
	seen = word[k]
}

/* hwheel_map_expire(), hwheel_map_ring_publish() */
inline expire()
{
	do
	:: atomic { HAS_COME(filed[0]) -> pop(0); looked = 1 }
		look_at()
	:: atomic { !HAS_COME(filed[0]) && HAS_COME(filed[1]) -> pop(1); looked = 1 }
		look_at()
	:: atomic { looked || !HAS_DUE -> looked = 0; publish(); break }
	od
}

#define HAS_LEFTOVER	(taken || again[0] || again[1] || HAS_DUE)

/* hwheel_map_lists_park(), one list */
inline park_list(i)
{
	atomic {
		if
		:: list[i] == 0 -> land_stores(); list[i] = ASLEEP
		:: list[i] == ASLEEP
#ifdef NO_RECHECK_LISTS
		:: else
#else
		:: else -> parked = 0
#endif
		fi
	}
}

inline park_lists()
{
	parked = 1;
	park_list(0);
	park_list(1)
}

/* One list */
inline wake_list(i)
{
	if
	:: list[i] == ASLEEP -> land_stores(); list[i] = 0
	:: else
	fi
}

/* take_kick(), hwheel_map_lists_wake() */
inline take_kick()
{
	if
	:: was_kicked -> wake_list(0); wake_list(1); was_kicked = 0
	:: else
	fi
}

inline clear_active()
{
#ifdef NO_MB_PARK
	atomic { polled = 0; clear_late = 1 }
#else
	atomic { polled = 0; is_active = 0 }
#endif
}

inline activate(kicks)
{
	atomic {
		land_stores();
		if
		:: !is_active -> is_active = 1; polled = 1; was_kicked = kicks
		:: else
		fi
	}
}

/* source_park() */
inline park()
{
#ifdef NO_ORDER_PARK
	park_lists();
	clear_active();
#else
	clear_active();
	park_lists();
#endif
	if
	:: !parked || MUST_STAY -> activate(1)
	:: else
	fi;
	parked = 0
}

/*
 * work(), after take_kick(). A drain that goes on after the expiry is part of the next run's drain
 * here. goes_on() decides whether the worker goes on to poll a source that has nothing to do.
 */
inline work()
{
	drain();
	expire();
	if
	:: true
	:: !HAS_LEFTOVER -> park()
	fi;
	drained = 0
}

#ifndef HAS_STOP
inline run_pass()
{
	atomic { take_kick() }
	work()
}
#endif

active proctype worker()
{
	byte k, seen;
	bit drained, looked, parked, chained;

end:	do
	:: polled -> run_pass()
	:: gone -> break
	:: atomic { !polled && kicked && !gone -> kicked = 0; polled = 1; was_kicked = 1 }
	:: atomic { !polled && !kicked && !gone && HAS_DUE ->
		activate(0)
	   }
	od
}

#ifdef HAS_TIME
active proctype clock()
{
	if
	:: reached = LATER
	:: true
	fi
}
#endif

active proctype buffers()
{
end:	do
	:: atomic { clear_late -> land_clear() }
	:: atomic { link_late[0] -> land_link(0) }
	:: atomic { link_late[1] -> land_link(1) }
	land_more()
	od
}

/* When nothing can happen any more but that time goes by */
inline judge_lists()
{
	assert(!polled && !kicked && !taken && !again[0] && !again[1]);
	assert(has_stuck || list[0] == ASLEEP && list[1] == ASLEEP);
	assert(head == tail && tail == own_tail)
}

inline judge(i)
{
	assert(filed[i] > reached);
	assert(live[i] == IS_PENDING(word[i]));
	assert(stuck[i] || !(word[i] & QUEUED));
	assert(stuck[i] || !IS_PENDING(word[i]) || filed[i] <= DEADLINE(word[i]))
}
