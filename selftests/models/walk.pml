/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How a mapped file is stopped and closed, for models that HAS_STOP: what threads that arm and
 * the worker do in view of it. shutdown.pml has the threads that stop and close.
 */
/* The mapping's */
bit stopping, closing;

/* The source's: leaving, and the completion */
bit leaving, left;

/* How many records STOP has walked */
byte walked;

/* The program's threads, and whether STOP and close have returned */
byte threads = 2;
bit returned, closed;

/*
 * The thread, + 1, whose latest arm of the record has not returned; a thread that arms the record
 * has loaded the word, and is about to store it.
 */
byte armer[RECORDS];
bit claimed[RECORDS];

#ifdef NO_RECHECK_LEAVING
#define MUST_STAY	false
#else
#define MUST_STAY	leaving
#endif

/* Deadlines are far away, and reached stays as it is. */
#define HAS_COME(edge)	((edge) < reached)

/*
 * In the mutation the walk and each thread that finds a list CLOSED clear QUEUED, and other threads
 * use an id only once its arm has returned.
 */
#ifdef NO_LOOK_QUEUED
#define MAY_USE(i)	!armer[i]
#define clear_queued(i)	word[i] = word[i] & ~QUEUED
#else
#define MAY_USE(i)	true
#define clear_queued(i)	skip
#endif

#define MAY_TAKE(i)	!claimed[i]
#define IS_SHUT		(list[MY_LIST] == CLOSED)

inline note_arm()
{
	mine = generation[i] + 1;
	armer[i] = me + 1
}

/* The thread that stops for ever never returns from its arm. */
#define stop_arm()	mine = 0

/* A thread may store to a word without QUEUED, as nobody else gives it another state. */
inline take_record()
{
	if
	:: word[i] & QUEUED -> begin_arm()
	:: else -> claimed[i] = 1; stores = 1
	fi
}

inline store_word()
{
	assert(MAY_ARM(word[i]) && !(word[i] & QUEUED));
	begin_arm();
	claimed[i] = 0;
	stores = 0
}

#ifdef NO_MB_ARM
inline look_early()
{
	early = IS_SHUT
}
#define SEES_SHUT	early
#else
#define look_early()	skip
#define SEES_SHUT	IS_SHUT
#endif

#ifdef NO_LOOK_QUEUED
#define LOOKS		false
#else
#define LOOKS		(mine && !adds)
#endif

/* An arm that does not push looks at the head of the list all the same. */
inline store_arm()
{
#ifdef NO_RELEASE_WORD
	if
	:: stores -> adds = 1; push(); atomic { store_word(); adds = 0 }
		goto pushed
	:: else
	fi;
#else
	if
	:: atomic { stores -> store_word() }
	:: else
	fi;
#endif
	if
	:: atomic { LOOKS -> shut = SEES_SHUT }
	:: else
	fi;
#ifdef NO_RELEASE_WORD
pushed:	skip
#endif
}

/* A list that is CLOSED stays so: the look at the head and the exchange are one step. */
inline end_push()
{
	clear_queued(i);
	shut = (mine || stores)
}

#ifdef NO_TAG
#define IS_MINE		true
#else
#define IS_MINE		(TAG(word[i]) + 1 == mine)
#endif

#ifdef NO_SELF_CANCEL
#define CANCELS_MINE	false
#else
#define CANCELS_MINE	(shut && IS_PENDING(word[i]) && IS_MINE)
#endif

/* The end of arm */
inline look_for_stop()
{
	atomic {
		if
		:: CANCELS_MINE ->
			assert(generation[i] + 1 == mine);
			begin_cancel()
		:: else
		fi;
		armer[i] = (mine && armer[i] == me + 1 -> 0 : armer[i]);
		mine = 0;
		shut = 0
	}
	push()
}

inline end_thread()
{
	ops = 0;
	threads--
}

/* The worker */

#ifdef NO_ACQUIRE_CLOSE
bit seen_pending[RECORDS];
#define IS_STILL_PENDING	(seen_pending[walked] && IS_PENDING(word[walked]))
#define look_at_words()							\
	atomic {							\
		seen_pending[0] = IS_PENDING(word[0]);			\
		seen_pending[1] = IS_PENDING(word[1])			\
	}
#else
#define IS_STILL_PENDING	IS_PENDING(word[walked])
#define look_at_words()		skip
#endif

#ifdef NO_BIT_WALK
#define note_word()	seen = word[walked]
#define MAY_SET		(word[walked] == seen)
#else
#define note_word()	skip
#define MAY_SET		true
#endif

#ifdef NO_RECHECK_CANCELLED
#define WAS_SET		true
#else
#define WAS_SET		(STATE(word[walked]) == EXPIRED)
#endif

/* In a program that keeps to the protocol nothing else sets the bit of a pending timeout. */
inline set_bit()
{
	assert(!(word[walked] & EXPIRED));
	land_stores();
	word[walked] = (MAY_SET -> word[walked] | EXPIRED : word[walked])
}

inline put_stopped()
{
	if
	:: WAS_SET ->
		assert((own_tail - head) < RECORDS);
		ring[own_tail % RECORDS] = walked;
		own_tail++
	:: else
	fi;
	seen = 0
}

/* end_record(): the look, the bit, and the look at what it has made */
inline end_record()
{
	if
	:: atomic { IS_STILL_PENDING -> note_word() }
		atomic { set_bit() }
		atomic { put_stopped(); walked++ }
	:: atomic { !IS_STILL_PENDING -> walked++ }
	fi
}

inline stop_record()
{
	atomic { clear_queued(walked) }
	end_record()
}

/* Nothing of what the worker has taken or put off matters any more. */
inline forget()
{
	taken = 0;
	again[0] = 0;
	again[1] = 0;
	listed[0] = 0;
	listed[1] = 0;
	link[0] = 0;
	link[1] = 0
}

/* hwheel_map_lists_close() */
inline close_lists()
{
	look_at_words();
	atomic { land_stores(); list[0] = CLOSED }
	atomic { list[1] = CLOSED; forget() }
}

/* hwheel_map_stop_walk(), in chunks of any size, and hwheel_map_ring_publish() */
inline walk()
{
#if !defined(NO_CLOSE) && !defined(NO_ORDER_CLOSE)
	if
	:: !walked -> close_lists()
	:: else
	fi;
#endif
	do
	:: walked < RECORDS -> stop_record()
	:: walked -> break
	od;
#ifdef NO_ORDER_CLOSE
	close_lists();
#endif
#ifdef NO_ORDER_PUBLISH
	if
	:: walked == RECORDS -> left = 1
	:: else
	fi;
#endif
	tail = own_tail
}

/* source_gone(): ACTIVE stays set. */
inline detach()
{
	atomic { polled = 0; was_kicked = 0; gone = 1; left = 1 }
}

/* map_run() */
inline run_pass()
{
	if
	:: closing -> detach()
	:: !closing && stopping ->
		walk();
		if
		:: walked == RECORDS -> detach()
		:: else
		fi
	:: atomic { !closing && !stopping -> take_kick() }
		work()
	fi
}
