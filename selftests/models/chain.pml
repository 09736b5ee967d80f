/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The chain of one shard: nodes that own it one after the other, and clients with one timeout.
 *
 * The store does one txn after the other, but loses and delays them and their answers, does one
 * again later, and may answer that it refused what it has done, as a client library does that sends
 * a txn twice. A txn puts a commit at the end of the chain if the commit before is its last one. A
 * node believes what it has read; it may stop at any point, and go on later, when another node owns
 * the shard.
 *
 * A new owner reads the tail and puts an empty commit on it, the fence, then loads the chain, and
 * then serves clients. After an outcome that is not "done" it reads the tail back. Once the store
 * may lose a commit that was done: one in the middle, or the last one, of which a node heard that
 * lives. The keys by which a new owner waits for the one before are in held.pml: here any node may
 * take the shard at any time.
 *
 *	tenure_fence(), tenure_committed(), tenure_done(), tenure_read(), tenure_lose()
 *						tools/hwheeld/consensus/tenure/tenure.c
 *	chain_walk(), chain_judge()		tools/hwheeld/consensus/chain.c
 *
 * Checked:
 *  - no timeout is delivered twice, or after a client was told that it is cancelled;
 *  - a new owner has each timeout that a client was told to be accepted, and what became of it;
 *  - what a client was told to be refused never happens;
 *  - when a new owner serves, nothing that an owner before it wrote is done any more.
 *
 * The take-outs:
 *  - NO_CHECK_TAIL: a txn does not check what is the last commit;
 *  - NO_FENCE: a new owner loads and serves without a commit of its own;
 *  - NO_BACK_UNKNOWN: an owner takes what is unknown for refused;
 *  - NO_BACK_REFUSED: an owner takes what was answered as refused for refused;
 *  - NO_SAME_AGAIN: if the tail is the commit before, an owner gives its own one up;
 *  - NO_HASH_BACK: an owner that reads the tail back looks at its number only;
 *  - NO_OWNER_IN_HASH: the fences of two owners on one commit are the same;
 *  - NO_HASH_BEFORE: loading does not look whether a commit is missing in the middle;
 *  - NO_HEARD: a new owner does not look at what others heard of.
 *
 * Without these is violated:
 * NO_BACK_REFUSED: tail != id
 * NO_BACK_UNKNOWN: tail != id
 * NO_CHECK_TAIL: !accepted || ...
 * NO_FENCE: !cancelled
 * NO_HASH_BACK: !old[chain_id] || ...
 * NO_HASH_BEFORE: !accepted || ...
 * NO_HEARD: !accepted || ...
 * NO_OWNER_IN_HASH: !old[chain_id] || ...
 * NO_SAME_AGAIN: !refused[chain_id]
 */
#define NODES	2

#define IDS	6

/* What a commit says of the timeout; a fence says NONE. */
#define NONE		0
#define PENDING		1
#define LEASED		2
#define CANCELLED	3

/* The store. Commit 0 is the bare chain. */
byte tail;
byte before[IDS], says[IDS], number[IDS];
byte by[IDS];			/* the fence of its owner; its own one of a fence */
byte whose[IDS];		/* the node, plus 1 */
bit missing[IDS];
bit has_lost;

byte ids = 1;			/* the next commit's */
byte heard;			/* the last commit of which a node heard that it is done */

/* What is on its way, and what arrives when its sender has given it up */
byte sent[NODES], late[NODES];
bit arrived[NODES], answered_done[NODES];

/* What clients were told, and which commits must not be done */
bit accepted, delivered, cancelled;
bit refused[IDS], old[IDS];

/* What a node believes */
byte mine[NODES];
bit serves[NODES];
byte chain_id, at, other;

inline do_txn(id)
{
	chain_id = id;
	if
#ifdef NO_CHECK_TAIL
	:: true ->
#else
	:: tail == before[id] ->
#endif
		assert(!refused[chain_id]);
		assert(!old[chain_id] || has_lost);
		tail = id;
		is_done = 1
	:: else -> is_done = 0
	fi;
	chain_id = 0
}

/* The answer to what was done may be that of a second try. */
inline arrive(node)
{
	arrived[node] = 1;
	do_txn(sent[node]);
	answered_done[node] = is_done;
	is_done = 0
}

active proctype store()
{
	bit is_done;

end:	do
	:: d_step { sent[0] && !arrived[0] -> arrive(0) }
	:: d_step { sent[1] && !arrived[1] -> arrive(1) }
	:: atomic { sent[0] && arrived[0] && answered_done[0] -> answered_done[0] = 0 }
	:: atomic { sent[1] && arrived[1] && answered_done[1] -> answered_done[1] = 0 }
	:: d_step { late[0] -> do_txn(late[0]); late[0] = 0; is_done = 0 }
	:: d_step { late[1] -> do_txn(late[1]); late[1] = 0; is_done = 0 }
	:: atomic { late[0] -> late[0] = 0 }
	:: atomic { late[1] -> late[1] = 0 }
	:: d_step { sent[0] && !late[0] -> late[0] = sent[0] }
	:: d_step { sent[1] && !late[1] -> late[1] = sent[1] }
	:: d_step { !has_lost && tail && tail == heard -> has_lost = 1; tail = before[tail] }
	:: d_step { !has_lost && tail && before[tail] ->
			has_lost = 1; missing[before[tail]] = 1 }
	od
}

/*
 * What happened to the timeout, from the newest commit on. is_whole: no commit is missing, and the
 * one that was heard of is there.
 */
inline load(last)
{
	at = last;
	mine[me] = NONE;
	is_whole = 1;
#ifdef NO_HEARD
	has_heard = 1;
#else
	has_heard = (heard == 0);
#endif
	do
	:: at ->
		if
		:: missing[at] -> is_whole = 0
		:: !missing[at] && mine[me] == NONE -> mine[me] = says[at]
		:: else
		fi;
		has_heard = (at == heard -> 1 : has_heard);
		at = before[at]
	:: else -> break
	od;
#ifdef NO_HASH_BEFORE
	is_whole = 1;
#endif
	is_whole = (is_whole && has_heard);
	has_heard = 0
}

inline make(parent, it, fence)
{
	id = ids;
	ids++;
	before[id] = parent;
	says[id] = it;
	number[id] = number[parent] + 1;
	whose[id] = me + 1;
	by[id] = (fence -> fence : id)
}

/* Commits that owners before this one made are not done any more. */
inline begin_to_serve()
{
	d_step {
		serves[me] = 1;
		assert(!accepted || mine[me] || tail != mine_tail);
		assert(!delivered || mine[me] == LEASED || tail != mine_tail);
		assert(!cancelled || mine[me] == CANCELLED || tail != mine_tail);
		other = 1;
		do
		:: other < ids ->
			if
			:: whose[other] != me + 1 && by[other] != other &&
			   number[by[other]] <= number[mine_by] && tail != other &&
			   number[other] > number[mine_tail] -> old[other] = 1
			:: else
			fi;
			other++
		:: else -> break
		od;
		other = 0
	}
}

inline tell(it)
{
	if
	:: it == PENDING -> accepted = 1
	:: it == LEASED ->
		assert(!delivered);
		assert(!cancelled);
		delivered = 1
	:: it == CANCELLED -> cancelled = 1
	:: else
	fi
}

inline believe()
{
	mine_tail = (was_done -> id : mine_tail);
	heard = (number[id] > number[heard] -> id : heard);
	tell(says[id]);
	mine[me] = (says[id] -> says[id] : mine[me]);
	id = 0
}

inline lose()
{
	serves[me] = 0;
	mine[me] = NONE;
	mine_tail = 0;
	mine_by = 0;
	id = 0
}

/* The client is told so. */
inline refuse()
{
	assert(tail != id);
	refused[id] = 1;
	id = 0
}

#ifdef NO_HASH_BACK
#define IS_MINE	(number[tail] == number[id])
#else
#ifdef NO_OWNER_IN_HASH
#define IS_MINE	(tail == id || (before[tail] == before[id] && !says[tail] && !says[id]))
#else
#define IS_MINE	(tail == id)
#endif
#endif

inline end_call()
{
	sent[me] = 0;
	arrived[me] = 0;
	answered_done[me] = 0
}

proctype node(byte me)
{
	byte id, mine_tail, mine_by;
	bit is_whole, has_heard, was_done, was_answered;

	/* Taking over */
end_idle:
	do
	:: atomic { ids < IDS ->
#ifndef NO_HEARD
		if
		:: number[heard] > number[tail] ||
		   (number[heard] == number[tail] && heard != tail) -> goto broken
		:: else
		fi;
#endif
#ifdef NO_FENCE
		mine_tail = tail;
		mine_by = tail
#else
		make(tail, NONE, 0);
		mine_by = id
#endif
		}
#ifndef NO_FENCE
		goto send
#else
		goto loading
#endif
	od;

loading:
	atomic { load(mine_tail) }
	if
	:: atomic { !is_whole && tail == mine_tail -> goto broken }
	:: atomic { !is_whole && tail != mine_tail -> lose(); goto end_idle }
	:: atomic { is_whole -> begin_to_serve() }
	fi;

end_serving:
	do
	:: atomic { ids < IDS && mine[me] == NONE -> make(mine_tail, PENDING, mine_by); goto send }
	:: atomic { ids < IDS && mine[me] == PENDING ->
		if
		:: make(mine_tail, LEASED, mine_by)
		:: make(mine_tail, CANCELLED, mine_by)
		fi;
		goto send
	   }
	:: atomic { tail != mine_tail -> lose(); goto end_idle }
	od;

send:	atomic { sent[me] = id; arrived[me] = 0; answered_done[me] = 0 }
	/* An answer, or none: then the txn may arrive later. */
	if
	:: atomic { arrived[me] -> was_answered = 1; was_done = answered_done[me]; end_call() }
	:: d_step { !late[me] || arrived[me] ->
		was_answered = 0;
		was_done = 0;
		if
		:: !arrived[me] -> late[me] = sent[me]
		:: else
		fi;
		end_call() }
	fi;
	if
	:: atomic { was_done -> goto done }
#ifdef NO_BACK_UNKNOWN
	:: atomic { !was_done && !was_answered && serves[me] -> refuse(); goto end_serving }
#endif
#ifdef NO_BACK_REFUSED
	:: atomic { !was_done && was_answered && serves[me] -> refuse(); goto end_serving }
#endif
	:: !was_done
	fi;

	/* Reading back */
	if
	:: atomic { IS_MINE -> mine_tail = tail; goto done }
	:: atomic { !(IS_MINE) && tail == before[id] ->
#ifdef NO_SAME_AGAIN
		if
		:: serves[me] -> refuse(); goto end_serving
		:: else
		fi;
#endif
		goto send }
	:: atomic { !(IS_MINE) && tail != before[id] -> lose(); goto end_idle }
	fi;

done:	atomic {
		believe();
		if
		:: serves[me] -> goto end_serving
		:: else -> goto loading
		fi
	}

broken:
	skip
}

init {
	atomic {
		run node(0);
		run node(1)
	}
}
