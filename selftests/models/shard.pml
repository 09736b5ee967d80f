/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One shard of a cluster: nodes that own it one after the other, and clients with one timeout.
 *
 * ZooKeeper does one request after the other. A node believes what it has read. It may stop at any
 * point, lose its connection or its session, and go on later, when another node is the owner. A
 * request may arrive after its sender has given it up. The model lets even requests of a session
 * that has ended arrive: only the epoch keeps them out.
 *
 * A node takes the shard over in one request, which creates the lock and gives the shard a new
 * epoch. Then the node loads the log, and writes for clients. A write may clean the log: the
 * records before it are removed, as it says all that they said. So the number of a record becomes
 * free again, and that numbers are unique keeps nobody out. After a lost connection the owner
 * gives the shard a new epoch, which no request on its way has, and reads the log back, and then
 * the epoch: another node may have cleaned the log meanwhile.
 *
 *	shard_take_over(), shard_taken(), shard_connected(), shard_renewed(),
 *	shard_lose()				tools/hwheeld/nodes/shard.c
 *	commit_send(), commit_sent(), commit_read_log(), commit_read_epoch()
 *						tools/hwheeld/consensus/commit.c
 *
 * Checked:
 *  - no timeout is delivered twice, or after a client was told that it is cancelled;
 *  - the owner knows of each timeout that a client was told to be accepted;
 *  - a write that a client was told to be refused never happens.
 *
 * The take-outs:
 *  - NO_CHECK_EPOCH: a write checks no epoch;
 *  - NO_ATOMIC_CHECK: the owner reads the epoch, stops, and writes later without a check;
 *  - NO_PERSISTENT_EPOCH: the epoch is the version of the lock, which is 0 for each new lock;
 *  - NO_ORDER_LOAD: the node loads the log before it has the lock;
 *  - NO_NEW_EPOCH: after a lost connection the owner keeps its epoch as it reads the log back;
 *  - NO_EPOCH_AFTER: the owner reads the log back, and not the epoch after it;
 *  - NO_READ_BACK: after a lost connection the owner takes the write for refused;
 *  - SPARE_ATOMIC_TAKEOVER: the epoch may come after the lock, if loading comes after both.
 *
 * Without these is violated:
 * NO_ATOMIC_CHECK: !accepted || ...
 * NO_CHECK_EPOCH: !accepted || ...
 * NO_EPOCH_AFTER: !sent[me].done
 * NO_NEW_EPOCH: !late[0].refused
 * NO_ORDER_LOAD: !accepted || ...
 * NO_PERSISTENT_EPOCH: !accepted || ...
 * NO_READ_BACK: !sent[me].done
 */
#define NODES		2
#define NOBODY		NODES

#ifdef SMALL
#define TAKEOVERS	3
#define NUMBERS		3	/* of records in the log */
#else
#define TAKEOVERS	4
#define NUMBERS		4
#endif

/* Of connections; a node that stops is enough to find what these are for. */
#if defined(NO_CHECK_EPOCH) || defined(NO_ATOMIC_CHECK) || defined(NO_ORDER_LOAD) || \
    defined(NO_PERSISTENT_EPOCH)
#define LOSSES		0
#else
#define LOSSES		2
#endif

/* What a record says of the timeout */
#define NONE		0
#define PENDING		1
#define LEASED		2
#define CANCELLED	3

/* ZooKeeper */
byte epoch, lock = NOBODY, takeovers, losses;
byte record[NUMBERS];		/* NONE: no record has this number */

/* A write on its way, with what ZooKeeper has made of it */
typedef write {
	byte says;		/* NONE: there is none */
	byte number;
	byte epoch;
	bit cleans;
	bit arrived;
	bit done;
	bit refused;		/* a client has been told */
};

write sent[NODES];
write late[NODES];		/* its sender has lost the connection */

/* What clients were told */
bit accepted, delivered, cancelled;

/* What a node believes */
byte mine[NODES], next[NODES], mine_epoch[NODES];
bit owns[NODES];
byte i;

#ifdef NO_PERSISTENT_EPOCH
#define GIVE_EPOCH(takes)	epoch = (takes -> 0 : epoch + 1)
#define HAS_EPOCH		(lock != NOBODY)
#else
#define GIVE_EPOCH(takes)	epoch++
#define HAS_EPOCH		true
#endif

#if defined(NO_CHECK_EPOCH) || defined(NO_ATOMIC_CHECK)
#define PASSES(request)		true
#else
#define PASSES(request)		(HAS_EPOCH && request.epoch == epoch)
#endif

#define IS_OWNER(node)		(owns[node] && mine_epoch[node] == epoch && !sent[node].says)
#define KNOWS_IT(node)		(!IS_OWNER(node) || mine[node])

/* The owner knows of the timeout, and whether it has ended. */
inline check_owner()
{
	assert(!accepted || (KNOWS_IT(0) && KNOWS_IT(1)))
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
	fi
}

inline clean_before(end)
{
	i = 0;
	do
	:: i < end -> record[i] = NONE; i++
	:: else -> break
	od;
	i = 0
}

/* ZooKeeper does one of the writes on their way: all of it, or nothing. */
inline arrive(request)
{
	request.arrived = 1;
	if
	:: PASSES(request) && !record[request.number] ->
		assert(!request.refused);
		if
		:: request.cleans -> clean_before(request.number)
		:: else
		fi;
		record[request.number] = request.says;
		request.done = 1
	:: else
	fi
}

inline forget(request)
{
	request.says = NONE;
	request.number = 0;
	request.epoch = 0;
	request.cleans = 0;
	request.arrived = 0;
	request.done = 0;
	request.refused = 0
}

/* Its sender may be reading back whether it has arrived. */
inline arrive_late(node)
{
	arrive(late[node]);
	if
	:: late[node].done && sent[node].epoch == late[node].epoch -> sent[node].done = 1
	:: else
	fi;
	forget(late[node]);
	check_owner()
}

active proctype zookeeper()
{
end:	do
	:: d_step { sent[0].says && !sent[0].arrived -> arrive(sent[0]); check_owner() }
	:: d_step { sent[1].says && !sent[1].arrived -> arrive(sent[1]); check_owner() }
	:: d_step { late[0].says -> arrive_late(0) }
	:: d_step { late[1].says -> arrive_late(1) }
	:: d_step { late[0].says -> forget(late[0]) }
	:: d_step { late[1].says -> forget(late[1]) }
	:: d_step { lock != NOBODY && takeovers < TAKEOVERS -> lock = NOBODY }
	od
}

inline load()
{
	d_step {
		mine[me] = NONE;
		next[me] = 0;
		i = 0;
		do
		:: i < NUMBERS && record[i] ->
			mine[me] = record[i];
			next[me] = i + 1;
			i++
		:: i < NUMBERS && !record[i] -> i++
		:: i == NUMBERS -> break
		od;
		i = 0
	}
}

inline begin_to_own()
{
	d_step {
		owns[me] = 1;
		check_owner()
	}
}

inline lose_shard()
{
	d_step {
		owns[me] = 0;
		mine[me] = NONE;
		next[me] = 0;
		mine_epoch[me] = 0
	}
}

#define MAY_TAKE_OVER	(lock == NOBODY && takeovers < TAKEOVERS)

inline take_lock()
{
	if
	:: MAY_TAKE_OVER -> lock = me; takeovers++
	:: else -> lose_shard(); goto end
	fi
}

inline take_epoch(takes)
{
	GIVE_EPOCH(takes);
	mine_epoch[me] = epoch
}

inline take_over()
{
#ifdef NO_ORDER_LOAD
	load();
#endif
#ifdef SPARE_ATOMIC_TAKEOVER
	atomic { take_lock() }
	atomic { take_epoch(true) }
#else
	atomic { take_lock(); take_epoch(true) }
#endif
#ifndef NO_ORDER_LOAD
	load();
#endif
	begin_to_own()
}

inline send(it)
{
	sent[me].says = it;
	sent[me].number = next[me];
	sent[me].epoch = mine_epoch[me];
	if
	:: sent[me].cleans = 1
	:: true
	fi
}

/* What the owner may do for a client, by what it believes */
inline choose()
{
	atomic {
		if
		:: mine[me] == NONE -> send(PENDING)
		:: mine[me] == PENDING -> send(LEASED)
		:: mine[me] == PENDING -> send(CANCELLED)
		fi
	}
}

inline believe()
{
	tell(sent[me].says);
	mine[me] = sent[me].says;
	next[me] = sent[me].number + 1;
	forget(sent[me]);
	check_owner()
}

inline take_answer()
{
	if
	:: atomic { sent[me].done -> believe() }
	:: atomic { sent[me].arrived && !sent[me].done -> forget(sent[me]); lose_shard() }
	fi
}

inline copy(to, from)
{
	to.says = from.says;
	to.number = from.number;
	to.epoch = from.epoch;
	to.cleans = from.cleans
}

inline refuse()
{
	assert(!sent[me].done);
	late[me].refused = (late[me].says != NONE);
	forget(sent[me])
}

/* The write may be on its way still, or have arrived. */
inline lose_connection()
{
	d_step {
		!late[me].says && losses < LOSSES ->
		losses++;
		if
		:: !sent[me].arrived -> copy(late[me], sent[me]); sent[me].arrived = 1
		:: else
		fi
	}
}

/* If another node has the shard, nobody will ever know of the write. */
inline give_up()
{
	forget(sent[me]);
	lose_shard();
	goto end
}

inline renew_epoch()
{
	atomic {
		if
		:: mine_epoch[me] == epoch && HAS_EPOCH -> take_epoch(false)
		:: else -> give_up()
		fi
	}
}

/* What the log says is true only if no other node has cleaned it meanwhile. */
inline read_back()
{
#ifdef NO_READ_BACK
	is_there = 0;
#else
	is_there = (record[sent[me].number] == sent[me].says);
#endif
	atomic {
#ifndef NO_EPOCH_AFTER
		if
		:: mine_epoch[me] == epoch && HAS_EPOCH
		:: else -> give_up()
		fi;
#endif
		if
		:: is_there -> believe()
		:: else -> refuse(); check_owner()
		fi
	}
}

proctype node(byte me)
{
	bit is_there;

end:	do
	:: !owns[me] && MAY_TAKE_OVER -> take_over()
	:: owns[me] && next[me] < NUMBERS ->
#ifdef NO_ATOMIC_CHECK
		if
		:: mine_epoch[me] == epoch
		:: else -> lose_shard(); goto end
		fi;
#endif
		if
		:: mine[me] == NONE || mine[me] == PENDING -> choose()
		:: else -> goto idle
		fi;
		if
		:: take_answer()
		:: lose_connection();
#ifndef NO_NEW_EPOCH
			renew_epoch();
#endif
			read_back()
		fi
idle:		skip
	:: atomic { owns[me] && mine_epoch[me] != epoch -> lose_shard() }
	od
}

init {
	atomic {
		run node(0);
		run node(1)
	}
}
