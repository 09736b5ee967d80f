/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The keys by which one node at a time has a shard, for answers that need no commit: what the owner
 * does not find nobody has. chain.pml has the commits, without keys: any node may take the shard from
 * its owner there.
 *
 * A node reads the tail and all keys at once. If no other node has a key it commits its fence, which
 * checks that the tail is still that one and puts the node's key in the node's session. Then it
 * loads the chain and serves. A txn may be lost or arrive later, also once more; the node reads the
 * tail back then. A node that has left the shard deletes its key, and that may arrive later, too.
 *
 * The store ends a session, and with it its keys, not before the node stops to be sure of it. The
 * node hears of that at any later time, if ever; then it has another session, and leaves the shard
 * when what it has on its way has ended. It may stop at any point.
 *
 *	tenure_release(), tenures_changed(), tenures_end_session()
 *						tools/hwheeld/consensus/tenure/held.c
 *	tenure_group_add_fence()		tools/hwheeld/consensus/tenure/group.c
 *
 * Checked:
 *  - no two nodes answer;
 *  - nothing is done to the shard while another node answers.
 *
 * The take-outs:
 *  - NO_WAIT: a new owner does not look at other nodes' keys;
 *  - NO_KEY_IN_FENCE: a new owner puts its key after its fence;
 *  - NO_CHECK_TAIL: a txn does not check what is the last commit;
 *  - NO_CHECK_KEY: a node that deletes its key may delete what a later fence put;
 *  - NO_SURE: an owner answers until it hears that its session has ended;
 *  - NO_LEAVE: an owner goes on in its next session.
 *
 * Without these is violated:
 * NO_CHECK_KEY: !answers_too
 * NO_CHECK_TAIL: !answers_too
 * NO_KEY_IN_FENCE: !answers_too
 * NO_LEAVE: !answers_too
 * NO_SURE: !answers_too
 * NO_WAIT: !answers_too
 */
#define NODES	2

/* What the tail is, as to a node's txn: it is there, or may still be done, or may not. */
#define BEFORE	0
#define MINE	1
#define OTHER	2
byte tail[NODES];

/* A node's txn: on its way, and a copy of it that arrives when the node has given it up */
bit is_fence[NODES];
bit sent[NODES], late[NODES];
bit arrived[NODES], answered_done[NODES];

/* The store has the node's session, and its key, or a deletion of that on its way. */
bit session[NODES] = 1, held[NODES], deletes[NODES];

/* What a node believes */
bit sure[NODES] = 1, serves[NODES], leaves[NODES];

bit answers_too;

#ifdef NO_SURE
#define ANSWERS(node)	(serves[node] && !leaves[node])
#else
#define ANSWERS(node)	(serves[node] && !leaves[node] && sure[node])
#endif

inline look_for_two()
{
	answers_too = ANSWERS(0) && ANSWERS(1);
	assert(!answers_too)
}

/* A delayed deletion of the key that was there before does nothing. */
inline put_key(node)
{
	held[node] = 1;
#ifndef NO_CHECK_KEY
	deletes[node] = 0
#endif
}

#ifdef NO_CHECK_TAIL
#define IS_NEXT(node)	true
#else
#define IS_NEXT(node)	(tail[node] == BEFORE)
#endif

inline do_txn(node, other)
{
	if
	:: IS_NEXT(node) && (session[node] || !is_fence[node]) ->
		answers_too = ANSWERS(other);
		assert(!answers_too);
		tail[other] = OTHER;
		late[other] = 0;
		tail[node] = MINE;
		late[node] = 0;
#ifndef NO_KEY_IN_FENCE
		if
		:: is_fence[node] -> put_key(node)
		:: else
		fi;
#endif
		is_done = 1
	:: else -> is_done = 0
	fi
}

/* The answer to what was done may be that of a second try. */
inline arrive(node, other)
{
	arrived[node] = 1;
	do_txn(node, other);
	answered_done[node] = is_done;
	is_done = 0
}

/* A fence in it is refused, also when it arrives later. */
inline end_session(node)
{
	session[node] = 0;
	held[node] = 0;
	late[node] = (is_fence[node] -> 0 : late[node]);
	arrived[node] = (is_fence[node] && sent[node] -> 1 : arrived[node])
}

proctype store(byte node, other)
{
	bit is_done;

end:	do
	:: d_step { sent[node] && !arrived[node] -> arrive(node, other) }
	:: d_step { sent[node] && answered_done[node] -> answered_done[node] = 0 }
	:: d_step { late[node] -> late[node] = 0; do_txn(node, other); is_done = 0 }
	:: d_step { sent[node] && tail[node] == BEFORE && !late[node] &&
		    (session[node] || !is_fence[node]) -> late[node] = 1 }
	:: d_step { deletes[node] -> deletes[node] = 0; held[node] = 0 }
	:: d_step { sure[node] -> sure[node] = 0 }
	:: d_step { session[node] && !sure[node] -> sure[node] = 1; look_for_two() }
	:: d_step { session[node] && !sure[node] -> end_session(node) }
	od
}

inline hear()
{
	session[me] = 1;
	sure[me] = 1;
#ifdef NO_LEAVE
	look_for_two()
#else
	leaves[me] = 1
#endif
}

#ifdef NO_WAIT
#define IS_FREE	true
#else
#define IS_FREE	(!held[1 - me])
#endif

proctype node(byte me)
{
	bit was_done;

	/* Without the shard */
end_idle:
	leaves[me] = 0;
end_idle_still:
	do
	:: d_step { !session[me] -> hear(); leaves[me] = 0 }
	:: d_step { held[me] -> deletes[me] = 1 }
	:: atomic { IS_FREE -> is_fence[me] = 1; tail[me] = BEFORE; goto send }
	od;

loading:
	if
	:: atomic { leaves[me] -> goto end_idle }
	:: atomic { !session[me] -> hear(); goto end_idle }
	:: atomic { !leaves[me] -> serves[me] = 1; look_for_two() }
	fi;

end_serving:
	do
	:: d_step { !session[me] -> hear() }
	:: atomic { serves[me] = 0; goto end_idle }
	:: atomic { !leaves[me] ->
		is_fence[me] = 0;
		tail[me] = (tail[me] == MINE -> BEFORE : OTHER);
		goto send }
	od;

send:	atomic {
		if
		:: !session[me] -> hear()
		:: true
		fi;
		sent[me] = 1
	}
	/* An answer, or none: then the txn may arrive later. */
	if
	:: atomic { arrived[me] -> was_done = answered_done[me] }
	:: atomic { true ->
		was_done = 0;
		if
		:: !arrived[me] && tail[me] == BEFORE && (session[me] || !is_fence[me]) ->
			late[me] = 1
		:: else
		fi }
	fi;
	d_step { sent[me] = 0; arrived[me] = 0; answered_done[me] = 0 }
	/* Reading back */
	if
	:: atomic { was_done || tail[me] == MINE -> was_done = 0 }
	:: atomic { !was_done && tail[me] == BEFORE -> goto send }
	:: atomic { !was_done && tail[me] == OTHER -> serves[me] = 0; goto end_idle }
	fi;
	if
	:: serves[me] -> goto end_serving
	:: else ->
#ifdef NO_KEY_IN_FENCE
		put_key(me);
#endif
		goto loading
	fi
}

init {
	atomic {
		run store(0, 1);
		run store(1, 0);
		run node(0);
		run node(1)
	}
}
