/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mapped.pml with two threads that reap. One of them takes as many entries as there are, and sleeps
 * in poll(); the other one may end at any time. One thread arms, cancels and withdraws; all it arms
 * is due.
 *
 * Checked in addition:
 *  - copies that a thread keeps are of the arm that has ended, and of its end;
 *  - no thread sleeps in poll() while there are events.
 *
 *	publish()					module/device/mapped/source.c
 *	take(), take_run()				tools/libhwheel/reap.c
 *	hwheel_map_ring_publish()			module/device/mapped/ring.h
 *	hwheel_waiters_wake()				module/device/waiters.h
 *
 * SPARE_FIELDS_FIRST: a thread may read the fields of the records after it has claimed the entries,
 * as libhwheel does, but not the entries.
 * SPARE_MB_EXPIRE: a thread that reaps would see the time at which a record expired without the
 * barrier of the exchange, too, as the store to tail has release.
 *
 * Without these is violated:
 * NO_ACQUIRE_TAIL: time[1] && copied[1] == ended
 * NO_MB_PUBLISH: head == tail && tail == own_tail
 * NO_ORDER_COPY: word[index[0]] & 3 == 1 && ...
 * NO_ORDER_HEAD: word[index[0]] & 3 == 1 && ...
 * NO_RECHECK_CLAIM: word[index[0]] & 3 == 1 && ...
 * NO_RELEASE_ARM: time[0] && copied[0] == ended
 * NO_RELEASE_FREE: time[0] && copied[0] == ended
 * NO_RELEASE_TAIL: word[index[0]] & 3 == 1 && ...
 */
#define HAS_REAPERS
#define HAS_WITHDRAW
#define ARMS_DUE	true
#define ARMS_LATER	false
#ifdef SMALL
#define FIRST		3
#else
#define FIRST		4
#endif
#define SECOND		0

#include "mapped.pml"

/* Both are counts of 64 bits: a tail before the head is very far behind it. */
inline load_counts()
{
#ifdef NO_ORDER_HEAD
	n = tail;
	atomic {
		first = head;
		n = (n == first -> 0 : (n == first + 1 -> 1 : RECORDS))
	}
#else
	first = head;
#ifdef NO_ACQUIRE_TAIL
	atomic { copy(0); copy(1) }
#endif
	n = (tail == first -> 0 : (tail == first + 1 -> 1 : RECORDS))
#endif
}

inline copy_fields(j)
{
	copied[j] = cookie[index[j]];
	time[j] = fired[index[j]]
}

inline copy(j)
{
	index[j] = ring[(first + j) % RECORDS];
#ifndef SPARE_FIELDS_FIRST
	copy_fields(j)
#endif
}

inline copy_all_fields()
{
	atomic {
		if
		:: n -> copy_fields(0)
		:: else
		fi
	}
	if
	:: atomic { n > 1 -> copy_fields(1) }
	:: else
	fi
}

inline copy_all()
{
	atomic { copy(0) }
	if
	:: atomic { n > 1 -> copy(1) }
	:: else
	fi
}

/* A thread that does not get the entries discards its copies. */
inline claim()
{
	atomic {
		if
#ifdef NO_RECHECK_CLAIM
		:: true -> head = first + n
#else
		:: head == first -> head = first + n
		:: else -> n = 0
#endif
		fi
	}
}

inline check(j)
{
	assert(time[j] && copied[j] == ended)
}

inline free(j)
{
	atomic {
		assert(STATE(word[index[j]]) == EXPIRED &&
		       (live[index[j]] || word[index[j]] & WITHDRAWN));
		live[index[j]] = 0;
		ended = generation[index[j]];
#ifndef NO_RELEASE_FREE
		check(j);
		fired[index[j]] = 0;
#endif
		word[index[j]] = word[index[j]] | IDLE
	}
#ifdef NO_RELEASE_FREE
	atomic { copy_fields(j); check(j); fired[index[j]] = 0 }
#endif
}

inline free_all()
{
	if
	:: n -> free(0)
	:: else
	fi;
	if
	:: n > 1 -> free(1)
	:: else
	fi
}

inline reap()
{
	load_counts();
	if
	:: n ->
#if !defined(NO_ORDER_COPY) && !defined(NO_ACQUIRE_TAIL)
		copy_all();
#endif
		claim();
#ifdef NO_ORDER_COPY
		copy_all();
#endif
#ifdef SPARE_FIELDS_FIRST
		copy_all_fields();
#endif
		free_all()
	:: else
	fi;
	atomic {
		first = 0; n = 0; ended = 0;
		index[0] = 0; copied[0] = 0; time[0] = 0;
		index[1] = 0; copied[1] = 0; time[1] = 0
	}
}

/* The thread is on the list of those that are to be woken before it looks. */
inline wait_in_poll()
{
	polls = 1;
	if
	:: head != tail
	:: else ->
end:		woken
	fi;
	atomic { polls = 0; woken = 0 }
}

active proctype reaper()
{
	byte first, n, ended, index[2], copied[2];
	bit time[2];

	do
	:: head != tail -> reap()
	:: else -> wait_in_poll()
	od
}

/* The other thread claims at once, and ends at any time. */
active proctype quick_reaper()
{
	byte ended, index[1], copied[1];
	bit time[1];

	do
	:: atomic { head != tail -> index[0] = ring[head % RECORDS]; copy_fields(0); head++ }
		free(0);
		atomic { ended = 0; index[0] = 0; copied[0] = 0; time[0] = 0 }
	:: true -> break
	od
}
