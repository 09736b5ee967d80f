/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A drain over the three lists of a CPU, in turns, and drains within it: an action may be a
 * release op that drains, twice deep. Two submitters push timeouts, each again and again; the memory
 * is sequentially consistent, as life.pml and sleep.pml have its order.
 *
 *	hwheel_submit_more(), hwheel_submit_pop()		module/engine/submit.h
 *	take_lists(), take_marks()				module/engine/submit.c
 *
 * Checked: a timeout is acted on once for each time that it was submitted, whoever pops it, and a
 * list that is not empty when all sleep has a mark.
 *
 * Without these is violated:
 * NO_MARK_FIRST: invalid end state
 * NO_NEW_TURN: node
 * NO_WRITE_BACK: queued[node]
 */
#define LISTS	3
#define NODES	4
#define PUSHES	4
#define DEPTH	2

/* Node 0 is none. Node n goes to list n % LISTS. */
byte queue[LISTS], next[NODES + 1];
bit queued[NODES + 1];
bit dirty;

/* The worker's */
byte taken[LISTS], lists;
byte depth, pushed, acted;

inline push(n)
{
	atomic {
		next[n] = queue[n % LISTS];
		was_empty = !next[n];
		queue[n % LISTS] = n
	}
	if
	:: was_empty -> dirty = 1
	:: else
	fi;
	was_empty = 0
}

proctype submitter(byte n; byte last)
{
	byte left = PUSHES / 2;
	bit was_empty;

	do
	:: atomic { left && !queued[n] -> queued[n] = 1; pushed++ };
		push(n);
		left--;
		n = (n < last -> n + 1 : n)
	:: !left -> break
	od
}

inline take()
{
#ifndef NO_MARK_FIRST
	dirty = 0;
#endif
	i = 0;
	do
	:: i < LISTS ->
		if
		:: atomic { queue[i] -> taken[lists] = queue[i]; queue[i] = 0; lists++ }
		:: else
		fi;
		i++
	:: else -> break
	od;
	i = 0;
#ifdef NO_MARK_FIRST
	dirty = 0
#endif
}

inline pop()
{
	turn--;
	node = taken[turn];
	assert(node);
#ifndef NO_WRITE_BACK
	write_back()
#endif
}

inline write_back()
{
	taken[turn] = next[node];
	if
	:: !taken[turn] -> lists--; taken[turn] = taken[lists]; taken[lists] = 0
	:: else
	fi
}

/* One drain; an action begins another within it, which is over before the action is. */
proctype drain(chan over)
{
	byte turn, node, i;
	chan within = [0] of { bit };

	do
	:: turn || lists || dirty ->
		if
		:: !turn && !lists -> take()
		:: else
		fi;
		if
		:: !turn -> turn = lists
		:: else
		fi;
		if
		:: turn ->
			pop();
			atomic { assert(queued[node]); queued[node] = 0; acted++ };
			if
			:: depth < DEPTH ->
				depth++;
				run drain(within);
				within?_;
				depth--;
#ifndef NO_NEW_TURN
				turn = 0
#endif
			:: true
			fi;
#ifdef NO_WRITE_BACK
			write_back()
#endif
		:: else
		fi
	:: !turn && !lists && !dirty -> break
	od;
	over!1
}

init {
	chan over = [0] of { bit };

	atomic {
		run submitter(1, 2);
		run submitter(3, 4)
	}
	do
	:: atomic { dirty -> run drain(over) };
		over?_
	:: atomic { acted == 2 * (PUSHES / 2) && !dirty -> break }
	od;
	assert(pushed == acted && !lists && !queue[0] && !queue[1] && !queue[2])
}
