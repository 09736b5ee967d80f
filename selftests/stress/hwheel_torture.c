// SPDX-License-Identifier: GPL-2.0-only
/*
 * Torture of hwheel's exported symbols.
 *
 * There is a table of places. In each is an object, which has a timeout in it.
 * Threads, softirqs, hardirqs and the callbacks themselves choose places at random
 * and arm, mod, refresh and cancel what they find there, or take it out, free it and put
 * a fresh object in its place. Meanwhile wheels are created, stopped and destroyed.
 * Inserting the module runs the test, bounded by the number of calls (ops=);
 * /sys/module/hwheel_torture/parameters/verdict then says "passed" or what failed.
 *
 * Two kinds of object show the two ways to be safe when freeing one:
 *
 *   released  has a release op. Each arm holds a reference, which is dropped by
 *             whichever callback ends it; the thread that drops the last one frees
 *             the object, in any context. Hence it is freed in its own callbacks.
 *   synced    has none. A thread that finds that nobody else uses it takes it out of its
 *             place, so that nobody can, then calls hwheel_cancel_sync() and frees it.
 *
 * Half of the objects of each kind are ordered: calls for such an object are made under
 * its lock, so that the test knows what it is armed for, and can tell a callback that
 * is early or not due at all. Calls for the others race with each other, too.
 *
 * The module checks each object that it frees (every arm had one outcome), poisons it, and
 * calls kfree() at once or keeps it for a while to see whether somebody writes to it.
 *
 * A callback that waits for another wheel's callbacks must not be waited for by those:
 * they wait for their own wheel and for younger ones. Some wheels have works, too: as their
 * functions run beside the callbacks of the worker, these and those wait for younger objects.
 *
 * What the wheel has counted must be what happened to its objects.
 */
#define pr_fmt(fmt) "torture: " fmt

#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/hwheel.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/llist.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/prandom.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/timer.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "../module/compat.h"

#define MAX_THREADS	64
#define MAX_WHEELS	16
#define MAX_PLACES	65536
#define QUARANTINE	1024
#define POISON		0xa5

/* A deadline that no test waits for, and how long one waits for what has to happen */
#define FAR_NS		(3600 * (u64)NSEC_PER_SEC)
#define NEAR_NS		((u64)NSEC_PER_SEC)
/* What the end waits for is reported if it takes long, in case it takes too long. */
#define SLOW_MS		5000
#define PATIENCE_MS	120000

static unsigned int threads = 6;
module_param(threads, uint, 0444);
MODULE_PARM_DESC(threads, "Threads, each with a timer and an hrtimer, 1 to 64 (default 6)");

static unsigned long ops = 1000000;
module_param(ops, ulong, 0444);
MODULE_PARM_DESC(ops, "Calls that the threads make together (default 1000000)");

static unsigned int objects = 512;
module_param(objects, uint, 0444);
MODULE_PARM_DESC(objects, "Objects at a time, 1 to 65536 (default 512)");

static unsigned int wheels = 4;
module_param(wheels, uint, 0444);
MODULE_PARM_DESC(wheels, "Wheels at a time, 1 to 16 (default 4)");

static unsigned int tick_us;
module_param(tick_us, uint, 0444);
MODULE_PARM_DESC(tick_us, "Tick, 50 to 1000000; 0: each wheel's at random, 50 us to 10 ms (default 0)");

static unsigned int slots;
module_param(slots, uint, 0444);
MODULE_PARM_DESC(slots, "Slots; 0: each wheel's at random, 1 to 512 (default 0)");

static unsigned int wheel_life = 4096;
module_param(wheel_life, uint, 0444);
MODULE_PARM_DESC(wheel_life, "Calls after which a thread ends a wheel, on average (default 4096)");

static unsigned long long seed;
module_param(seed, ullong, 0444);
MODULE_PARM_DESC(seed, "Of the random numbers; 0: a random one (default 0)");

static bool cover = true;
module_param(cover, bool, 0444);
MODULE_PARM_DESC(cover, "Fail if anything that is counted never happened; not for tiny tests (default Y)");

static char *verdict = "not done";
module_param(verdict, charp, 0444);
MODULE_PARM_DESC(verdict, "Read it: passed, or what failed");

/* Counts of what has to happen, else something was not tested: cover. */
enum count {
	ARM, ARM_AT, MOD, MOD_AT, MOD_JIFFIES, REFRESH, REFRESH_AT, CANCEL, CANCEL_SYNC,
	BY_THREAD, BY_SOFTIRQ, BY_HARDIRQ, BY_CALLBACK,
	ARMED, ARMED_BY_CALLBACK, MOVED, TAKEN_BACK, REFRESHED_EARLIER, REFRESHED_LATER,
	BUSY, FULL, SHUT_DOWN, NOT_PENDING, DEADLOCK,
	EXPIRED, CANCELLED, HANDED_BACK, ENDED_SILENTLY,
	PREVENTED, NOT_PREVENTED, RELEASED,
	FREED_AFTER_SYNC, FREED_BY_EXPIRE, FREED_BY_RELEASE, FREED_BY_HANDBACK,
	FREED_BY_CALLER, FREED_AT_ONCE, FREED_FROM_QUARANTINE,
	CREATE, CREATE_LEVELS, CREATE_LIMITED, CREATE_UNBOUND, CREATE_ORDERED, CREATE_WORK,
	STOP, STOP_TOO, DESTROY_RUNNING, DESTROY_STOPPED,
	RUN, REARMED_AFTER_EXPIRY, RECALLED, FLUSHED,
	NR_COUNTS
};

static const char *const names[] = {
	[ARM]			= "arm",
	[ARM_AT]		= "arm_at",
	[MOD]			= "mod",
	[MOD_AT]		= "mod_at",
	[MOD_JIFFIES]		= "mod_jiffies",
	[REFRESH]		= "refresh",
	[REFRESH_AT]		= "refresh_at",
	[CANCEL]		= "cancel",
	[CANCEL_SYNC]		= "cancel_sync",
	[BY_THREAD]		= "by_thread",
	[BY_SOFTIRQ]		= "by_softirq",
	[BY_HARDIRQ]		= "by_hardirq",
	[BY_CALLBACK]		= "by_callback",
	[ARMED]			= "armed",
	[ARMED_BY_CALLBACK]	= "armed_by_callback",
	[MOVED]			= "moved",
	[TAKEN_BACK]		= "taken_back",
	[REFRESHED_EARLIER]	= "refreshed_earlier",
	[REFRESHED_LATER]	= "refreshed_later",
	[BUSY]			= "busy",
	[FULL]			= "full",
	[SHUT_DOWN]		= "shut_down",
	[NOT_PENDING]		= "not_pending",
	[DEADLOCK]		= "deadlock_refused",
	[EXPIRED]		= "expired",
	[CANCELLED]		= "cancelled",
	[HANDED_BACK]		= "handed_back",
	[ENDED_SILENTLY]	= "ended_silently",
	[PREVENTED]		= "prevented",
	[NOT_PREVENTED]		= "not_prevented",
	[RELEASED]		= "released",
	[FREED_AFTER_SYNC]	= "freed_after_sync",
	[FREED_BY_EXPIRE]	= "freed_by_expire",
	[FREED_BY_RELEASE]	= "freed_by_release",
	[FREED_BY_HANDBACK]	= "freed_by_handback",
	[FREED_BY_CALLER]	= "freed_by_caller",
	[FREED_AT_ONCE]		= "freed_at_once",
	[FREED_FROM_QUARANTINE]	= "freed_from_quarantine",
	[CREATE]		= "create",
	[CREATE_LEVELS]		= "create_levels",
	[CREATE_LIMITED]	= "create_limited",
	[CREATE_UNBOUND]	= "create_unbound",
	[CREATE_ORDERED]	= "create_ordered",
	[CREATE_WORK]		= "create_work",
	[STOP]			= "stop",
	[STOP_TOO]		= "stop_too",
	[DESTROY_RUNNING]	= "destroy_running",
	[DESTROY_STOPPED]	= "destroy_stopped",
	[RUN]			= "run",
	[REARMED_AFTER_EXPIRY]	= "rearmed_after_expiry",
	[RECALLED]		= "recalled",
	[FLUSHED]		= "flushed",
};

struct counts {
	unsigned long	n[NR_COUNTS];
};

static DEFINE_PER_CPU(struct counts, counts);

static void count_many(enum count what, unsigned long n)
{
	this_cpu_add(counts.n[what], n);
}

static void count(enum count what)
{
	count_many(what, 1);
}

/* While others count, too */
static unsigned long total(enum count what)
{
	unsigned long sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(&counts, cpu)->n[what]);
	return sum;
}

/* The first failure ends the test; the rest may follow from it. */
static const char *failure;

static void fail(const char *what)
{
	if (!cmpxchg(&failure, NULL, what))
		pr_err("FAILED: %s\n", what);
}

static bool failed(void)
{
	return READ_ONCE(failure);
}

/* How a wheel ends: stopped with hand-back, stopped without, or just destroyed */
enum ending { HAND_BACK, SILENT, DESTROY, NR_ENDINGS };

/**
 * struct sum - what happened to the objects of a wheel
 * @armed:     arms that succeeded
 * @refreshed: refreshes that succeeded
 * @cancelled: cancels that prevented the callback
 * @expired:   callbacks
 * @handed:    those that a stop ended, whether it reported so or not
 */
struct sum {
	atomic64_t	armed;
	atomic64_t	refreshed;
	atomic64_t	cancelled;
	atomic64_t	expired;
	atomic64_t	handed;
};

/**
 * struct wheel - a wheel under test
 * @hwheel:   it
 * @params:   what it was created with
 * @queue:    the workqueue of its works, or NULL if it has none
 * @serial:   number of its creation
 * @ending:   how it will end
 * @refs:     held by the table, its objects and those who stop it
 * @retired:  it is not in the table any more: its objects are to be replaced
 * @stopping: arming may fail from now on
 * @stopped:  arming must fail
 * @draws:    how many callbacks got random numbers
 * @nested:   callbacks under way on the worker, or in a stop; its own
 * @sum:      what happened to the objects that are freed
 * @idle:     in idle_wheels, when nobody refers to it any more
 */
struct wheel {
	struct hwheel		*hwheel;
	struct hwheel_params	params;
	struct workqueue_struct	*queue;
	unsigned int		serial;
	enum ending		ending;
	atomic_t		refs;
	bool			retired;
	bool			stopping;
	bool			stopped;
	atomic_t		draws;
	unsigned int		nested;
	struct sum		sum;
	struct llist_node	idle;
};

/**
 * struct object - what has a timeout in it
 * @link:         in condemned or in graveyard
 * @work:         a work, or just the timeout of one
 * @is_work:      which of them
 * @released:     it has a release op
 * @wheel:        its wheel
 * @place:        where it is or was
 * @serial:       number of its creation
 * @refs:         held by the place, by callers, and if released by each arm
 * @ordered:      calls are made under @lock
 * @lock:         protects @armed and @floor
 * @armed:        if ordered: a callback or a cancel is to come
 * @floor:        if armed: and not before this time
 * @retired:      it is in no place any more: not to be armed again
 * @callbacks:    how many callbacks of it are under way, in one another
 * @thread:       on which
 * @nr_armed:     how often it was armed, and so on
 * @nr_refreshed: ditto
 * @nr_cancelled: by hwheel_cancel() and hwheel_cancel_sync()
 * @nr_taken:     taken back by hwheel_mod(), so that no release comes
 * @nr_expired:   as the following, only written by callbacks
 * @nr_released:  ditto
 * @nr_handed:    ditto
 * @runs:         functions under way that look at the time; only written by them
 *
 * From @work on it is poisoned when freed.
 */
struct object {
	struct llist_node	link;
	struct hwheel_work	work;
	bool			is_work;
	bool			released;
	struct wheel		*wheel;
	struct place		*place;
	unsigned int		serial;
	atomic_t		refs;
	bool			ordered;
	raw_spinlock_t		lock;
	bool			armed;
	u64			floor;
	bool			retired;
	atomic_t		callbacks;
	struct task_struct	*thread;
	atomic_t		nr_armed;
	atomic_t		nr_refreshed;
	atomic_t		nr_cancelled;
	atomic_t		nr_taken;
	unsigned int		nr_expired;
	unsigned int		nr_released;
	unsigned int		nr_handed;
	unsigned int		runs;
};

struct place {
	raw_spinlock_t		lock;
	struct object		*object;
};

/**
 * struct caller - who makes calls
 * @rnd:       its random numbers
 * @self:      whose callback it is, or NULL
 * @kind:      for the counts
 * @may_sleep: whether it may
 * @nested:    others of its wheel's callbacks wait for this one
 * @now:       a time not long ago, as reading some clocks takes longer than a call
 */
struct caller {
	struct rnd_state	*rnd;
	const struct object	*self;
	enum count		kind;
	bool			may_sleep;
	bool			nested;
	ktime_t			now;
};

static struct workqueue_struct *unbound;
static struct workqueue_struct *ordered;
static struct place *places;
static DEFINE_RAW_SPINLOCK(table_lock);
static struct wheel *table[MAX_WHEELS];
static struct wheel *invited;
static LLIST_HEAD(idle_wheels);
static LLIST_HEAD(condemned);
static LLIST_HEAD(graveyard);
static struct object *quarantine[QUARANTINE];
static atomic_t buried;
static atomic_t live_objects;
static atomic_t live_wheels;
static atomic_t serials;
static atomic_t object_serials;
static atomic64_t handed;
static ktime_t quiet_until;
static bool finishing;

static u32 below(const struct caller *by, u32 n)
{
	return prandom_u32_state(by->rnd) % n;
}

static bool chance(const struct caller *by, u32 one_in)
{
	return !below(by, one_in);
}

/* Wheels */

/* A time on the monotonic clock as one on the wheel's */
static u64 wheel_time(const struct wheel *wheel, ktime_t time)
{
	if (wheel->params.flags & HWHEEL_BOOTTIME)
		time = ktime_mono_to_any(time, TK_OFFS_BOOT);
	return ktime_to_ns(time);
}

static u64 random_tick(const struct caller *by)
{
	u64 tick = (50 * NSEC_PER_USEC) << below(by, 8);

	return tick + below(by, tick / 2);
}

static struct workqueue_struct *random_queue(const struct caller *by)
{
	switch (below(by, 4)) {
	case 0:
		return unbound;
	case 1:
		return ordered;
	default:
		return NULL;
	}
}

/* A table with a few places is full at a few pending ones. */
static struct hwheel_params random_params(const struct caller *by)
{
	unsigned int limit = 1 + objects / wheels / 8;

	return (struct hwheel_params) {
		.name		= "torture",
		.tick_ns	= tick_us * (u64)NSEC_PER_USEC ?: random_tick(by),
		.slots		= slots ?: 1 << below(by, 10),
		.levels		= chance(by, 2) ? 1 : 2 + below(by, 3),
		.max_pending	= chance(by, 4) ? limit : 0,
		.flags		= chance(by, 2) ? HWHEEL_BOOTTIME : 0,
	};
}

static void count_created(const struct wheel *wheel)
{
	const struct hwheel_params *params = &wheel->params;

	count(CREATE);
	if (params->max_pending)
		count(CREATE_LIMITED);
	if (params->levels > 1)
		count(CREATE_LEVELS);
	if (wheel->queue)
		count(wheel->queue == unbound ? CREATE_UNBOUND : CREATE_ORDERED);
}

static struct wheel *wheel_create(const struct caller *by)
{
	struct wheel *wheel = kzalloc(sizeof(*wheel), GFP_KERNEL);

	if (!wheel)
		return NULL;
	wheel->params = random_params(by);
	wheel->queue = random_queue(by);
	wheel->hwheel = hwheel_create(&wheel->params);
	if (IS_ERR(wheel->hwheel)) {
		kfree(wheel);
		return NULL;
	}
	atomic_set(&wheel->refs, 1);
	wheel->serial = atomic_inc_return(&serials);
	wheel->ending = below(by, NR_ENDINGS);
	atomic_inc(&live_wheels);
	count_created(wheel);
	return wheel;
}

static struct wheel *wheel_get(unsigned int i)
{
	struct wheel *wheel;
	unsigned long flags;

	raw_spin_lock_irqsave(&table_lock, flags);
	wheel = table[i];
	if (wheel)
		atomic_inc(&wheel->refs);
	raw_spin_unlock_irqrestore(&table_lock, flags);
	return wheel;
}

/* Any context, also the wheel's own callbacks: so a thread has to destroy it. */
static void wheel_put(struct wheel *wheel)
{
	if (atomic_dec_and_test(&wheel->refs))
		llist_add(&wheel->idle, &idle_wheels);
}

static struct wheel *wheel_replace(unsigned int i, struct wheel *by)
{
	struct wheel *old;
	unsigned long flags;

	raw_spin_lock_irqsave(&table_lock, flags);
	old = table[i];
	table[i] = by;
	raw_spin_unlock_irqrestore(&table_lock, flags);
	return old;
}

static u64 lateness_sum(const struct hwheel_stats *stats)
{
	unsigned int i;
	u64 sum = 0;

	for (i = 0; i < ARRAY_SIZE(stats->lateness); i++)
		sum += stats->lateness[i];
	return sum;
}

static bool is_consistent(const struct hwheel_stats *stats)
{
	return !stats->pending && !stats->contained &&
	       stats->armed == stats->cancelled_queued + stats->cancelled_filed +
			       stats->expired + stats->handed_back &&
	       stats->expired == lateness_sum(stats) &&
	       stats->drained >= stats->drained_max && stats->lag >= stats->lag_max;
}

/**
 * struct taken - works that were taken back from their workqueues, and counted as expired
 * @recalled:  by a cancel: not counted as cancelled
 * @rearmed:   by a mod: counted as armed once more
 */
struct taken {
	u64 recalled;
	u64 rearmed;
};

static struct taken taken_back(const struct sum *sum, const struct hwheel_stats *stats)
{
	return (struct taken) {
		.recalled = atomic64_read(&sum->cancelled) - stats->cancelled_queued -
			    stats->cancelled_filed,
		.rearmed = stats->armed - atomic64_read(&sum->armed),
	};
}

/* A flush refreshes a work, too. */
static bool is_what_happened(const struct wheel *wheel, const struct hwheel_stats *stats)
{
	u64 refreshed = stats->refreshed_earlier + stats->refreshed_later;
	const struct taken taken = taken_back(&wheel->sum, stats);
	const struct sum *sum = &wheel->sum;
	u64 moved = atomic64_read(&sum->refreshed);

	return (wheel->queue ? moved <= refreshed : moved == refreshed) &&
	       (wheel->queue || (!taken.recalled && !taken.rearmed)) &&
	       atomic64_read(&sum->expired) + taken.recalled + taken.rearmed == stats->expired &&
	       atomic64_read(&sum->handed) == stats->handed_back;
}

static void print_stats(const struct wheel *wheel, const struct hwheel_stats *stats)
{
	pr_info("pending=%llu armed=%llu refreshed=%llu+%llu cancelled=%llu+%llu\n",
		stats->pending, stats->armed, stats->refreshed_later,
		stats->refreshed_earlier, stats->cancelled_queued, stats->cancelled_filed);
	pr_info("expired=%llu=%llu handed_back=%llu contained=%llu\n",
		stats->expired, lateness_sum(stats), stats->handed_back, stats->contained);
	pr_info("of objects: armed=%lld refreshed=%lld cancelled=%lld expired=%lld handed_back=%lld\n",
		atomic64_read(&wheel->sum.armed), atomic64_read(&wheel->sum.refreshed),
		atomic64_read(&wheel->sum.cancelled), atomic64_read(&wheel->sum.expired),
		atomic64_read(&wheel->sum.handed));
	pr_info("stopped=%d works=%d max_pending=%llu\n", wheel->stopped, !!wheel->queue,
		wheel->params.max_pending);
}

/* Its objects are gone, so nothing changes any more. */
static void check_stats(const struct wheel *wheel)
{
	struct hwheel_stats stats;

	hwheel_get_stats(wheel->hwheel, &stats);
	if (!is_consistent(&stats))
		fail("statistics contradict themselves");
	if (!is_what_happened(wheel, &stats))
		fail("statistics are not what happened");
	count_many(RECALLED, taken_back(&wheel->sum, &stats).recalled);
	count_many(REARMED_AFTER_EXPIRY, taken_back(&wheel->sum, &stats).rearmed);
	if (failed())
		print_stats(wheel, &stats);
}

static void wheel_destroy(struct wheel *wheel)
{
	if (hwheel_pending(wheel->hwheel))
		fail("a wheel without objects has pending ones");
	check_stats(wheel);
	count(wheel->stopped ? DESTROY_STOPPED : DESTROY_RUNNING);
	hwheel_destroy(wheel->hwheel);
	kfree(wheel);
	atomic_dec(&live_wheels);
}

/* Objects: their end */

static bool is_released(const struct object *object)
{
	return object->released;
}

static void sum_up(const struct object *object, unsigned int silent)
{
	struct sum *sum = &object->wheel->sum;

	atomic64_add(atomic_read(&object->nr_armed), &sum->armed);
	atomic64_add(atomic_read(&object->nr_refreshed), &sum->refreshed);
	atomic64_add(atomic_read(&object->nr_cancelled), &sum->cancelled);
	atomic64_add(object->nr_expired, &sum->expired);
	atomic64_add(object->nr_handed + silent, &sum->handed);
}

/*
 * Every arm had one outcome, and a released object a release for each cancel that was not taken
 * back.
 */
static void check_outcomes(const struct object *object)
{
	unsigned int cancelled = atomic_read(&object->nr_cancelled);
	unsigned int silent_allowed = object->wheel->ending == SILENT;
	unsigned int silent = atomic_read(&object->nr_armed) - cancelled -
			      object->nr_expired - object->nr_handed;

	if (silent > silent_allowed)
		fail("an arm did not have exactly one outcome");
	if (is_released(object) &&
	    object->nr_released + atomic_read(&object->nr_taken) != cancelled + silent)
		fail("a cancel did not have exactly one release");
	if (hwheel_is_pending(&object->work.timeout))
		fail("pending when freed");
	if (atomic_read(&object->callbacks))
		fail("freed under a callback");
	count_many(ENDED_SILENTLY, silent);
	sum_up(object, silent);
}

#define POISONED_SIZE	(sizeof(struct object) - offsetof(struct object, work))

static void *poisoned(struct object *object)
{
	return (void *)object + offsetof(struct object, work);
}

/* Whatever the context: sometimes memory has to be reused as soon as possible. */
static void bury(struct object *object, enum count how)
{
	bool at_once = in_task() && (object->nr_expired & 1);
	struct wheel *wheel = object->wheel;

	check_outcomes(object);
	count(how);
	memset(poisoned(object), POISON, POISONED_SIZE);
	atomic_dec(&live_objects);
	if (at_once) {
		count(FREED_AT_ONCE);
		kfree(object);
	} else {
		llist_add(&object->link, &graveyard);
	}
	wheel_put(wheel);
}

static void exhume(struct object *object)
{
	if (!object)
		return;
	if (memchr_inv(poisoned(object), POISON, POISONED_SIZE))
		fail("written to after it was given back");
	count(FREED_FROM_QUARANTINE);
	kfree(object);
}

static void object_put(struct object *object, enum count how)
{
	if (atomic_dec_and_test(&object->refs))
		bury(object, how);
}

/* Callers of a synced object drop a reference that is not the last. */
static void caller_put(struct object *object)
{
	object_put(object, FREED_BY_CALLER);
}

/* Calls */

/**
 * struct when - a time to arm or refresh for
 * @absolute: which call to make
 * @jiffies:  a move is to be made in jiffies, which may lag: nobody may know the time better
 * @time:     what to pass to it
 * @floor:    the callback must not run before this
 */
struct when {
	bool	absolute;
	bool	jiffies;
	u64	time;
	u64	floor;
};

static u64 random_delay(const struct caller *by, const struct wheel *wheel)
{
	u64 tick = wheel->params.tick_ns;

	switch (below(by, 8)) {
	case 0:
		return 0;
	case 1:
	case 2:
		return below(by, tick);
	case 3:
	case 4:
	case 5:
		return below(by, 8) * tick + below(by, 16);
	case 6:
		return below(by, 4) * tick * wheel->params.slots + below(by, tick);
	default:
		return chance(by, 2) ? FAR_NS : S64_MAX;
	}
}

/* Works are armed with delays only. */
static struct when random_when(const struct caller *by, const struct object *object)
{
	const struct wheel *wheel = object->wheel;
	u64 delay = random_delay(by, wheel);
	u64 now = wheel_time(wheel, by->now);
	struct when when = {
		.absolute = !object->is_work && chance(by, 2), .floor = now + delay,
	};

	if (when.absolute && chance(by, 16))
		when.floor = now - below(by, NSEC_PER_SEC);
	when.jiffies = !when.absolute && !object->ordered && chance(by, 2) &&
		       !(wheel->params.flags & HWHEEL_BOOTTIME);
	when.time = when.absolute ? when.floor : delay;
	return when;
}

static int arm(struct object *object, const struct when *when)
{
	count(when->absolute ? ARM_AT : ARM);
	if (when->absolute)
		return hwheel_arm_at(&object->work.timeout, when->time);
	if (object->is_work)
		return hwheel_work_arm(&object->work, when->time);
	return hwheel_arm(&object->work.timeout, when->time);
}

static int refresh(struct object *object, const struct when *when)
{
	count(when->absolute ? REFRESH_AT : REFRESH);
	if (when->absolute)
		return hwheel_refresh_at(&object->work.timeout, when->time);
	return hwheel_refresh(&object->work.timeout, when->time);
}

static int mod_jiffies(struct object *object, const struct when *when)
{
	unsigned long expires = jiffies + nsecs_to_jiffies(min(when->time, FAR_NS));

	count(MOD_JIFFIES);
	if (object->is_work)
		return hwheel_work_mod_jiffies(&object->work, expires);
	return hwheel_mod_jiffies(&object->work.timeout, expires);
}

static int mod(struct object *object, const struct when *when)
{
	if (when->jiffies)
		return mod_jiffies(object, when);
	count(when->absolute ? MOD_AT : MOD);
	if (when->absolute)
		return hwheel_mod_at(&object->work.timeout, when->time);
	if (object->is_work)
		return hwheel_work_mod(&object->work, when->time);
	return hwheel_mod(&object->work.timeout, when->time);
}

static void check_arm(const struct wheel *wheel, int err, bool was_stopped)
{
	switch (err) {
	case 0:
		count(ARMED);
		if (was_stopped)
			fail("armed on a stopped wheel");
		break;
	case -EBUSY:
		count(BUSY);
		break;
	case -EDQUOT:
		count(FULL);
		if (!wheel->params.max_pending)
			fail("full without a limit");
		break;
	case -ESHUTDOWN:
		count(SHUT_DOWN);
		if (!READ_ONCE(wheel->stopping))
			fail("shut down without a stop");
		break;
	default:
		fail("arm returned an unknown error");
	}
}

static bool call_cancel(struct object *object)
{
	bool prevented;

	count(CANCEL);
	prevented = object->is_work ? hwheel_work_cancel(&object->work) :
				      hwheel_cancel(&object->work.timeout);
	if (prevented) {
		count(CANCELLED);
		atomic_inc(&object->nr_cancelled);
	}
	return prevented;
}

static void check_limit(const struct wheel *wheel)
{
	if (wheel->params.max_pending &&
	    hwheel_pending(wheel->hwheel) > wheel->params.max_pending)
		fail("more pending than the limit");
}

/* The caller has a reference of its own, so the object stays until we return. */
static bool call_arm(struct object *object, const struct when *when)
{
	struct wheel *wheel = object->wheel;
	bool was_stopped = READ_ONCE(wheel->stopped);
	int err;

	if (is_released(object))
		atomic_inc(&object->refs);
	err = arm(object, when);
	check_arm(wheel, err, was_stopped);
	check_limit(wheel);
	if (!err)
		atomic_inc(&object->nr_armed);
	else if (is_released(object))
		object_put(object, FREED_BY_CALLER);
	return !err;
}

/* The same, as hwheel_mod_at() has it for owners that count references; returns what that does. */
static int call_mod(struct object *object, const struct when *when)
{
	struct wheel *wheel = object->wheel;
	bool was_stopped = READ_ONCE(wheel->stopped);
	int held;

	if (is_released(object))
		atomic_inc(&object->refs);
	held = mod(object, when);
	if (held == HWHEEL_WAS_PENDING) {
		if (was_stopped)
			fail("moved on a stopped wheel");
		count(MOVED);
		atomic_inc(&object->nr_refreshed);
	} else {
		check_arm(wheel, min(held, 0), was_stopped);
	}
	check_limit(wheel);
	if (held == HWHEEL_WAS_CANCELLED) {
		count(TAKEN_BACK);
		atomic_inc(&object->nr_taken);
	}
	if (held == HWHEEL_NOT_HELD || held == HWHEEL_WAS_CANCELLED)
		atomic_inc(&object->nr_armed);
	if (held != HWHEEL_NOT_HELD && is_released(object))
		object_put(object, FREED_BY_CALLER);
	return held;
}

static bool call_refresh(struct object *object, const struct when *when)
{
	bool earlier = when->floor < hwheel_deadline(&object->work.timeout);
	int err = refresh(object, when);

	if (!err) {
		count(earlier ? REFRESHED_EARLIER : REFRESHED_LATER);
		atomic_inc(&object->nr_refreshed);
	} else if (err == -ENOENT) {
		count(NOT_PENDING);
	} else {
		fail("refresh returned an unknown error");
	}
	return !err;
}

enum call { CALL_ARM, CALL_MOD, CALL_REFRESH, CALL_CANCEL };

/* Of an armed one nobody but its callback knows that it has expired already. */
static bool call_ordered(struct object *object, enum call call,
			 const struct when *when)
{
	if (call == CALL_CANCEL) {
		if (!call_cancel(object))
			return false;
		if (!object->armed)
			fail("cancelled what was not armed");
		object->armed = false;
		return false;
	}
	if (!object->armed && call == CALL_ARM) {
		object->floor = when->floor;
		object->armed = call_arm(object, when);
		return object->armed;
	}
	if (!object->armed && call == CALL_MOD) {
		int held;

		object->floor = when->floor;
		held = call_mod(object, when);
		if (held == HWHEEL_WAS_PENDING)
			fail("moved what was not armed");
		object->armed = held >= 0;
		return object->armed;
	}
	if (call_refresh(object, when)) {
		if (!object->armed)
			fail("refreshed what was not armed");
		object->floor = when->floor;
	}
	return false;
}

static bool call_unordered(struct object *object, enum call call,
			   const struct when *when)
{
	if (call == CALL_ARM)
		return call_arm(object, when);
	if (call == CALL_MOD) {
		int held = call_mod(object, when);

		return held == HWHEEL_NOT_HELD || held == HWHEEL_WAS_CANCELLED;
	}
	if (call == CALL_REFRESH)
		call_refresh(object, when);
	else
		call_cancel(object);
	return false;
}

/* Returns whether it armed the object. */
static bool call_once(struct object *object, enum call call,
		      const struct when *when)
{
	unsigned long flags;
	bool armed;

	if (!object->ordered)
		return call_unordered(object, call, when);
	raw_spin_lock_irqsave(&object->lock, flags);
	armed = call_ordered(object, call, when);
	raw_spin_unlock_irqrestore(&object->lock, flags);
	return armed;
}

/* One that was retired meanwhile is cancelled, here or by who retired it. */
static void call(const struct caller *by, struct object *object, enum call call)
{
	struct when when = random_when(by, object);

	count(by->kind);
	if (!call_once(object, call, &when))
		return;
	/* Pairs with object_retire(). */
	smp_mb();
	if (READ_ONCE(object->retired))
		call_once(object, CALL_CANCEL, NULL);
}

static void call_random(const struct caller *by, struct object *object)
{
	u32 choice = below(by, 10);

	call(by, object, choice < 3 ? CALL_ARM : choice < 5 ? CALL_MOD :
			 choice < 8 ? CALL_REFRESH : CALL_CANCEL);
}

/*
 * A function and a callback must not wait for each other: so none waits for an older object. Those
 * on the worker, while it waits, are waited for by the one that it is in.
 */
static bool may_wait_within(const struct caller *by, const struct object *object)
{
	return !object->wheel->queue ||
	       (object->serial > by->self->serial && !by->nested);
}

/*
 * To lockdep all works are of one class: neither a function may wait for another, nor a callback on
 * another worker than that which functions wait for.
 */
static bool may_wait(const struct caller *by, const struct object *object)
{
	if (!by->may_sleep || !by->self)
		return by->may_sleep;
	if (object->is_work && (by->self->is_work || object->wheel != by->self->wheel))
		return false;
	if (object->wheel == by->self->wheel)
		return may_wait_within(by, object);
	return object->wheel->serial > by->self->wheel->serial;
}

static void note_prevented(struct object *object)
{
	unsigned long flags;

	count(PREVENTED);
	count(CANCELLED);
	atomic_inc(&object->nr_cancelled);
	raw_spin_lock_irqsave(&object->lock, flags);
	if (object->ordered && !object->armed)
		fail("prevented what was not armed");
	object->armed = false;
	raw_spin_unlock_irqrestore(&object->lock, flags);
}

/* Returns false if the wheel refused to wait. */
static bool call_sync(const struct caller *by, struct object *object)
{
	int ret;

	count(by->kind);
	count(CANCEL_SYNC);
	ret = hwheel_cancel_sync(&object->work.timeout);
	if (ret == 1) {
		note_prevented(object);
	} else if (!ret) {
		count(NOT_PREVENTED);
	} else {
		count(DEADLOCK);
		if (ret != -EDEADLK || !by->self)
			fail("cancel_sync returned an unknown error");
	}
	return ret >= 0;
}

/* Objects: from the place to the end */

static struct object *object_get(struct place *place)
{
	struct object *object;
	unsigned long flags;

	raw_spin_lock_irqsave(&place->lock, flags);
	object = place->object;
	if (object)
		atomic_inc(&object->refs);
	raw_spin_unlock_irqrestore(&place->lock, flags);
	return object;
}

/* A synced one only if nobody uses it. The caller gets the place's reference. */
static struct object *object_take(struct place *place)
{
	struct object *object;
	unsigned long flags;

	raw_spin_lock_irqsave(&place->lock, flags);
	object = place->object;
	if (object && !is_released(object) &&
	    atomic_read_acquire(&object->refs) > 1)
		object = NULL;
	if (object)
		place->object = NULL;
	raw_spin_unlock_irqrestore(&place->lock, flags);
	return object;
}

/* The only reference is ours: nobody but its callback uses the object. */
static void object_reap(const struct caller *by, struct object *object)
{
	if (!may_wait(by, object) || !call_sync(by, object)) {
		llist_add(&object->link, &condemned);
		return;
	}
	if (atomic_read(&object->callbacks))
		fail("cancel_sync returned under a callback");
	bury(object, FREED_AFTER_SYNC);
}

static void object_retire(const struct caller *by, struct object *object)
{
	WRITE_ONCE(object->retired, true);
	if (!is_released(object)) {
		object_reap(by, object);
		return;
	}
	/* Pairs with call(). */
	smp_mb();
	if (!chance(by, 4) || !may_wait(by, object) || !call_sync(by, object))
		call(by, object, CALL_CANCEL);
	object_put(object, FREED_BY_CALLER);
}

/* For callbacks of a released object, which have a reference of their own. */
static void object_leave(const struct caller *by, struct object *object)
{
	struct place *place = object->place;
	unsigned long flags;
	bool there;

	raw_spin_lock_irqsave(&place->lock, flags);
	there = place->object == object;
	if (there)
		place->object = NULL;
	raw_spin_unlock_irqrestore(&place->lock, flags);
	if (there)
		object_retire(by, object);
}

static void place_empty(const struct caller *by, struct place *place)
{
	struct object *object = object_take(place);

	if (object)
		object_retire(by, object);
}

static bool place_put(struct place *place, struct object *object)
{
	unsigned long flags;
	bool empty;

	raw_spin_lock_irqsave(&place->lock, flags);
	empty = !place->object;
	if (empty) {
		place->object = object;
		object->place = place;
	}
	raw_spin_unlock_irqrestore(&place->lock, flags);
	return empty;
}

static void place_cancel_sync(const struct caller *by, struct place *place)
{
	struct object *object = object_get(place);

	if (!object)
		return;
	if (may_wait(by, object))
		call_sync(by, object);
	caller_put(object);
}

/* Has a work run early, whose deadline nobody knows but the wheel; not in a callback. */
static void place_flush(const struct caller *by, struct place *place)
{
	struct object *object = object_get(place);

	if (!object)
		return;
	if (object->is_work && !object->ordered) {
		call(by, object, CALL_ARM);
		count_many(FLUSHED, hwheel_work_flush(&object->work));
	}
	caller_put(object);
}

static void place_call(const struct caller *by, struct place *place)
{
	struct object *object = object_get(place);

	if (!object)
		return;
	call_random(by, object);
	caller_put(object);
}

static struct place *random_place(const struct caller *by)
{
	return &places[below(by, objects)];
}

/* Callbacks */

static void expect_deadlock(s64 ret)
{
	count(DEADLOCK);
	if (ret != -EDEADLK)
		fail("a callback may wait for itself");
}

/* Several callbacks of a wheel may run at a time. */
static void seed_callback(struct rnd_state *rnd, struct wheel *wheel)
{
	u64 draw = atomic_inc_return(&wheel->draws);

	prandom_seed_state(rnd, seed + wheel->serial + (draw << 32));
}

/*
 * What callbacks of all kinds do to themselves and others. A function may stop its wheel, and a
 * thread that waits for a work may call its release op.
 */
static void misbehave(struct object *object, ktime_t now, bool nested)
{
	struct rnd_state rnd;
	const struct caller by = {
		.rnd = &rnd, .self = object, .kind = BY_CALLBACK,
		.may_sleep = true, .nested = nested, .now = now,
	};

	if (READ_ONCE(finishing))
		return;
	seed_callback(&rnd, object->wheel);
	switch (below(&by, 64)) {
	case 0:
		expect_deadlock(hwheel_cancel_sync(&object->work.timeout));
		break;
	case 1:
		if (!object->is_work)
			expect_deadlock(hwheel_stop(object->wheel->hwheel, NULL, NULL));
		break;
	case 2:
		usleep_range(10, 500);
		break;
	case 3 ... 6:
		place_cancel_sync(&by, random_place(&by));
		break;
	case 7 ... 10:
		place_empty(&by, random_place(&by));
		break;
	case 11 ... 20:
		place_call(&by, random_place(&by));
		break;
	case 21 ... 40:
		count(ARMED_BY_CALLBACK);
		call(&by, object, CALL_ARM);
		break;
	case 41 ... 52:
		if (is_released(object))
			object_leave(&by, object);
		break;
	}
}

static void callback_end(struct object *object, ktime_t now, bool nested,
			 enum count freed)
{
	misbehave(object, now, nested);
	atomic_dec(&object->callbacks);
	if (is_released(object))
		object_put(object, freed);
}

static void check_ordered(struct object *object, u64 now)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&object->lock, flags);
	if (!object->armed)
		fail("a callback without an arm");
	else if (now < object->floor)
		fail("early");
	object->armed = false;
	raw_spin_unlock_irqrestore(&object->lock, flags);
}

/* @seen was expired before @now, so the arm that it shows was due before, too. */
static void check_unordered(const struct hwheel_timeout *seen, u64 now)
{
	if (hwheel_is_expired(seen) && now < hwheel_deadline(seen))
		fail("early by the deadline that was stored");
}

/* State and deadline as they were at one time: others may arm it meanwhile. */
static struct hwheel_timeout snapshot(const struct hwheel_timeout *timeout)
{
	return (struct hwheel_timeout) {
		.word = ATOMIC64_INIT(atomic64_read_acquire(&timeout->word)),
	};
}

static void callback_begin(struct object *object, enum count what)
{
	unsigned int callbacks = atomic_inc_return(&object->callbacks);

	count(what);
	if (object->is_work)
		return;
	if (callbacks > 1 && object->thread != current)
		fail("callbacks of one object overlap");
	object->thread = current;
}

/*
 * Returns the time. It is read after the state: beside a function its work may be armed again, and
 * that arm may expire between the two.
 */
static ktime_t check_time(struct object *object)
{
	const struct hwheel_timeout seen = snapshot(&object->work.timeout);
	ktime_t now = ktime_get();

	if (object->ordered)
		check_ordered(object, wheel_time(object->wheel, now));
	else
		check_unordered(&seen, wheel_time(object->wheel, now));
	object->nr_expired++;
	return now;
}

static void expire(struct hwheel_timeout *timeout)
{
	struct object *object = container_of(timeout, struct object, work.timeout);
	ktime_t now;

	callback_begin(object, EXPIRED);
	if (current->flags & PF_WQ_WORKER)
		fail("a callback on the wrong thread");
	now = check_time(object);
	if (READ_ONCE(object->wheel->stopped))
		fail("expired after stop");
	callback_end(object, now, false, FREED_BY_EXPIRE);
}

/* Beside it the release op of a later arm may be called, and the wheel may be stopped. */
static void run(struct work_struct *item)
{
	struct object *object = container_of(to_hwheel_work(item), struct object, work);
	ktime_t now;

	callback_begin(object, EXPIRED);
	count(RUN);
	if (current_work() != item)
		fail("a function on the wrong thread");
	if (object->runs++)
		fail("functions of one object overlap");
	now = check_time(object);
	object->runs--;
	callback_end(object, now, false, FREED_BY_EXPIRE);
}

/* The worker, and who stops the wheel, may be in some of these at a time. */
static void on_worker_end(struct object *object, enum count freed)
{
	struct wheel *wheel = object->wheel;

	wheel->nested++;
	callback_end(object, ktime_get(), wheel->nested > 1, freed);
	wheel->nested--;
}

static void release(struct hwheel_timeout *timeout)
{
	struct object *object = container_of(timeout, struct object, work.timeout);

	callback_begin(object, RELEASED);
	object->nr_released++;
	on_worker_end(object, FREED_BY_RELEASE);
}

static void release_work(struct hwheel_work *work)
{
	struct object *object = container_of(work, struct object, work);

	callback_begin(object, RELEASED);
	object->nr_released++;
	callback_end(object, ktime_get(), true, FREED_BY_RELEASE);
}

static void handback(struct hwheel_timeout *timeout, void *data)
{
	struct object *object = container_of(timeout, struct object, work.timeout);

	callback_begin(object, HANDED_BACK);
	if (object->wheel != data)
		fail("handed back by another wheel");
	if (object->ordered)
		check_ordered(object, U64_MAX);
	object->nr_handed++;
	on_worker_end(object, FREED_BY_HANDBACK);
}

static const struct hwheel_timeout_ops released_ops = {
	.expire = expire, .release = release,
};

static const struct hwheel_timeout_ops synced_ops = {
	.expire = expire,
};

/* Fresh objects. They get the caller's reference to the wheel. */

static struct object *object_create(const struct caller *by, struct wheel *wheel, bool released)
{
	struct object *object = kzalloc(sizeof(*object), GFP_KERNEL);

	if (!object) {
		wheel_put(wheel);
		fail("no memory");
		return NULL;
	}
	object->released = released;
	object->is_work = wheel->queue && chance(by, 2);
	if (object->is_work) {
		count(CREATE_WORK);
		hwheel_work_init(&object->work, wheel->hwheel, wheel->queue, run,
				 released ? release_work : NULL);
	} else {
		hwheel_timeout_init(&object->work.timeout, wheel->hwheel,
				    released ? &released_ops : &synced_ops);
	}
	raw_spin_lock_init(&object->lock);
	object->wheel = wheel;
	object->ordered = chance(by, 2);
	object->serial = atomic_inc_return(&object_serials);
	atomic_set(&object->refs, 1);
	atomic_inc(&live_objects);
	return object;
}

/* The place's number says which wheel of the table its objects are on. */
static void place_fill(const struct caller *by, struct place *place)
{
	struct wheel *wheel = wheel_get((place - places) % wheels);
	struct object *object;

	if (!wheel)
		return;
	object = object_create(by, wheel, chance(by, 2));
	if (object && !place_put(place, object))
		object_put(object, FREED_BY_CALLER);
}

/* Threads */

static void wheel_stop(struct wheel *wheel, enum count what)
{
	s64 n;

	count(what);
	WRITE_ONCE(wheel->stopping, true);
	n = hwheel_stop(wheel->hwheel,
			wheel->ending == HAND_BACK ? handback : NULL, wheel);
	if (n < 0)
		fail("stop failed");
	atomic64_add(n, &handed);
	WRITE_ONCE(wheel->stopped, true);
}

/* Has another thread stop the wheel, too. */
static void invite(struct wheel *wheel)
{
	atomic_inc(&wheel->refs);
	wheel = xchg(&invited, wheel);
	if (wheel)
		wheel_put(wheel);
}

static void follow_invitation(void)
{
	struct wheel *wheel = xchg(&invited, NULL);

	if (!wheel)
		return;
	wheel_stop(wheel, STOP_TOO);
	wheel_put(wheel);
}

/* Arms one that nobody else refers to: when the wheel hands it back, that is its end. */
static void bequeath(const struct caller *by, struct wheel *wheel)
{
	static const struct when far = { .time = FAR_NS };
	struct object *object;

	atomic_inc(&wheel->refs);
	object = object_create(by, wheel, true);
	if (!object)
		return;
	/* It is not there, which its callback may find out. */
	object->place = random_place(by);
	call_once(object, CALL_ARM, &far);
	object_put(object, FREED_BY_CALLER);
}

static void wheel_retire(const struct caller *by, struct wheel *wheel)
{
	WRITE_ONCE(wheel->retired, true);
	if (wheel->ending == HAND_BACK)
		bequeath(by, wheel);
	if (wheel->ending != DESTROY) {
		invite(wheel);
		wheel_stop(wheel, STOP);
	}
	wheel_put(wheel);
}

static void renew_wheel(const struct caller *by)
{
	struct wheel *wheel = wheel_create(by);

	if (!wheel)
		fail("no wheel");
	else
		wheel_retire(by, wheel_replace(below(by, wheels), wheel));
}

/* What other contexts left to threads */
static void clean_up(const struct caller *by)
{
	struct object *object, *next_object;
	struct wheel *wheel, *next_wheel;

	llist_for_each_entry_safe(object, next_object, llist_del_all(&condemned), link)
		object_reap(by, object);
	llist_for_each_entry_safe(object, next_object, llist_del_all(&graveyard), link)
		exhume(xchg(&quarantine[(u32)atomic_inc_return(&buried) % QUARANTINE],
			    object));
	llist_for_each_entry_safe(wheel, next_wheel, llist_del_all(&idle_wheels), idle)
		wheel_destroy(wheel);
}

/* Now and then all threads rest, so that wheels get to sleep. */
static void rest(const struct caller *by)
{
	if (chance(by, 1024))
		WRITE_ONCE(quiet_until, ktime_add_ms(by->now, 4));
	if (ktime_before(by->now, READ_ONCE(quiet_until)))
		usleep_range(1000, 2000);
}

static bool is_outdated(struct place *place)
{
	struct object *object = object_get(place);
	bool outdated;

	if (!object)
		return true;
	outdated = READ_ONCE(object->wheel->retired);
	caller_put(object);
	return outdated;
}

static void thread_step(const struct caller *by)
{
	struct place *place = random_place(by);
	u32 choice = below(by, 64);

	if (choice < 2 || (choice < 16 && is_outdated(place))) {
		place_empty(by, place);
		place_fill(by, place);
	} else if (choice == 16) {
		place_cancel_sync(by, place);
	} else if (choice == 17) {
		place_flush(by, place);
	} else {
		place_call(by, place);
	}
}

static void thread_step_rare(struct caller *by)
{
	if (READ_ONCE(invited) && chance(by, 4))
		follow_invitation();
	if (chance(by, wheel_life / 16 + 1))
		renew_wheel(by);
	clean_up(by);
	rest(by);
	cond_resched();
	by->now = ktime_get();
}

/* Interrupts */

/**
 * struct tormentor - a thread with its interrupts
 * @task:    the thread
 * @timer:   calls from softirqs
 * @hrtimer: calls from hardirqs
 * @rnd:     random numbers of each of them
 */
struct tormentor {
	struct task_struct	*task;
	struct timer_list	timer;
	struct hrtimer		hrtimer;
	struct rnd_state	rnd[3];
};

static struct tormentor tormentors[MAX_THREADS];
static atomic_t threads_left;
static DECLARE_WAIT_QUEUE_HEAD(threads_done);

static void burst(struct rnd_state *rnd, enum count kind, unsigned int calls)
{
	const struct caller by = { .rnd = rnd, .kind = kind, .now = ktime_get() };

	while (calls--)
		place_call(&by, random_place(&by));
	if (chance(&by, 4))
		place_empty(&by, random_place(&by));
}

/*
 * A burst takes long with sanitizers, and an interrupt takes long without one, too. The pause in ns
 * after one that took since @began: all threads' softirqs and hardirqs leave half of the
 * time, even if they are on one CPU.
 */
static u64 pause_after(u64 began)
{
	return 4 * threads * (ktime_get_ns() - began);
}

static void on_timer(struct timer_list *timer)
{
	struct tormentor *t = container_of(timer, struct tormentor, timer);
	u64 began = ktime_get_ns();

	burst(&t->rnd[1], BY_SOFTIRQ, 32);
	mod_timer(timer, jiffies + 1 + nsecs_to_jiffies(pause_after(began)));
}

static enum hrtimer_restart on_hrtimer(struct hrtimer *hrtimer)
{
	struct tormentor *t = container_of(hrtimer, struct tormentor, hrtimer);
	u64 due = ktime_to_ns(hrtimer_get_expires(hrtimer)), delay;

	burst(&t->rnd[2], BY_HARDIRQ, 4);
	delay = (1 + prandom_u32_state(&t->rnd[2]) % 8) * (200 * NSEC_PER_USEC);
	hrtimer_forward_now(hrtimer, delay + pause_after(due));
	return HRTIMER_RESTART;
}

static void interrupts_start(struct tormentor *t)
{
	timer_setup(&t->timer, on_timer, 0);
	hrtimer_setup(&t->hrtimer, on_hrtimer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
	mod_timer(&t->timer, jiffies + 1);
	hrtimer_start(&t->hrtimer, 200 * NSEC_PER_USEC, HRTIMER_MODE_REL_HARD);
}

static void interrupts_stop(struct tormentor *t)
{
	hrtimer_cancel(&t->hrtimer);
	timer_delete_sync(&t->timer);
}

/*
 * What is rare may not have happened in so many calls: then it takes more of them, up to ten times
 * as many, so that no verdict depends on chance. Threads look now and then.
 */
static bool is_covered(void)
{
	enum count i;

	for (i = 0; cover && i < NR_COUNTS; i++)
		if (!total(i))
			return false;
	return true;
}

static int thread_run(void *data)
{
	struct tormentor *t = data;
	struct caller by = {
		.rnd = &t->rnd[0], .kind = BY_THREAD, .may_sleep = true,
	};
	unsigned long n = DIV_ROUND_UP(ops, threads), i;

	interrupts_start(t);
	for (i = 0; !failed() && (i < n || (i < 10 * n && (i % 64 || !is_covered()))); i++) {
		if (i % 16 == 0)
			thread_step_rare(&by);
		thread_step(&by);
	}
	interrupts_stop(t);
	if (atomic_dec_and_test(&threads_left))
		wake_up(&threads_done);
	return 0;
}

static int thread_start(struct tormentor *t)
{
	unsigned int i, n = t - tormentors;
	struct task_struct *task;

	for (i = 0; i < ARRAY_SIZE(t->rnd); i++)
		prandom_seed_state(&t->rnd[i], seed + ((n * 3ULL + i) << 32));
	task = kthread_create(thread_run, t, "torture/%u", n);
	if (IS_ERR(task))
		return PTR_ERR(task);
	t->task = get_task_struct(task);
	return 0;
}

/* All are there before the first begins, or none does. */
static int threads_create(void)
{
	unsigned int i;
	int err;

	for (i = 0; i < threads; i++) {
		err = thread_start(&tormentors[i]);
		if (err)
			return err;
	}
	return 0;
}

static void threads_run(void)
{
	unsigned int i;

	atomic_set(&threads_left, threads);
	for (i = 0; i < threads; i++)
		wake_up_process(tormentors[i].task);
	if (wait_event_interruptible(threads_done, !atomic_read(&threads_left)))
		fail("interrupted");
}

static void threads_join(void)
{
	unsigned int i;

	for (i = 0; i < threads && tormentors[i].task; i++) {
		kthread_stop(tormentors[i].task);
		put_task_struct(tormentors[i].task);
	}
}

/* The end */

/* Returns whether nothing is pending any more, having cancelled what is far off. */
static bool sweep(const struct caller *by)
{
	struct object *object;
	bool pending = false;
	unsigned int i;

	for (i = 0; i < objects; i++) {
		object = object_get(&places[i]);
		if (!object)
			continue;
		if (hwheel_deadline(&object->work.timeout) >
		    wheel_time(object->wheel, ktime_get()) + NEAR_NS)
			call(by, object, CALL_CANCEL);
		pending |= hwheel_is_pending(&object->work.timeout);
		caller_put(object);
	}
	return !pending;
}

static bool cleaned_up(const struct caller *by)
{
	clean_up(by);
	return !atomic_read(&live_objects) && !atomic_read(&live_wheels);
}

/* What the end waits for */
static void report_rest(const char *else_failed)
{
	unsigned int i;

	pr_info("so far: %s: %d objects and %d wheels are there\n", else_failed,
		atomic_read(&live_objects), atomic_read(&live_wheels));
	for (i = 0; i < objects; i++) {
		struct object *object = object_get(&places[i]);

		if (!object)
			continue;
		if (hwheel_is_pending(&object->work.timeout))
			pr_info("object %u of wheel %u is late by %lld ns\n", object->serial,
				object->wheel->serial,
				(s64)(wheel_time(object->wheel, ktime_get()) -
				      hwheel_deadline(&object->work.timeout)));
		caller_put(object);
	}
	for (i = 0; i < wheels && table[i]; i++)
		pr_info("wheel %u: %llu pending, tick %llu ns, %u slots, %u levels, %s\n",
			table[i]->serial, (u64)hwheel_pending(table[i]->hwheel),
			table[i]->params.tick_ns, table[i]->params.slots,
			table[i]->params.levels,
			table[i]->queue ? "with works" : "no works");
}

/* Counts its own looks, not time: the machine may have stood still meanwhile. */
static void await(const struct caller *by, bool (*done)(const struct caller *by),
		  const char *else_failed)
{
	unsigned int ms;

	for (ms = 0; !done(by); ms++) {
		if (ms == PATIENCE_MS) {
			fail(else_failed);
			return;
		}
		if (ms == SLOW_MS)
			report_rest(else_failed);
		usleep_range(1000, 2000);
	}
}

static bool nothing_pending(const struct caller *by)
{
	u64 pending = 0;
	unsigned int i;

	clean_up(by);
	for (i = 0; i < wheels && table[i]; i++)
		pending += hwheel_pending(table[i]->hwheel);
	return !pending;
}

/* Callbacks arm nothing any more: what is near has to expire by itself. */
static void finish(const struct caller *by)
{
	unsigned int i;

	WRITE_ONCE(finishing, true);
	await(by, sweep, "a timeout did not expire");
	for (i = 0; i < objects; i++)
		place_empty(by, &places[i]);
	await(by, nothing_pending, "pending is not 0 at the end");
	for (i = 0; i < wheels && table[i]; i++)
		wheel_retire(by, wheel_replace(i, NULL));
	follow_invitation();
	await(by, cleaned_up, "objects or wheels are left over");
	for (i = 0; i < QUARANTINE; i++)
		exhume(xchg(&quarantine[i], NULL));
}

static void report_counts(void)
{
	unsigned int i;

	for (i = 0; i < NR_COUNTS; i++) {
		pr_info("%s=%lu\n", names[i], total(i));
		if (cover && !total(i))
			fail("something never happened, see the zero");
	}
}

static void check_totals(void)
{
	if (total(ARMED) != total(EXPIRED) + total(CANCELLED) +
			    total(HANDED_BACK) + total(ENDED_SILENTLY))
		fail("armed is not expired + cancelled + handed back");
	if (total(HANDED_BACK) + total(ENDED_SILENTLY) != atomic64_read(&handed))
		fail("stop returned another number than it handed back");
}

static void report(s64 milliseconds)
{
	unsigned long calls = total(ARM) + total(ARM_AT) + total(MOD) + total(MOD_AT) +
			      total(REFRESH) + total(REFRESH_AT) + total(CANCEL) +
			      total(CANCEL_SYNC);

	check_totals();
	report_counts();
	pr_info("operations=%lu\n", calls);
	pr_info("milliseconds=%lld\n", milliseconds);
	if (atomic_read(&live_objects) || atomic_read(&live_wheels))
		pr_err("left: objects=%d wheels=%d\n", atomic_read(&live_objects),
		       atomic_read(&live_wheels));
	if (failed()) {
		verdict = (char *)failure;
	} else {
		verdict = "passed";
		pr_info("passed\n");
	}
	/* Callbacks may still come: better keep the module than crash. */
	if (atomic_read(&live_wheels) || atomic_read(&live_objects))
		__module_get(THIS_MODULE);
}

/* The beginning */

static int check_parameters(void)
{
	if (threads < 1 || threads > MAX_THREADS || wheels < 1 || wheels > MAX_WHEELS ||
	    objects < wheels || objects > MAX_PLACES || slots > HWHEEL_MAX_SLOTS ||
	    (tick_us && (tick_us < 50 || tick_us > 1000000))) {
		pr_err("a parameter is out of range\n");
		return -EINVAL;
	}
	return 0;
}

static int wheels_create(const struct caller *by)
{
	unsigned int i;

	for (i = 0; i < wheels; i++) {
		table[i] = wheel_create(by);
		if (!table[i])
			return -ENOMEM;
	}
	return 0;
}

static int queues_create(void)
{
	unbound = alloc_workqueue("torture_unbound", WQ_UNBOUND, 0);
	ordered = alloc_ordered_workqueue("torture_ordered", 0);
	return unbound && ordered ? 0 : -ENOMEM;
}

/* Where wheels are left over, callbacks may still come. */
static void queues_destroy(void)
{
	if (atomic_read(&live_wheels))
		return;
	if (unbound)
		destroy_workqueue(unbound);
	if (ordered)
		destroy_workqueue(ordered);
}

static int places_create(void)
{
	unsigned int i;

	places = kvcalloc(objects, sizeof(*places), GFP_KERNEL);
	if (!places)
		return -ENOMEM;
	for (i = 0; i < objects; i++)
		raw_spin_lock_init(&places[i].lock);
	return 0;
}

static int __init torture_init(void)
{
	struct rnd_state rnd;
	ktime_t start = ktime_get();
	const struct caller by = {
		.rnd = &rnd, .kind = BY_THREAD, .may_sleep = true, .now = start,
	};
	int err = check_parameters();

	if (err)
		return err;
	while (!seed)
		get_random_bytes(&seed, sizeof(seed));
	pr_info("seed=%llu\n", seed);
	prandom_seed_state(&rnd, seed);

	err = queues_create() ?: places_create() ?: wheels_create(&by) ?:
	      threads_create();
	if (!err)
		threads_run();
	threads_join();
	if (places)
		finish(&by);
	queues_destroy();
	if (err)
		kvfree(places);
	else
		report(ktime_ms_delta(ktime_get(), start));
	return err;
}
module_init(torture_init);

static void __exit torture_exit(void)
{
	kvfree(places);
}
module_exit(torture_exit);

MODULE_DESCRIPTION("Torture of hwheel's exported symbols");
MODULE_AUTHOR("The hwheel authors");
MODULE_LICENSE("GPL");
