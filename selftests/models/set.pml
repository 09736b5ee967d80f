/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Threads that set one variable, which has the id of the timeout that is pending, or of the last
 * one. A thread has a record for each set; stale.pml has records that are armed again. The worker
 * expires what is pending whenever it likes, a thread that reaps may end at any time, and another
 * one may stop the file. Lists are not modelled: a push is a full barrier, or finds that STOP has
 * closed them.
 *
 * Checked:
 *  - once all threads have returned, no timeout is pending but that of the variable, nor is there an
 *    event of another one in the ring, which was not withdrawn;
 *  - a thread that takes an event finds that its id has stood in the variable;
 *  - after STOP nothing is pending, and a set that it has refused has withdrawn nothing and leaves
 *    the variable as it was, unless another thread has changed it.
 *
 *	hwheel_set_at(), set_new(), set_top(),
 *	set_end(), exchange_to_end()			tools/libhwheel/mapped.c
 *
 * Without these is violated:
 * NO_EXCHANGE_VARIABLE: var == ...
 * NO_LOOK_AGAIN: var == ...
 * NO_MB_ARM: var == ...
 * NO_MB_SET: var == ...
 * NO_ORDER_ID: withdrawn[r] || stood[r]
 * NO_ORDER_REFUSED: !took
 * NO_WITHDRAW_OLD: var == ...
 */
#define RECORDS		4

/* The word; GONE is cancelled, or claimed by the thread that reaps. */
#define IDLE		0
#define PENDING		1
#define EXPIRED		2
#define GONE		3

/* The number of a record, + 1 */
byte var;
byte word[RECORDS];
bit withdrawn[RECORDS], stood[RECORDS];

/* A store that lands late, in a mutation */
bit late[RECORDS];

bit closed;

/* There is a timeout, or the first one to come. */
bit begun;

inline land(r)
{
	d_step {
		word[r] = (late[r] -> PENDING : word[r]);
		late[r] = 0
	}
}

/* exchange_to_end() */
inline withdraw(r)
{
	atomic {
		if
		:: word[r] == PENDING -> word[r] = GONE; took = 1
		:: word[r] == EXPIRED && !withdrawn[r] -> withdrawn[r] = 1; took = 1
		:: else
		fi
	}
}

inline put_id()
{
	atomic {
#ifdef NO_EXCHANGE_VARIABLE
		var = r + 1; stood[r] = 1
#else
		if
		:: var == old -> var = r + 1; stood[r] = 1
		:: else -> goto again
		fi
#endif
	}
}

/* The store, the push, and what comes of a list that is CLOSED */
inline arm()
{
#ifdef NO_MB_ARM
	late[r] = 1;
#else
	word[r] = PENDING;
#endif
	atomic {
		if
		:: closed ->
			land(r);
			if
			:: word[r] == PENDING -> word[r] = GONE; refused = 1
			:: else
			fi
		:: else
		fi
	}
}

/* The thread may load the word that it withdraws before its exchange of the variable. */
#ifdef NO_MB_SET
#define look_at_old()	may = old && (word[old - 1] == PENDING || word[old - 1] == EXPIRED)
#define MAY_WITHDRAW	may
#else
#define look_at_old()	skip
#define MAY_WITHDRAW	old
#endif

inline withdraw_old()
{
#ifdef NO_WITHDRAW_OLD
	skip
#else
	if
	:: MAY_WITHDRAW -> withdraw(old - 1)
	:: else
	fi
#endif
}

/* set_end() with an error */
inline undo()
{
	atomic {
		assert(!took);
		var = (var == r + 1 -> old : var)
	}
}

inline set()
{
	skip;
again:	old = var;
	if
	:: atomic { old && word[old - 1] == PENDING -> skip }
		goto moved
	:: else
	fi;
	look_at_old();
#ifdef NO_ORDER_ID
	arm();
	put_id();
#else
	put_id();
#ifdef NO_ORDER_REFUSED
	withdraw_old();
#endif
	arm();
#endif
	if
	:: refused -> undo()
	:: else ->
#ifndef NO_ORDER_REFUSED
		withdraw_old();
#endif
#ifndef NO_LOOK_AGAIN
		if
		:: atomic { var != r + 1 -> land(r) }
			withdraw(r)
		:: else
		fi
#else
		skip
#endif
	fi;
moved:	skip
}

/* Its records are those from @next up to @last. */
proctype thread(byte next; byte last)
{
	byte r, old;
	bit refused, may, took;

	do
	:: next <= last ->
		r = next;
		set();
		atomic { next++; r = 0; old = 0; refused = 0; may = 0; took = 0 }
	:: else -> break
	od
}

#define expire(i)	:: atomic { word[i] == PENDING -> word[i] = EXPIRED }

active proctype worker()
{
	do
	expire(0)
	expire(1)
	expire(2)
	expire(3)
	:: true -> break
	od
}

inline take(i)
{
	r = i;
	assert(withdrawn[r] || stood[r]);
	word[r] = GONE;
	r = 0
}

active proctype reaper()
{
	byte r;

	do
	:: atomic { word[0] == EXPIRED -> take(0) }
	:: atomic { word[1] == EXPIRED -> take(1) }
	:: atomic { word[2] == EXPIRED -> take(2) }
	:: atomic { word[3] == EXPIRED -> take(3) }
	:: true -> break
	od
}

/* STOP closes the lists, and then walks all records. shutdown.pml has a store that lands late then. */
#ifndef NO_MB_ARM
active proctype stop()
{
	byte i;

	begun;
	if
	:: true -> closed = 1
	:: true -> goto out
	fi;
	do
	:: atomic { i < RECORDS -> word[i] = (word[i] == PENDING -> EXPIRED : word[i]); i++ }
	:: i == RECORDS -> break
	od;
out:	skip
}
#endif

#ifdef NO_MB_ARM
#define land_late(i)	:: atomic { late[i] -> land(i) }

active proctype buffers()
{
end:	do
	land_late(0)
	land_late(1)
	land_late(2)
	land_late(3)
	od
}
#endif

/* The timeout of the variable may be pending, or an event. */
inline judge(i)
{
	assert(var == i + 1 || closed || word[i] != PENDING && (word[i] != EXPIRED || withdrawn[i]));
	assert(!closed || word[i] != PENDING)
}

active proctype at_end()
{
	timeout ->
	judge(0);
	judge(1);
	judge(2);
	judge(3)
}

init {
	atomic {
		begun = 1;
#ifdef SMALL
		run thread(0, 1);
		run thread(2, 3)
#else
		var = 4;
		stood[3] = 1;
		word[3] = PENDING;
		run thread(0, 0);
		run thread(1, 1);
		run thread(2, 2)
#endif
	}
}
