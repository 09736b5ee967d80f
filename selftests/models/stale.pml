/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mapped.pml with a thread that cancels by an id, which is the index and the count of arms: of the
 * first arm of record 0, which ends meanwhile. All deadlines are the same. The thread reads the
 * count after the word; arms write it before the word.
 *
 * Checked in addition: the thread cancels no other arm.
 *
 * Without these is violated:
 * NO_ACQUIRE_WORD: generation[0] == 1
 * NO_RECHECK_GENERATION: generation[0] == 1
 * NO_TAG: generation[0] == 1
 */
#ifndef NO_TAG
#define HAS_TAG
#endif
#define ARMS_DUE	false
#define ARMS_LATER	true
#define FIRST		4
#define SECOND		0

#include "mapped.pml"

#ifdef NO_RECHECK_GENERATION
#define IS_FIRST	true
#else
#define IS_FIRST	(count == 1)
#endif

/* cancel(), by the id */
active proctype stale()
{
	byte old, count, i, me = 1, ops;
	bit adds, asleep;

end:	generation[0] == 1;
#ifdef NO_ACQUIRE_WORD
	count = generation[0];
#endif
	do
	:: old = word[0];
#ifndef NO_ACQUIRE_WORD
		count = generation[0];
#endif
		if
		:: IS_FIRST && IS_PENDING(old)
		:: else -> break
		fi;
		if
		:: atomic { word[0] == old ->
			assert(generation[0] == 1);
			begin_cancel()
		   }
			break
		:: else
		fi
	od;
	push()
}
