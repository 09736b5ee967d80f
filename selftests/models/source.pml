/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A source, which the worker polls: kicks, parking, the worker's deep sleep, and leaving. Two
 * kickers push onto a list each, and kick when their list was ASLEEP. A leaver detaches the
 * source; then it frees the source or stops the wheel. edges.pml has edges of the source's own.
 *
 *	hwheel_source_kick(), hwheel_source_leave(),
 *	hwheel_source_is_due(), take_kicked(), source_park(),
 *	source_gone(), hwheel_sources_run_all()		module/engine/source.c
 *	hwheel_submit_source(), hwheel_submit_kick()	module/engine/submit.c
 *	worker_sleep()					module/engine/worker.c
 *
 * The kickers' calls have a reference to the source, which its owner frees when the source has
 * left and these calls are over. sleep.pml has more of the worker's sleep: the wheel's own queues,
 * and the threads that wait for a drain. Without SPARE_HURRY leave waits for the next edge.
 * test_and_set_bit() is a full barrier also if it finds the bit set, which it is not with
 * NO_MB_LEAVE. A source that leaves may need several runs for that.
 *
 * A run wakes the lists, if the source was kicked. Until then, and for runs without time, they stay
 * ASLEEP, and pushers kick in vain. SPARE_WAKE: so they do if no run wakes the lists.
 *
 * Checked:
 *  - when nothing can happen any more but that time goes by, and the worker sleeps beyond the next
 *    edge, then no source is on wheel->kicked, and no record is on a list of one;
 *  - however the worker sleeps, it has not been asked for a pass, or to stop;
 *  - leave ends;
 *  - when leave has returned, the worker does not touch the source any more, nor does a kicker but
 *    one that finds ACTIVE set;
 *  - the source is on one of wheel->kicked and wheel->sources at a time;
 *  - no kicker wakes a worker whose task is gone.
 *
 * Without these is violated:
 * NO_GRACE_PERIOD: !task_gone
 * NO_KEEP_ACTIVE: !freed && !returned
 * NO_LINGER: !leaves || returned
 * NO_MB_ADD: !kicked
 * NO_MB_LEAVE: !leaves || returned
 * NO_MB_PARK: !leaves || returned
 * NO_MB_SLEEP: !should_stop && !urgent.mem
 * NO_ORDER_LEFT: !freed && !returned
 * NO_ORDER_PARK: has_left || ...
 * NO_RECHECK_ACTIVE: !freed && !returned
 * NO_RECHECK_DEEP: !kicked
 * NO_RECHECK_KICKED: !kicked
 * NO_RECHECK_LEAVING: !leaves || returned
 * NO_RECHECK_LISTS: has_left || ...
 * NO_RECHECK_OWN: !freed && !returned
 * NO_REFERENCE: !freed
 * NO_SECTION: !task_gone
 */
#include "memory.pml"

/*
 * How much the kickers do; how often the worker's next edge comes while it polls no source, and
 * an edge of the source's own
 */
#ifdef FIRST
#elif defined(NO_RECHECK_OWN) || defined(NO_MB_PARK)
#define FIRST		1
#define SECOND		1
#define EDGES		0
#define OWN_EDGES	1
#else
#ifdef SMALL
#define FIRST		1
#define EDGES		0
#else
#define FIRST		2
#define EDGES		1
#endif
#define SECOND		1
#define OWN_EDGES	0
#endif

#define KICKERS		2
#define LEAVER		KICKERS

/* Heads of lists */
#define EMPTY		0
#define PUSHED		1
#define ASLEEP		2

/* States of tasks */
#define RUNNING		0
#define IDLE		1

/* The source: ACTIVE, and the completion of its leaving */
buffered is_active, leaving;
byte list[KICKERS] = ASLEEP;
bit left, freed;

/* On wheel->kicked, on wheel->sources; an edge of its own has come. */
bit kicked, polled, is_due;

/* The wheel's, and the worker's task state */
buffered deep, urgent, state;
bit stopping, should_stop, has_ended, task_gone;
bit in_section[KICKERS + 1];

/* Calls of kickers that are not over; whether leave was called, and has returned */
byte kickers = KICKERS;
bit leaves, returned;

byte edges = EDGES, own_edges = OWN_EDGES;

inline land_worker()
{
	land(deep);
	land(state);
	land(is_active)
}

inline land_leaver()
{
	land(leaving);
	land(urgent)
}

/* try_to_wake_up(), after its full barrier */
inline wake_worker()
{
	assert(!task_gone);
	state.mem = (state.mem == IDLE -> RUNNING : state.mem)
}

/* test_and_set_bit(): the worker's own store of the bit may land after it. */
inline set_active(was_set)
{
	was_set = is_active.mem;
	is_active.mem = 1
}

#ifdef NO_SECTION
#define HOLDS	0
#else
#define HOLDS	1
#endif

#ifdef SPARE_RECHECK_STOPPING
#define IS_BARRED	false
#else
#define IS_BARRED	stopping
#endif

#ifdef NO_MB_LEAVE
#define SET_IS_FULL	!was_set
#else
#define SET_IS_FULL	true
#endif

inline land_mine()
{
	if
	:: me == LEAVER && SET_IS_FULL -> land_leaver()
	:: else
	fi
}

inline add_to_kicked()
{
	assert(!freed && !returned && !kicked && !polled);
	kicked = 1
}

/* hwheel_submit_source(); its section is within that of the kick. */
inline submit_source()
{
	if
	:: IS_BARRED
	:: else ->
#ifdef NO_MB_ADD
		seen = deep.mem;
#endif
		atomic { add_to_kicked() }
#ifndef NO_MB_ADD
		seen = deep.mem;
#endif
		if
		:: seen ->
			d_step { seen = deep.mem; deep.mem = 0 }
			if
			:: seen -> atomic { wake_worker(); seen = 0 }
			:: else
			fi
		:: else
		fi
	fi
}

/* hwheel_source_kick(); the section does nothing more if ACTIVE was set. */
inline kick()
{
	atomic {
		assert(!freed);
		in_section[me] = HOLDS;
		set_active(was_set);
		land_mine();
		in_section[me] = in_section[me] && !was_set
	}
	if
	:: was_set -> was_set = 0
	:: else -> submit_source(); in_section[me] = 0
	fi
}

inline push()
{
	atomic {
		was_asleep = (list[me] == ASLEEP);
		list[me] = PUSHED
	}
	if
	:: was_asleep -> kick(); was_asleep = 0
	:: else
	fi
}

proctype kicker(byte me; byte ops)
{
	bit was_set, was_asleep, seen;

	do
	:: ops -> ops--; push()
	:: true -> break
	od;
	atomic { ops = 0; kickers-- }
}

/* hwheel_source_leave(); it waits. */
inline leave()
{
	store(leaving, 1);
	kick();
#ifndef SPARE_HURRY
	store(urgent, 1);
	atomic { land_leaver(); wake_worker() }
#endif
	left;
	returned = 1
}

inline stop_wheel()
{
	stopping = 1;
	atomic { should_stop = 1; wake_worker() }
	has_ended;
#ifndef NO_GRACE_PERIOD
	!in_section[0] && !in_section[1];
#endif
	task_gone = 1
}

active proctype leaver()
{
	byte me = LEAVER;
	bit was_set, seen;

	if
	:: true ->
		leaves = 1;
		leave();
#ifndef NO_REFERENCE
		if
		:: !kickers -> freed = 1
#if !OWN_EDGES
		:: stop_wheel()
#endif
		fi
#else
		freed = 1
#endif
	:: true
	fi
}

/* The worker */

inline touch()
{
	assert(!freed && !returned)
}

inline clear_urgent()
{
	atomic {
		if
		:: urgent.mem -> land_worker(); urgent.mem = 0
		:: else
		fi
	}
}

inline wake_list(i)
{
	if
	:: list[i] == ASLEEP -> land_worker(); list[i] = EMPTY
	:: else
	fi
}

inline take_kicked()
{
	if
	:: atomic { kicked ->
		land_worker();
		touch();
		assert(!polled);
		kicked = 0;
		polled = 1;
		was_kicked = 1
	   }
	:: else
	fi
}

/*
 * hwheel_source_is_due(): the run does not wake the lists. If ACTIVE was set, a kicker adds the
 * source to wheel->kicked.
 */
inline look_at_own_edge()
{
	if
	:: atomic { is_due && !polled && !has_left ->
		touch();
		land_worker();
#ifdef NO_RECHECK_OWN
		is_active.mem = 1;
#else
		set_active(was_set);
#endif
		is_due = 0;
		polled = !was_set;
		was_set = 0;
		assert(!(polled && kicked))
	   }
	:: else
	fi
}

/* take_kick(), hwheel_map_lists_wake() */
inline take_kick()
{
	touch();
#ifndef SPARE_WAKE
	if
	:: was_kicked -> wake_list(0); wake_list(1)
	:: else
	fi;
#endif
	was_kicked = 0
}

inline take_list(i)
{
	atomic {
		touch();
		if
		:: list[i] == PUSHED -> land_worker(); list[i] = EMPTY
		:: else
		fi
	}
}

/* hwheel_map_lists_park() */
inline park_list(i)
{
	atomic {
		touch();
		if
		:: list[i] == EMPTY -> land_worker(); list[i] = ASLEEP
		:: list[i] == ASLEEP
#ifdef NO_RECHECK_LISTS
		:: else
#else
		:: else -> stays = 1
#endif
		fi
	}
}

inline park_lists()
{
	park_list(0);
	park_list(1)
}

inline clear_active()
{
	atomic { touch(); polled = 0; store(is_active, 0) }
#ifndef NO_MB_PARK
	atomic { land_worker() }
#endif
}

inline activate()
{
	atomic {
		touch();
		land_worker();
#ifdef NO_RECHECK_ACTIVE
		is_active.mem = 1;
#else
		set_active(was_set);
#endif
		polled = !was_set;
		was_kicked = polled;
		was_set = 0;
		assert(!(polled && kicked))
	}
}

inline source_park()
{
#ifdef NO_ORDER_PARK
	park_lists();
	clear_active();
#else
	clear_active();
	park_lists();
#endif
#ifndef NO_RECHECK_LEAVING
	atomic { touch(); stays = stays || leaving.mem }
#endif
	if
	:: stays -> activate()
	:: else
	fi;
	stays = 0
}

/* source_gone(): ACTIVE stays set. */
inline detach()
{
#ifdef NO_ORDER_LEFT
	left = 1;
#endif
	atomic {
		touch();
		polled = 0;
#ifdef NO_KEEP_ACTIVE
		is_active.mem = 0;
#endif
		was_kicked = 0;
		has_left = 1
	}
#ifndef NO_ORDER_LEFT
	left = 1
#endif
}

/* There may be no time for a source, or not for all that it has to do. */
inline run_source()
{
	if
	:: true
	:: atomic { leaving.mem -> touch() }
		detach()
	:: atomic { !leaving.mem -> take_kick() }
		take_list(0);
		take_list(1);
		if
		:: true
		:: source_park()
		fi
	fi
}

/* hwheel_sources_run_all() */
inline sources_run()
{
	take_kicked();
	look_at_own_edge();
	if
	:: polled -> run_source()
	:: else
	fi
}

inline run_pass()
{
	clear_urgent();
	sources_run()
}

#ifdef NO_LINGER
#define MAY_GO_FAR	true
#else
#define MAY_GO_FAR	!polled
#endif

inline publish()
{
	if
	:: far = 0
	:: MAY_GO_FAR && !is_due -> far = 1
	fi;
	if
	:: far -> store(deep, 1)
	:: else
	fi;
	store(state, IDLE)
}

/*
 * Time goes by: edges come as long as the source is polled. Beyond the next edge only the source's
 * own edge comes.
 */
inline sleep_until_edge()
{
	if
	:: atomic { state.mem == RUNNING -> land_worker() }
	:: atomic { !far && (polled || edges) -> edges = edges - !polled }
	:: is_due
	:: timeout ->
		assert(!should_stop && !urgent.mem);
		if
		:: far ->
			assert(!kicked);
			assert(has_left || list[0] != PUSHED && list[1] != PUSHED);
			assert(!leaves || returned);
end:			false
		:: else
		fi
	fi
}

inline worker_sleep()
{
	atomic { publish() }
#ifndef NO_MB_SLEEP
	land_worker();
#endif
	if
	:: should_stop -> goto awake
	:: else
	fi;
	if
	:: urgent.mem -> goto awake
	:: else
	fi;
#ifndef NO_RECHECK_DEEP
	if
	:: far && !load_own(deep) -> goto awake
	:: else
	fi;
#endif
#ifndef NO_RECHECK_KICKED
	if
	:: far && kicked -> goto awake
	:: else
	fi;
#endif
	land_worker();
	sleep_until_edge();
awake:
	atomic {
		store(state, RUNNING);
		if
		:: far -> store(deep, 0)
		:: else
		fi;
		far = 0
	}
}

active proctype worker()
{
	bit stays, has_left, was_set, was_kicked, far;

	do
	:: should_stop -> break
	:: else ->
		run_pass();
		worker_sleep()
	od;
	has_ended = 1
}

active proctype clock()
{
end:	do
	:: atomic { own_edges -> own_edges--; is_due = 1 }
	od
}

active proctype buffers()
{
end:	do
	:: atomic { deep.late -> land(deep) }
	:: atomic { state.late -> land(state) }
	:: atomic { is_active.late -> land(is_active) }
	:: atomic { leaving.late -> land(leaving) }
	:: atomic { urgent.late -> land(urgent) }
	od
}

init {
	atomic {
		run kicker(0, FIRST);
		run kicker(1, SECOND)
	}
}
