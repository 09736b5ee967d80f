/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/**
 * DOC: hwheel
 *
 * Each open /dev/hwheel is a private set of timeouts. ioctls register, move and
 * cancel them, one at a time or many, read() returns those that expired, poll()
 * tells when there are some. The set is on the default wheel of its opener's
 * account, or on one of its own (HWHEEL_IOC_CONFIG). Processes that share the file
 * (fork(), dup(), SCM_RIGHTS) share the set; nobody else can reach it. Closing
 * the last descriptor of the file frees everything, whatever is pending, once no memory of the file
 * is mapped. open() fails with ENOMEM also when the caller's memory cgroup is at its limit.
 * libhwheel(3) calls all this for a program.
 *
 * All files that one user has opened are one account's, in the user namespaces that this user has
 * made as well. Each user namespace that root has made, a container, is an account,
 * and root has one for each cgroup.
 *
 * All times are nanoseconds of the wheel's clock, CLOCK_MONOTONIC unless
 * CONFIG chose CLOCK_BOOTTIME, as shown in the time namespace of the process that opened
 * the file. No timeout is ever reported before its deadline; it is reported
 * less than one tick plus the wake-up latency of the wheel's worker after it. A worker
 * serves all files on its wheel, one event after the other: a program that does not want
 * to wait for events of others gives its file a wheel of its own.
 * Several timeouts that expire at one edge (multiple of the tick) are reported
 * in no particular order, unless they are mapped. CLOCK_MONOTONIC stands still while the machine is
 * suspended, CLOCK_BOOTTIME goes on: what became due meanwhile is reported after
 * the machine has woken up; no timeout wakes it up.
 *
 * Structures are never versioned: a new need gets a new command, and
 * HWHEEL_IOC_INFO tells which are there. A command that is not known fails with
 * ENOTTY, an unknown flag or a nonzero reserved field with EINVAL, and a bad
 * pointer with EFAULT; in each case nothing was changed. Commands that change the set
 * (ARM, SET, REFRESH, CANCEL, WITHDRAW, SUBMIT, CONFIG, STOP, MAP, KICK) fail with EBADF on a
 * descriptor that is not open for writing; INFO, QUERY and STATS take any.
 */
#ifndef _UAPI_LINUX_HWHEEL_H
#define _UAPI_LINUX_HWHEEL_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* Values of hwheel_op.op */
#define HWHEEL_OP_ARM		1
#define HWHEEL_OP_REFRESH	2
#define HWHEEL_OP_CANCEL	3
#define HWHEEL_OP_QUERY		4
#define HWHEEL_OP_SET		5
#define HWHEEL_OP_WITHDRAW	6

/*
 * hwheel_op.flags: time_ns is a point in time, not a time from now. For HWHEEL_OP_ARM,
 * HWHEEL_OP_SET and HWHEEL_OP_REFRESH, where one that is past fires at once, at the next edge at
 * the latest; and for HWHEEL_OP_QUERY.
 */
#define HWHEEL_ABSOLUTE		0x1

/* The result of HWHEEL_OP_QUERY: what became of a timeout */
#define HWHEEL_STATE_PENDING	1
#define HWHEEL_STATE_EXPIRED	2	/* its event was not read yet */
#define HWHEEL_STATE_STOPPED	3	/* its event was not read yet */

/**
 * struct hwheel_op - one operation on one timeout
 * @op:       in: HWHEEL_OP_*. An ioctl that names the operation itself takes 0 as
 *            well.
 * @flags:    in: HWHEEL_ABSOLUTE or 0. 0 for HWHEEL_OP_CANCEL and HWHEEL_OP_WITHDRAW.
 * @result:   out, in a batch: 0 (HWHEEL_OP_QUERY: HWHEEL_STATE_*) or a negative errno.
 *            Never read. A single operation's is what its ioctl returns, and this is
 *            not written.
 * @reserved: in: must be 0
 * @id:       in: names the timeout within its file; must be 0 for HWHEEL_OP_ARM, for
 *            which it is out. In and out for HWHEEL_OP_SET, which takes any number, such as 0
 *            for none yet. Ids are never 0 and not used again: that of a timeout which
 *            has ended never comes to mean another one.
 * @cookie:   in for HWHEEL_OP_ARM and HWHEEL_OP_SET: comes back in the event. Else in: must be 0.
 *            Out for HWHEEL_OP_QUERY.
 * @time_ns:  in for HWHEEL_OP_ARM, HWHEEL_OP_SET and HWHEEL_OP_REFRESH: the delay, or the deadline
 *            with HWHEEL_ABSOLUTE, in ns. Any value is valid: 0 means the next
 *            edge, and what lies beyond the clock's range (292 years) means never.
 *            Else in: must be 0. Out for HWHEEL_OP_QUERY: the time left until the
 *            deadline (0: past), or the deadline with HWHEEL_ABSOLUTE.
 *
 * As outputs are not 0, a program clears them before it uses a record again.
 */
struct hwheel_op {
	__u32 op;
	__u32 flags;
	__s32 result;
	__u32 reserved;
	__u64 id;
	__u64 cookie;
	__u64 time_ns;
};

/* How many operations there may be in a batch */
#define HWHEEL_SUBMIT_MAX	4096

/**
 * struct hwheel_submit - a batch of operations
 * @ops:      address of an array of struct hwheel_op
 * @nr:       how many of them, up to HWHEEL_SUBMIT_MAX
 * @reserved: must be 0
 */
struct hwheel_submit {
	__u64 ops;
	__u32 nr;
	__u32 reserved;
};

/* Values of hwheel_event.type */
#define HWHEEL_EVENT_EXPIRED	1
#define HWHEEL_EVENT_STOPPED	2

/**
 * struct hwheel_event - what read() returns, one for each timeout that ended so
 * @id:          of the timeout; unknown from now on
 * @cookie:      as given when it was armed
 * @deadline_ns: when it was due, as last armed or refreshed (rounded up to 8 ns of the
 *               machine's own clock; not before that clock's zero)
 * @fired_ns:    when the wheel fired it, never less than @deadline_ns: the worker's last look
 *               at the clock, which is no older than 256 timeouts; or when it was stopped
 * @type:        HWHEEL_EVENT_EXPIRED, or HWHEEL_EVENT_STOPPED: it was pending when
 *               HWHEEL_IOC_STOP came
 * @reserved:    0
 *
 * read() returns as many whole events as there are and fit: EINVAL if not one
 * fits, EAGAIN if there is none and the file is non-blocking. An event whose
 * copy faults (EFAULT) is not lost: the next read() returns it. EINTR: a signal came
 * first. When all events of a stopped file were read, read() returns 0.
 */
struct hwheel_event {
	__u64 id;
	__u64 cookie;
	__u64 deadline_ns;
	__u64 fired_ns;
	__u32 type;
	__u32 reserved;
};

/* Kinds of wheel */
#define HWHEEL_KIND_DEFAULT	0	/* hwheel_config: the account's wheel */
#define HWHEEL_KIND_HASHED	1	/* one level, far timeouts wait in rounds */
#define HWHEEL_KIND_HIERARCHICAL 2	/* several, far timeouts come down in time */
#define HWHEEL_KIND_SIMPLE	3	/* one level, no rounds: a revolution is the limit */

/* hwheel_config.flags: what the wheel's thread takes from the thread that calls CONFIG */
#define HWHEEL_CONFIG_NICE	0x1	/* its niceness */
#define HWHEEL_CONFIG_CPUS	0x2	/* the CPUs on which it may run */

/* hwheel_info.features: the commands beyond INFO, ARM, REFRESH and CANCEL */
#define HWHEEL_FEATURE_QUERY	0x01
#define HWHEEL_FEATURE_SUBMIT	0x02
#define HWHEEL_FEATURE_CONFIG	0x04
#define HWHEEL_FEATURE_STOP	0x08
#define HWHEEL_FEATURE_STATS	0x10
#define HWHEEL_FEATURE_MAP	0x20
#define HWHEEL_FEATURE_SET	0x40
#define HWHEEL_FEATURE_WITHDRAW	0x80

/**
 * struct hwheel_info - what this file can do and what its wheel is like
 * @features:     mask of HWHEEL_FEATURE_*; bit 63 is for libhwheel, and 0 here
 * @tick_ns:      the wheel's tick, as effective
 * @max_timeouts: how many timeouts this file may hold at a time
 * @max_pending:  how many may be pending on the whole wheel; 0: no limit
 * @slots:        slots of a level
 * @levels:       levels of the wheel
 * @kind:         HWHEEL_KIND_*, not HWHEEL_KIND_DEFAULT
 * @clock:        clockid_t of all times: CLOCK_MONOTONIC or CLOCK_BOOTTIME
 * @max_submit:   HWHEEL_SUBMIT_MAX
 * @own_wheel:    1 if the wheel is this file's alone, else 0
 * @max_user_bytes: how much memory all files of the opener's account may hold, see @account_bytes
 *                of struct hwheel_file_stats
 * @reserved:     0
 */
struct hwheel_info {
	__u64 features;
	__u64 tick_ns;
	__u64 max_timeouts;
	__u64 max_pending;
	__u32 slots;
	__u32 levels;
	__u32 kind;
	__s32 clock;
	__u32 max_submit;
	__u32 own_wheel;
	__u64 max_user_bytes;
	__u64 reserved[6];
};

/**
 * struct hwheel_config - what a file's wheel is to be like
 * @tick_ns:      50,000 to 3,600,000,000,000, rounded up to a multiple of 8; 0: that of
 *                the default wheel
 * @max_timeouts: how many timeouts the file may hold, up to 16,777,216; 0: as before.
 *                More than the module's parameter of that name need CAP_SYS_RESOURCE.
 * @slots:        of each level, up to 1,048,576, rounded up to a power of two; 0: those of
 *                the default wheel
 * @levels:       for HWHEEL_KIND_HIERARCHICAL 2 to 8 (those that no deadline can reach are
 *                left out) or 0, which means 3; else 1 or 0, which means 1
 * @kind:         HWHEEL_KIND_*: of the file's own wheel. HWHEEL_KIND_DEFAULT: the file
 *                stays on the default wheel, @tick_ns, @slots, @levels and @turn_ns must be
 *                0 and @clock CLOCK_MONOTONIC.
 * @clock:        clockid_t: CLOCK_MONOTONIC or CLOCK_BOOTTIME. It has no default: no wheel
 *                runs on a clock that can be set, and CLOCK_REALTIME, whose number is 0,
 *                is refused.
 * @flags:        HWHEEL_CONFIG_* or 0, with which the wheel's thread has niceness 0 and runs on
 *                the CPUs that kernel threads have by default, so not on isolated ones. What
 *                becomes of the caller later does not change it. 0 with HWHEEL_KIND_DEFAULT.
 * @reserved:     must be 0; room for a limit of what is pending
 * @turn_ns:      the longest usual delay in ns, for HWHEEL_KIND_HASHED and HWHEEL_KIND_SIMPLE,
 *                in place of @slots and @levels, which must be 0 then. The wheel gets as many
 *                slots as @turn_ns has ticks, rounded up to a power of two: a simple one up to
 *                1,048,576. A hashed one of more than 16,384 becomes HWHEEL_KIND_HIERARCHICAL,
 *                with as many levels of 4,096 slots as it takes to reach @turn_ns. INFO has
 *                what was chosen. 0: @slots and @levels count.
 */
struct hwheel_config {
	__u64 tick_ns;
	__u64 max_timeouts;
	__u32 slots;
	__u32 levels;
	__u32 kind;
	__s32 clock;
	__u32 flags;
	__u32 reserved[9];
	__u64 turn_ns;
};

/* The last bin of hwheel_file_stats.wheel_lateness also has what is beyond it. */
#define HWHEEL_LATENESS_BINS	16

/**
 * struct hwheel_file_stats - what happened in this file and on its wheel
 * @held:        timeouts that the file holds: pending, waiting to be read, or not let go
 *               of by the worker yet
 * @pending:     those that are pending
 * @events:      those that wait to be read
 * @armed:       timeouts armed, ever; so for the next ones
 * @refreshed:   refreshes
 * @cancelled:   timeouts that CANCEL ended
 * @expired:     those that expired, whether read or not
 * @stopped:     those that STOP ended
 * @wheel:       1: @wheel_pending to @wheel_lateness tell of the wheel, on which other files of
 *               the opener's account may be, too. 0: they are 0, as the file has no wheel yet.
 * @wheel_pending: timeouts pending
 * @wheel_armed: timeouts armed, ever; so for the next ones
 * @wheel_expired: timeouts expired
 * @wheel_lag:   edges for which the worker was late
 * @wheel_lateness: histogram of how long after its deadline a timeout expired: [0] counts
 *               those below 1/256 of a tick, [1] below 1/128, and so on; from [9] on more
 *               than a tick
 * @account_bytes: memory that all files of the opener's account hold: of timeouts, which a file
 *               keeps for as many as it ever held at a time; of what MAP made; and of wheels of
 *               files' own. The files themselves and the account's default wheel do not count.
 * @account_throttled: how often a worker of the opener's account had to wait, as they had
 *               taken more CPU time than the account's workers may (worker_percent)
 * @account_throttled_ns: for how long they waited, in ns, each by itself
 * @reserved:    0
 *
 * Of a mapped file the kernel sees what was submitted, not what a program does with a record
 * between two looks: @held are the records, @pending those that the worker has filed, @armed those
 * that it has taken from lists, ever, and @events those in the ring that were not claimed;
 * @refreshed and @cancelled are 0. @wheel_pending to @wheel_lateness do not count mapped timeouts.
 *
 * While others go on counting each figure is exact at some time, each at another; but
 * @wheel_pending may be too high by timeouts that ended meanwhile, and @events of a mapped file by
 * events that were claimed meanwhile. On 32-bit kernels the figures wrap at 2^32. debugfs has the
 * counts of the wheel's inner workings.
 */
struct hwheel_file_stats {
	__u64 held;
	__u64 pending;
	__u64 events;
	__u64 armed;
	__u64 refreshed;
	__u64 cancelled;
	__u64 expired;
	__u64 stopped;
	__u64 wheel;
	__u64 wheel_pending;
	__u64 wheel_armed;
	__u64 wheel_expired;
	__u64 wheel_lag;
	__u64 wheel_lateness[HWHEEL_LATENESS_BINS];
	__u64 account_bytes;
	__u64 account_throttled;
	__u64 account_throttled_ns;
	__u64 reserved[5];
};

/**
 * DOC: Mapped timeouts
 *
 * Arm, refresh, cancel, withdraw and reap without a system call.
 *
 * HWHEEL_IOC_MAP makes memory that the program and the wheel's worker share: a header, lists on
 * which the program's threads submit records, a ring in which the worker publishes the records
 * that have ended, and the records, one for each timeout. mmap() maps it. From then on the program
 * works on the records with atomic operations, and enters the kernel only to sleep (poll(), epoll)
 * and to wake a worker that has stopped looking (HWHEEL_IOC_KICK). A file is either mapped or used
 * with ARM, SET, REFRESH, CANCEL, WITHDRAW, QUERY, SUBMIT and read(): on a mapped file REFRESH,
 * CANCEL, WITHDRAW and QUERY fail with ENOENT, as it has no ids, and the others with EOPNOTSUPP.
 * INFO, STOP, STATS, poll() and close() work on both kinds, CONFIG before the first MAP.
 *
 * The kernel trusts nothing in this memory: a program can harm its own timeouts by what it writes
 * there, and no others. All fields are in the machine's byte order, and the same for 32-bit
 * programs, which have to load and store 64 bits at once, as their atomic operations do.
 *
 * The worker's time is charged to no cgroup. A worker runs the mapped files of its wheel in turns
 * of at most a tick, and never more than 10 ms, so a program that submits more than the worker can
 * take makes late what else is on that wheel: timeouts of its own account.
 *
 * Times in this memory are nanoseconds of the wheel's clock as the machine shows it, without
 * the offset of a time namespace. @clock_offset_ns of the header is by how much the clock of the
 * opener's namespace shows more; it never changes. A program in that namespace subtracts it from
 * what its clock shows (a time before 0 is 0: past), and adds it to a time that it reads here. One
 * in another namespace needs the offset of its own.
 *
 * The word of a record:
 *
 *	 63                              4   3   2   1 0
 *	| deadline, in units of 8 ns      | W | Q | state |
 *
 * For a deadline of so many nanoseconds, rounded up to a multiple of 8 and no more than
 * HWHEEL_MAP_NEVER, this is (deadline << 1) | W | Q | state. MAP makes records IDLE, and the rest
 * of them 0. W is HWHEEL_MAP_WITHDRAWN: withdraw() sets it in an EXPIRED word, reap() leaves it in
 * an IDLE one, and arm() clears it. Q is HWHEEL_MAP_QUEUED: the record is on a list, or a thread
 * is about to push it, or the worker has taken it. A thread that sets Q pushes the record, and
 * nobody else does; a thread that finds Q set has nothing to push. The worker clears Q by an
 * exchange (release) from the word that it has acted on, after it has read the record's link: a
 * thread that sees the word without Q may write the link. Except for Q, and EXPIRED in place of
 * PENDING, the worker leaves the word as it is. A CANCELLED one stays so; only STOP may make it
 * IDLE.
 *
 * An id is the program's own. If a thread may cancel, refresh, withdraw or query by an id while
 * others reap and arm, the record may be another timeout's by then: so the low bits of the
 * deadline have room for a tag. The worker compares the whole deadline with the time, so a program
 * rounds it up before it puts the tag in; HWHEEL_MAP_NEVER is no special value. Seven bits
 * (deadlines in units of 1,024 ns) that count how often the record was armed, and the whole count
 * in @generation, read after the word, leave one case: a thread that stands still between its load
 * and its exchange for just a multiple of 128 arms of this record, the last one with the very same
 * deadline. A program whose ids live for 2^32 arms of one record has to count further by itself.
 *
 * Below, each load(), store and exchange names the weakest memory order that is right; no order is
 * relaxed, in C11's words. cas() is a compare-and-exchange, and returns whether it was made; it may
 * fail for no reason, and needs no order then.
 *
 * arm(i, deadline): record i is the program's: IDLE, or CANCELLED by it; Q does not matter.
 *	store r.cookie and r.generation, the program's own
 *	do old = load(r.word, acquire)
 *	while !cas(r.word, old -> deadline << 1 | PENDING | Q, seq_cst)
 *	open = old & Q ? load(list.head, seq_cst) != CLOSED : push(i)
 *	return !open and cancel(i) ? ESHUTDOWN : 0
 *	If the cancel fails, STOP has ended the timeout, and its event comes. The cancel has to
 *	expect a word of this arm (see the tag) where another thread may have reaped the record and
 *	armed it again. The list is any of them, as STOP closes all before it looks at the records.
 *	If old has no Q, nobody else changes the word: a store (release) does in place of the
 *	exchange.
 *
 * push(i): on any list. Best each thread has one of its own, to share no cache line, and because a
 *	thread that stands still, or ends, between its exchange of ASLEEP and its KICK holds up all
 *	that others push onto that list meanwhile, until one of them kicks: KICK is for all lists.
 *	do head = load(list.head)
 *	   if head == CLOSED: return false
 *	   store(r.link = head == ASLEEP ? 0 : head)
 *	while !cas(list.head, head -> i + 1, seq_cst)
 *	if head == ASLEEP: ioctl(fd, HWHEEL_IOC_KICK)
 *	return true
 *	Without ASLEEP the worker looks at the list at each edge.
 *
 * cancel(i): success is the promise that no event comes
 *	do old = load(r.word, acquire)
 *	   if state of old != PENDING: return false
 *	while !cas(r.word, old -> old | CANCELLED | Q, release)
 *	if !(old & Q): push(i)				if CLOSED, there is nothing to do
 *	return true
 *	From the exchange on any thread may arm the record again.
 *
 * refresh(i, deadline):
 *	do old = load(r.word, acquire)
 *	   if state of old != PENDING: return false
 *	   new = deadline << 1 | PENDING | (old & Q)
 *	   if the deadline is earlier than that in old: new |= Q
 *	while !cas(r.word, old -> new, release)
 *	if new & ~old & Q: push(i)			if CLOSED, STOP ends the timeout
 *	return true
 *
 * withdraw(i): of a timeout that has expired, or was stopped: success is the promise that no event
 *	comes. The record stays where it is: only the thread that claims its entry makes it the
 *	program's, as else it would be armed while it is in the ring. So a program goes on with
 *	reap(), also when it has withdrawn all.
 *	do old = load(r.word, acquire)
 *	   if state of old != EXPIRED or old & W: return false
 *	while !cas(r.word, old -> old | W, release)
 *	return true
 *
 * A set moves by refresh(), else arms another record, and then withdraws the old one. A query loads
 * the word (acquire): a state of EXPIRED without W is an event that waits, or is being claimed.
 *
 * reap(k): any number of threads
 *	head = load(header.head, acquire)
 *	n = min(k, load(header.tail, acquire) - head)
 *	copy for each j < n:
 *		entry = load(ring[(head + j) % ring_size])
 *		index = entry & ~HWHEEL_MAP_STOPPED; the flag: STOP has ended it
 *	if !cas(header.head, head -> head + n, seq_cst): discard the copies and begin again
 *	for each j < n, of record index:
 *		copy cookie, generation, fired_ns and the word's deadline
 *		old = fetch_add(record.word, 2, release), which makes IDLE of EXPIRED, and keeps
 *		W and Q; if old & W: discard the copy, there is no event
 *	The records are the program's again. Another thread may have made one of them, in a segment
 *	that this one has to map first. A thread that stood still between the loads may find n above
 *	ring_size: its exchange fails.
 *
 * The ring has room for all records, and a record is in it once, until its entry is claimed. A
 * program that moves head by other means, or arms a record whose entry was not claimed, loses
 * events; the worker does not wait for room.
 *
 * A thread that ends, or stands still, between setting Q and its push holds up that one record
 * alone. A timeout that was moved to an earlier deadline expires at the one that the worker has
 * filed before; one that was armed, not before the push; and STOP ends both. A signal handler may
 * reap and withdraw, but must not arm, cancel or refresh a record on which its thread may be at
 * work.
 *
 * STOP ends each timeout that is pending, whether it was pushed or not, and returns how many these
 * were: an entry with HWHEEL_MAP_STOPPED for each is in the ring by then, and the tail stays. The
 * program goes on with reap() and withdraw() until the ring is empty, and unmaps the memory. Q may
 * stay set: nobody looks at the record. A STOP that was killed goes on by itself.
 *
 * poll() reports EPOLLIN while there are entries to claim, also withdrawn ones; EPOLLHUP once the
 * file is stopped and all were claimed; and EPOLLERR, for good, if the worker has found a list
 * damaged: a link to no record, or to one twice. Then the lists are CLOSED, no timeout ends after
 * that, and STOP stops none; entries that are in the ring can be claimed. EPOLLET reports new
 * entries each time that the worker adds some. Only EPOLLHUP has no edge, as the program's last
 * claim brings it: after a STOP a program that waits for edges looks with poll() when the ring is
 * empty.
 *
 * A child has no mapping after fork(), as it would go on with its parent's free records and lists.
 * It may map the file anew, which the parent has to expect. madvise(MADV_DOFORK) lets it have the
 * mapping: then the child is as one more thread, and only the program can keep the two apart.
 *
 * On a wheel of one level, timeouts that one thread pushes for one edge come in the order of the
 * pushes, as long as the worker has time to act on a whole list in one go. A record that is armed
 * again while Q is set keeps its place.
 *
 * Java: the exchanges are VarHandle.compareAndSet() (or weaker, as named), a load that is seq_cst
 * is getVolatile(). Go: all of sync/atomic is seq_cst, which is always right here.
 */

/* Values of the state in a record's word */
#define HWHEEL_MAP_PENDING	0
#define HWHEEL_MAP_EXPIRED	1	/* or stopped: it is in the ring */
#define HWHEEL_MAP_CANCELLED	2
#define HWHEEL_MAP_IDLE		3
#define HWHEEL_MAP_STATE	3	/* the mask */

#define HWHEEL_MAP_QUEUED	4
#define HWHEEL_MAP_WITHDRAWN	8	/* beside EXPIRED: no event is to come */
#define HWHEEL_MAP_NEVER	0x7ffffffffffffff8ULL	/* the farthest deadline */

/* In place of 0 at the head of a list: the worker does not look, and a pusher has to KICK. */
#define HWHEEL_MAP_ASLEEP	0xffffffffU

/* At the head of a list, for good: nothing is to be pushed, as the file is stopped or damaged. */
#define HWHEEL_MAP_CLOSED	0xfffffffeU

/* Beside the index in an entry of the ring: STOP ended the timeout. */
#define HWHEEL_MAP_STOPPED	0x80000000U

/* How many lists there may be */
#define HWHEEL_MAP_LISTS	64

/* Of the layout that follows */
#define HWHEEL_MAP_VERSION	1

/**
 * struct hwheel_map - memory that HWHEEL_IOC_MAP makes
 * @records: in: how many records to add, at least 1. Out: how many
 *           there are now in all. They come by the page, so these may be some more than were asked
 *           for, also than max_timeouts. Their indexes begin at 0, and go on with each MAP.
 * @lists:   in: how many submission lists, 1 to HWHEEL_MAP_LISTS; for a second MAP the same, or 0.
 *           Out: how many there are, each empty or ASLEEP at first.
 * @flags:   in: must be 0
 * @version: out: HWHEEL_MAP_VERSION
 * @ring_size: out: entries of the ring, a power of two
 * @reserved: in: must be 0
 * @lists_offset: out: in bytes from the beginning of the memory, where a struct
 *           hwheel_map_header is, to the array of struct hwheel_map_list
 * @ring_offset: out: to the array of __u32
 * @records_offset: out: to the array of struct hwheel_map_record
 * @size:    out: bytes up to the end of the records. The records that a second MAP has added begin
 *           where the memory ended before.
 *
 * Before each call, a second MAP's too, the fields that are only outputs have to be 0 (EINVAL): a
 * program clears all of it, and sets @records and @lists. The offsets and @size are multiples of a
 * page, and are those of mmap(). A second MAP moves nothing: only @records and @size change. No
 * command returns this again, so a program that passes the file on passes this on, too.
 */
struct hwheel_map {
	__u32 records;
	__u32 lists;
	__u32 flags;
	__u32 version;
	__u32 ring_size;
	__u32 reserved;
	__u64 lists_offset;
	__u64 ring_offset;
	__u64 records_offset;
	__u64 size;
};

/**
 * struct hwheel_map_header - the beginning of the memory
 * @version:  HWHEEL_MAP_VERSION
 * @stopped:  not 0 once STOP has begun, before the lists are CLOSED; written by the kernel
 * @clock_offset_ns: what the opener's clock shows more than the machine's
 * @tail:     at offset 128: how many entries were put into the ring, ever; written by the worker
 * @head:     at offset 256: how many of them were claimed, ever; written by the program
 *
 * Fields written by different parties are on cache lines of their own. What a program stores
 * in those that it does not write misleads only itself.
 */
struct hwheel_map_header {
	__u32 version;
	__u32 stopped;
	__s64 clock_offset_ns;

	__u64 tail __attribute__((aligned(128)));

	__u64 head __attribute__((aligned(128)));
} __attribute__((aligned(128)));

/**
 * struct hwheel_map_list - a list on which threads submit records
 * @head: 0: empty; HWHEEL_MAP_ASLEEP: empty, and the worker does not look; HWHEEL_MAP_CLOSED: the
 *        file was stopped; else the index of the record that was pushed last, + 1
 */
struct hwheel_map_list {
	__u32 head;
} __attribute__((aligned(128)));

/**
 * struct hwheel_map_record - a timeout
 * @word:       see above
 * @fired_ns:   when it expired, which is never before the deadline, or was stopped; written by the
 *              worker before the entry is in the ring
 * @cookie:     the program's own
 * @link:       from the push until Q is cleared: the index of the one pushed before it, + 1, or 0
 * @generation: the program's own
 */
struct hwheel_map_record {
	__u64 word;
	__u64 fired_ns;
	__u64 cookie;
	__u32 link;
	__u32 generation;
};

/* 0xBD is free in Documentation/userspace-api/ioctl/ioctl-number.rst */
#define HWHEEL_IOC_MAGIC	0xBD

/**
 * DOC: Commands
 *
 * INFO fills a struct hwheel_info.
 *
 * ARM makes a timeout pending. The id is written before the timeout can fire, and
 * names nothing if the ioctl fails after that.
 * ENOSPC: the file holds max_timeouts that are pending, or whose events were not read yet; or
 * it has used up its ids, about 2^32 for each of these places; or the opener's account holds
 * max_user_bytes; or the file has no wheel yet, and the machine has as many threads as it may. When
 * cancelled timeouts fill the file, as the worker still refers to them, ARM wakes the worker and
 * waits until there is room, also on a non-blocking descriptor. Only a signal that kills the
 * process ends the wait: EINTR. ENOMEM, also when the memory cgroup of the caller is at its limit.
 * EDQUOT: max_pending reached. ERANGE: more than a revolution away, on a simple wheel. ESHUTDOWN:
 * the file was stopped. On any failure nothing is armed.
 *
 * REFRESH gives a pending timeout another deadline, later or earlier. ENOENT: it
 * has ended, or this file never had that id. ERANGE: as for ARM; it stays pending as it
 * was.
 *
 * CANCEL ends a pending timeout: no event will come. ENOENT: it has ended, whether its
 * event was read or not, or this file never had that id.
 *
 * SET moves a timeout that is pending, as REFRESH, and its cookie stays; else it arms one, as ARM,
 * and writes the id when it returns, which may be after the event was read. If the timeout has
 * expired, and its event was not read, the event is withdrawn: it does not come. The errors are
 * those of ARM, and with them nothing was changed. Where an event fills the file, ENOSPC may come
 * in the moment in which the worker fires that timeout: its place is free a moment later.
 *
 * WITHDRAW ends a timeout that is pending, or whose event was not read: no event will come. A
 * reader that waits may be woken and find none. ENOENT: it has ended, and a reader has the event,
 * or there is none; or this file never had that id. STATS counts as cancelled what was pending.
 *
 * QUERY returns the state of a timeout, HWHEEL_STATE_*, and fills cookie and time_ns.
 * ENOENT: its event was read, or CANCEL, WITHDRAW or SET has ended it, from the moment in which
 * that returns; or this file never had that id.
 *
 * SUBMIT does a batch of operations, in their order, and returns how many it did:
 * these have a result each, which is what their own ioctl would have returned and is put
 * into the record with the other outputs; all of a record must be writable. It stops
 * early at a record that can't be read or written, and when the process is killed; no
 * timeout of that record and those after it was touched. EFAULT: not even the first
 * could be done. EINVAL: nr or reserved is wrong. All delays count from one time within
 * the call. (If the memory is taken away during the call, of what was done last only the
 * number is known.)
 *
 * CONFIG gives the file a wheel of its own or another limit, see struct hwheel_config.
 * EBUSY: it has a wheel of its own already, it is mapped, or there was an ARM or SET, even one that
 * failed when it had an id already.
 * EINVAL: out of range, no clock, or fields that do not go together. EPERM: no
 * CAP_SYS_RESOURCE. ENOSPC: the opener's account has max_user_wheels, or no room for the wheel in
 * max_user_bytes, or the machine has as many threads as it may. ESHUTDOWN: the file was stopped.
 * ENOMEM. EINTR: killed.
 *
 * STOP ends the file's set for good and returns how many timeouts that were pending it
 * has stopped: their events are there when it returns. From now on ARM fails with
 * ESHUTDOWN. When all events have been read, read() returns 0 and poll() tells
 * EPOLLHUP. A second STOP stops nothing, unless the first was killed (EINTR) and left
 * something pending. A STOP that was not killed also stops a wheel of the file's own, as
 * nothing is pending on it any more: its thread ends, its slots are freed, and it does not
 * count for the number of wheels any more.
 *
 * STATS fills a struct hwheel_file_stats.
 *
 * MAP makes memory that the program shares with the wheel's worker, or more of it, see struct
 * hwheel_map. EBUSY: there was an ARM or SET. EINVAL: no records, no list or more than 64, another
 * number of lists than before, a flag, an output that is not 0. ENOSPC: more records than
 * max_timeouts, or more memory than max_user_bytes leaves the opener's account, of which the ring
 * has room for max_timeouts; or the machine has as many threads as it may. EDQUOT: the wheel's
 * max_pending has no room for so many, as a record counts whether it is armed or not. EOPNOTSUPP:
 * a simple wheel; or INFO has no HWHEEL_FEATURE_MAP, on a processor that cannot exchange 64 bits,
 * or that caches memory by its virtual address. ESHUTDOWN: the file was stopped. ENOMEM, also when
 * the memory cgroup is at its limit. EINTR: killed. On any failure there is no record more. (If
 * the memory with the outputs is taken away during the call, the segment stays.) Threads that wait
 * in read() on the file get EOPNOTSUPP.
 *
 * KICK tells the worker that a thread pushed onto a list that was ASLEEP. On a file that was
 * stopped it does nothing. It does not sleep. EINVAL: the file is not mapped.
 *
 * mmap() maps that memory: any whole pages of it, MAP_SHARED. EINVAL: nothing there to map, or
 * not shared. The mapping keeps the file open; a child has none after fork(), and mremap() can't
 * make it larger. The same pages may be mapped several times.
 */
#define HWHEEL_IOC_INFO		_IOR(HWHEEL_IOC_MAGIC, 0x00, struct hwheel_info)
#define HWHEEL_IOC_ARM		_IOWR(HWHEEL_IOC_MAGIC, 0x01, struct hwheel_op)
#define HWHEEL_IOC_REFRESH	_IOW(HWHEEL_IOC_MAGIC, 0x02, struct hwheel_op)
#define HWHEEL_IOC_CANCEL	_IOW(HWHEEL_IOC_MAGIC, 0x03, struct hwheel_op)
#define HWHEEL_IOC_QUERY	_IOWR(HWHEEL_IOC_MAGIC, 0x04, struct hwheel_op)
#define HWHEEL_IOC_SUBMIT	_IOW(HWHEEL_IOC_MAGIC, 0x05, struct hwheel_submit)
#define HWHEEL_IOC_CONFIG	_IOW(HWHEEL_IOC_MAGIC, 0x06, struct hwheel_config)
#define HWHEEL_IOC_STOP		_IO(HWHEEL_IOC_MAGIC, 0x07)
#define HWHEEL_IOC_STATS	_IOR(HWHEEL_IOC_MAGIC, 0x08, struct hwheel_file_stats)
#define HWHEEL_IOC_MAP		_IOWR(HWHEEL_IOC_MAGIC, 0x09, struct hwheel_map)
#define HWHEEL_IOC_KICK		_IO(HWHEEL_IOC_MAGIC, 0x0a)
#define HWHEEL_IOC_SET		_IOWR(HWHEEL_IOC_MAGIC, 0x0b, struct hwheel_op)
#define HWHEEL_IOC_WITHDRAW	_IOW(HWHEEL_IOC_MAGIC, 0x0c, struct hwheel_op)

#endif /* _UAPI_LINUX_HWHEEL_H */
