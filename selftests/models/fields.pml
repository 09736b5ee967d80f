/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The fields of a record, the ring, and how the worker wakes a thread that polls, for models that
 * HAS_REAPERS. reap.pml has the threads that reap.
 */

/* The cookie is the count of the record's arms. Of the time a bit tells whether it was written. */
byte cookie[RECORDS];
bit fired[RECORDS];

/* A thread is about to sleep in poll(), and was woken. */
bit polls, woken;

/* In mutations, stores that land late */
bit cookie_late[RECORDS], fired_late[RECORDS], entry_late[RECORDS], tail_late;
byte entry_own[RECORDS];

inline write_fields()
{
#ifdef NO_RELEASE_ARM
	cookie_late[i] = 1
#else
	cookie[i] = generation[i]
#endif
}

/* The exchange is full, and the store to tail has release: the time lands with either. */
inline fire()
{
#ifdef SPARE_MB_EXPIRE
	fired_late[k] = 1
#else
	fired[k] = 1
#endif
}

inline land_fired(i)
{
	d_step {
		fired[i] = fired[i] || fired_late[i];
		fired_late[i] = 0
	}
}

inline land_entry(i)
{
	d_step {
		ring[i] = (entry_late[i] -> entry_own[i] : ring[i]);
		entry_own[i] = 0;
		entry_late[i] = 0
	}
}

inline land_tail()
{
	d_step {
		tail = (tail_late -> own_tail : tail);
		tail_late = 0
	}
}

#define land_more()							\
	:: atomic { cookie_late[0] -> cookie[0] = generation[0]; cookie_late[0] = 0 }	\
	:: atomic { cookie_late[1] -> cookie[1] = generation[1]; cookie_late[1] = 0 }	\
	:: atomic { fired_late[0] -> land_fired(0) }			\
	:: atomic { fired_late[1] -> land_fired(1) }			\
	:: atomic { entry_late[0] -> land_entry(0) }			\
	:: atomic { entry_late[1] -> land_entry(1) }			\
	:: atomic { tail_late -> land_tail() }

/* A full barrier */
inline land_fields()
{
#ifndef SPARE_MB_EXPIRE
	land_fired(0);
	land_fired(1);
#endif
	land_entry(0);
	land_entry(1);
	land_tail()
}

/* No thread but one that has lost its claim reads the entry before the store to tail lands. */
inline put_entry()
{
#ifdef NO_RELEASE_TAIL
	entry_own[own_tail % RECORDS] = k;
	entry_late[own_tail % RECORDS] = 1
#else
	ring[own_tail % RECORDS] = k
#endif
}

inline wake_poller()
{
	woken = woken || polls;
	polls = 0
}

/* hwheel_map_ring_publish() */
inline publish()
{
	if
	:: tail != own_tail ->
#ifdef NO_MB_PUBLISH
		tail_late = 1;
#else
		land_fired(0);
		land_fired(1);
		tail = own_tail;
#endif
		wake_poller()
	:: else
	fi
}
