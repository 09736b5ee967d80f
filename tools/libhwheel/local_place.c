// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/*
 * A handle whose wheel is in the process: a lock, a wheel of hwheel_local.h and a timerfd.
 *
 * Nothing runs by itself. The timerfd rings when a timeout is due, and a call that reads the clock
 * makes events of the timeouts that are due. A call that does not may still cancel or move a
 * timeout whose deadline is past.
 *
 * A timeout is a node of an array, with address space for as many as there may be; its id is a
 * generation and the node's index + 1. Free nodes are a stack, events a list, and both use the link
 * of the wheel's timeout, which is on no list of the wheel then.
 *
 * The descriptor is readable while there are events: the timerfd is set for a time that is past.
 * Else it is set for the wheel's next run, with a system call where that comes to be earlier and
 * once it has rung.
 *
 * A child has a copy of all this, in which another thread may hold the lock, and shares the
 * timerfd with its parent. It touches neither.
 */
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "hwheel_local.h"
#include "lock.h"
#include "wheel.h"

#define NSEC_PER_SEC	1000000000U

/* As those of the module, which an administrator may change there */
#define DEFAULT_TICK	10000000U
#define DEFAULT_MAX	65536U

/* Of struct hwheel_config */
#define MIN_TICK	50000U
#define MAX_TICK	(3600ULL * NSEC_PER_SEC)
#define MAX_TIMEOUTS	0x1000000U
#define MAX_SLOTS	0x100000U
#define MAX_LEVELS	8U

/* Of a node; a free one has the generation of its next timeout. */
enum state { FREE, PENDING, EXPIRED, STOPPED };

struct node {
	struct hwheel_local_timeout	timeout;	/* first */
	uint64_t			cookie;
	uint64_t			fired_ns;	/* once it has ended */
	uint32_t			generation;
	enum state			state;
} ATTRIBUTE(aligned(64));

/**
 * struct local - all of a handle in the process
 * @lock:    of what follows @fd
 * @max:     how many nodes there may be
 * @fd:      the timerfd, which is the handle's descriptor
 * @used:    nodes that were ever armed, which come first
 * @free:    stack of free ones among them
 * @events:  list of the nodes that have ended, the first one first
 * @wheel:   those that are pending
 * @aimed:   the time for which the timerfd is set; UINT64_MAX: it is not set
 * @room:    timeouts that hwheel_map() has asked for
 * @is_own:  hwheel_configure() has chosen a kind of wheel
 * @stopped: for good
 * @stats:   what is counted; local_stats() has the rest
 * @nodes:   @max of them
 */
struct local {
	struct lock			lock;
	uint32_t			max;
	int				fd;
	uint32_t			used;
	struct hwheel_local_link	*free;
	struct hwheel_local_link	events;
	struct hwheel_local		wheel;
	uint64_t			aimed;
	uint64_t			room;
	bool				is_own;
	bool				stopped;
	struct hwheel_file_stats	stats;
	struct node			nodes[];
};

/*
 * A number of bytes before a struct local, whole pages on each machine, which the kernel clears in
 * a child, however it came to be. The first word is 1 in the process that made it.
 */
#define MARGIN	65536U

static uint32_t *is_own_word(const struct local *local)
{
	return (uint32_t *)((uintptr_t)local - MARGIN);
}

static bool is_parents(const struct local *local)
{
	return __builtin_expect(!*is_own_word(local), 0);
}

static struct node *node_of(struct hwheel_local_link *link)
{
	return (struct node *)link;
}

static uint64_t id_of(const struct local *local, const struct node *node)
{
	return (uint64_t)node->generation << 32 | (uint32_t)(node - local->nodes + 1);
}

/*
 * Any number may be asked for. Returns NULL if it names none that is pending or has an event: a
 * free node has the generation of its next timeout.
 */
static struct node *find(struct local *local, uint64_t id)
{
	uint32_t i = (uint32_t)id - 1;

	if (i >= local->used || local->nodes[i].generation != id >> 32 ||
	    local->nodes[i].state == FREE)
		return NULL;
	return &local->nodes[i];
}

/* The alarm */

/* What is beyond 68 years fits no time_t of 32 bits. 0 would disarm the timerfd. */
static void set_timerfd(int fd, uint64_t at_ns)
{
	struct itimerspec at = { .it_value = { .tv_sec = 0 } };

	if (at_ns / NSEC_PER_SEC <= INT_MAX) {
		at.it_value.tv_sec = (time_t)(at_ns / NSEC_PER_SEC);
		at.it_value.tv_nsec = (long)(at_ns % NSEC_PER_SEC) + !at_ns;
	}
	timerfd_settime(fd, TFD_TIMER_ABSTIME, &at, NULL);
}

static bool has_events(const struct local *local)
{
	return local->events.next != &local->events;
}

/* @at_ns: when the wheel is to be run */
static void aim(struct local *local, uint64_t at_ns)
{
	uint64_t past = local->wheel.now;

	if (has_events(local) || local->stopped)
		at_ns = 0;
	if (at_ns == local->aimed || (at_ns <= past && local->aimed <= past))
		return;
	local->aimed = at_ns;
	set_timerfd(local->fd, at_ns);
}

static void alarm_moved(struct hwheel_local *wheel, uint64_t at_ns)
{
	aim((struct local *)((char *)wheel - offsetof(struct local, wheel)), at_ns);
}

/* Nodes, with the lock held */

static inline struct node *get(struct local *local)
{
	struct hwheel_local_link *link = local->free;

	if (__builtin_expect(!!link, 1)) {
		local->free = link->next;
		return node_of(link);
	}
	if (local->used == local->max)
		return NULL;
	return &local->nodes[local->used++];
}

static inline void put(struct local *local, struct node *node)
{
	node->state = FREE;
	node->generation++;
	node->timeout.link.next = local->free;
	local->free = &node->timeout.link;
}

/* Makes an event of a node that is on no list of the wheel. */
static void end(struct local *local, struct node *node, uint64_t now, enum state state)
{
	struct hwheel_local_link *link = &node->timeout.link, *events = &local->events;

	node->state = state;
	node->fired_ns = now;
	link->next = events;
	link->prev = events->prev;
	events->prev->next = link;
	events->prev = link;
	local->stats.events++;
}

/* Frees a node that has an event. The caller aims afterwards. */
static void drop_event(struct local *local, struct node *node)
{
	hwheel_local_unlink(&node->timeout);
	local->stats.events--;
	put(local, node);
}

static void aim_at_next(struct local *local)
{
	aim(local, hwheel_local_next(&local->wheel));
}

/* As struct hwheel_file_stats has it: in parts of a tick, each bin twice as wide */
static void count_lateness(struct local *local, uint64_t late_ns)
{
	uint64_t parts = late_ns >> (local->wheel.shift - 8);
	unsigned int bin = parts ? 64 - (unsigned int)__builtin_clzll(parts) : 0;

	if (bin >= HWHEEL_LATENESS_BINS)
		bin = HWHEEL_LATENESS_BINS - 1;
	local->stats.wheel_lateness[bin]++;
}

static void expire(struct local *local, uint64_t now)
{
	struct hwheel_local_timeout *timeout;

	while ((timeout = hwheel_local_take(&local->wheel, now))) {
		end(local, node_of(&timeout->link), now, EXPIRED);
		local->stats.expired++;
		count_lateness(local, now - timeout->deadline);
	}
}

/* Takes the lock. A delay needs the clock, so what is due expires. Makes a deadline of the time. */
static inline int enter(const struct hwheel *wheel, uint32_t flags, uint64_t *time_ns)
{
	struct local *local = wheel->local;
	uint64_t now;

	if (is_parents(local))
		return -EBADF;
	if (flags & HWHEEL_ABSOLUTE) {
		lock_take(&local->lock);
		return 0;
	}
	now = hwheel_now(wheel);
	*time_ns = deadline_after(now, *time_ns);
	lock_take(&local->lock);
	expire(local, now);
	return 0;
}

/* Takes the lock, and has what is due expire. */
static int enter_now(const struct hwheel *wheel, uint64_t *now)
{
	*now = 0;
	return enter(wheel, 0, now);
}

static inline int leave(struct local *local, int ret)
{
	lock_leave(&local->lock);
	return ret;
}

/* Operations */

/* Other threads may read the variable without the lock, as a number. */
static inline int arm(struct local *local, uint64_t deadline_ns, uint64_t cookie, uint64_t *id)
{
	struct node *node;

	if (__builtin_expect(local->stopped, 0))
		return -ESHUTDOWN;
	node = get(local);
	if (__builtin_expect(!node, 0))
		return -ENOSPC;
	node->cookie = cookie;
	node->state = PENDING;
	__atomic_store_n(id, id_of(local, node), __ATOMIC_RELEASE);
	local->stats.armed++;
	hwheel_local_arm_at(&local->wheel, &node->timeout, deadline_ns);
	return 0;
}

static inline void move(struct local *local, struct node *node, uint64_t deadline_ns)
{
	local->stats.refreshed++;
	hwheel_local_set_at(&local->wheel, &node->timeout, deadline_ns);
}

static int local_arm(struct hwheel *wheel, uint32_t flags, uint64_t time_ns, uint64_t cookie,
		     uint64_t *id)
{
	struct local *local = wheel->local;
	int error = enter(wheel, flags, &time_ns);

	return error ?: leave(local, arm(local, time_ns, cookie, id));
}

static int local_refresh(struct hwheel *wheel, uint32_t flags, uint64_t id, uint64_t time_ns)
{
	struct local *local = wheel->local;
	int error = enter(wheel, flags, &time_ns);
	struct node *node;

	if (error)
		return error;
	node = find(local, id);
	if (!node || node->state != PENDING)
		return leave(local, -ENOENT);
	move(local, node, time_ns);
	return leave(local, 0);
}

/* The lock decides between threads that set one variable. */
static int local_set(struct hwheel *wheel, uint32_t flags, uint64_t *id, uint64_t time_ns,
		     uint64_t cookie)
{
	struct local *local = wheel->local;
	int error = enter(wheel, flags, &time_ns);
	struct node *node;

	if (error)
		return error;
	node = find(local, __atomic_load_n(id, __ATOMIC_RELAXED));
	if (node && node->state == PENDING) {
		move(local, node, time_ns);
		return leave(local, 0);
	}
	if (node && !local->stopped) {
		drop_event(local, node);
		aim_at_next(local);
	}
	return leave(local, arm(local, time_ns, cookie, id));
}

static int local_end(struct hwheel *wheel, uint64_t id, bool or_event)
{
	struct local *local = wheel->local;
	int error = enter(wheel, HWHEEL_ABSOLUTE, NULL);
	struct node *node;

	if (error)
		return error;
	node = find(local, id);
	if (node && node->state == PENDING) {
		hwheel_local_cancel(&node->timeout);
		local->stats.cancelled++;
		put(local, node);
	} else if (node && or_event) {
		drop_event(local, node);
		aim_at_next(local);
	} else {
		error = -ENOENT;
	}
	return leave(local, error);
}

static int state_of(const struct node *node)
{
	switch (node->state) {
	case PENDING:
		return HWHEEL_STATE_PENDING;
	case EXPIRED:
		return HWHEEL_STATE_EXPIRED;
	default:
		return HWHEEL_STATE_STOPPED;
	}
}

static int local_query(struct hwheel *wheel, uint64_t id, uint64_t *left_ns, uint64_t *cookie)
{
	struct local *local = wheel->local;
	const struct node *node;
	uint64_t now, deadline;
	int error = enter_now(wheel, &now);

	if (error)
		return error;
	node = find(local, id);
	if (!node)
		return leave(local, -ENOENT);
	deadline = node->timeout.deadline;
	if (left_ns)
		*left_ns = deadline > now ? deadline - now : 0;
	if (cookie)
		*cookie = node->cookie;
	return leave(local, state_of(node));
}

static int local_submit(struct hwheel *wheel, struct hwheel_op *ops, unsigned int nr)
{
	uint64_t now;
	int error = enter_now(wheel, &now);

	if (error)
		return error;
	leave(wheel->local, 0);
	return batch_perform(wheel, ops, nr);
}

/* Events */

static void take(struct local *local, struct hwheel_event *event)
{
	struct node *node = node_of(local->events.next);

	*event = (struct hwheel_event){
		.id = id_of(local, node), .cookie = node->cookie,
		.deadline_ns = node->timeout.deadline, .fired_ns = node->fired_ns,
		.type = node->state == STOPPED ? HWHEEL_EVENT_STOPPED : HWHEEL_EVENT_EXPIRED,
	};
	drop_event(local, node);
}

/* Returns how many there were, 0 at the end, or -EAGAIN. */
static int take_all(struct hwheel *wheel, struct hwheel_event *events, size_t count)
{
	struct local *local = wheel->local;
	uint64_t now;
	size_t n;
	int error = enter_now(wheel, &now);

	if (error)
		return error;
	for (n = 0; n < count && has_events(local); n++)
		take(local, &events[n]);
	aim_at_next(local);
	return leave(local, n || local->stopped ? (int)n : -EAGAIN);
}

static int local_next_events(struct hwheel *wheel, struct hwheel_event *events, size_t count)
{
	struct pollfd file = { .fd = wheel->fd, .events = POLLIN };
	int n;

	if (!count)
		return -EINVAL;
	if (count > INT_MAX)
		count = INT_MAX;
	while ((n = take_all(wheel, events, count)) == -EAGAIN && wheel->waits)
		if (poll(&file, 1, -1) < 0)
			return -errno;
	return n;
}

/* From then on the descriptor is readable, as reading finds the end. */
static int local_stop(struct hwheel *wheel)
{
	struct local *local = wheel->local;
	struct node *node;
	uint64_t now;
	int n = 0, error = enter_now(wheel, &now);

	if (error)
		return error;
	for (node = local->nodes; node < local->nodes + local->used; node++)
		if (node->state == PENDING) {
			hwheel_local_cancel(&node->timeout);
			end(local, node, now, STOPPED);
			n++;
		}
	local->stats.stopped += (unsigned int)n;
	local->stopped = true;
	aim_at_next(local);
	return leave(local, n);
}

/* What it is like */

static int local_info(const struct hwheel *wheel, struct hwheel_info *info)
{
	const struct local *local = wheel->local;

	*info = (struct hwheel_info){
		.features = HWHEEL_FEATURE_QUERY | HWHEEL_FEATURE_SUBMIT | HWHEEL_FEATURE_CONFIG |
			    HWHEEL_FEATURE_STOP | HWHEEL_FEATURE_STATS | HWHEEL_FEATURE_MAP |
			    HWHEEL_FEATURE_SET | HWHEEL_FEATURE_WITHDRAW | HWHEEL_FEATURE_LOCAL,
		.tick_ns = 1ULL << local->wheel.shift, .max_timeouts = local->max,
		.slots = HWHEEL_LOCAL_SLOTS, .levels = HWHEEL_LOCAL_LEVELS,
		.kind = HWHEEL_KIND_HIERARCHICAL, .clock = wheel->clock,
		.max_submit = HWHEEL_SUBMIT_MAX, .own_wheel = 1,
	};
	return 0;
}

static uint64_t size_of(uint64_t max)
{
	return sizeof(struct local) + max * sizeof(struct node);
}

static int local_stats(const struct hwheel *wheel, struct hwheel_file_stats *stats)
{
	struct local *local = wheel->local;
	uint64_t now;
	int error = enter_now(wheel, &now);

	if (error)
		return error;
	*stats = local->stats;
	stats->pending = stats->armed - stats->cancelled - stats->expired - stats->stopped;
	stats->held = stats->pending + stats->events;
	stats->wheel = 1;
	stats->wheel_pending = stats->pending;
	stats->wheel_armed = stats->armed;
	stats->wheel_expired = stats->expired;
	stats->account_bytes = size_of(local->used);
	return leave(local, 0);
}

/* There is nothing to map: it counts the room, as programs do that run on the module as well. */
static int local_map(struct hwheel *wheel, size_t count)
{
	struct local *local = wheel->local;
	uint64_t now;
	int error;

	if (!count)
		return -EINVAL;
	error = enter_now(wheel, &now);
	if (error)
		return error;
	if (local->stopped)
		error = -ESHUTDOWN;
	else if (!local->room && local->stats.armed)
		error = -EBUSY;
	else if (count > local->max - local->room)
		error = -ENOSPC;
	else
		local->room += count;
	return leave(local, error);
}

/* Made, configured, closed */

static void local_free(struct local *local)
{
	munmap(is_own_word(local), MARGIN + size_of(local->max));
}

/* Returns NULL with errno. */
static struct local *local_new(clockid_t clock, uint64_t tick_ns, uint64_t max, int fd)
{
	const struct hwheel any = { .clock = clock };
	struct local *local;
	char *memory = mmap(NULL, MARGIN + size_of(max), PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		return NULL;
	local = (struct local *)(memory + MARGIN);
	if (madvise(memory, MARGIN, MADV_WIPEONFORK)) {
		munmap(memory, MARGIN + size_of(max));
		errno = EOPNOTSUPP;
		return NULL;
	}
	*is_own_word(local) = 1;
	local->max = (uint32_t)max;
	local->fd = fd;
	local->events.next = &local->events;
	local->events.prev = &local->events;
	local->aimed = UINT64_MAX;
	hwheel_local_init(&local->wheel, tick_ns, hwheel_now(&any));
	hwheel_local_set_alarm(&local->wheel, alarm_moved);
	return local;
}

/* A child closes its copy of the descriptor: the timerfd stays as the parent has set it. */
static void local_close(struct hwheel *wheel)
{
	local_free(wheel->local);
}

/* As the module does, so that a program finds out here what it would refuse */
static bool is_kind(const struct hwheel_config *config)
{
	switch (config->kind) {
	case HWHEEL_KIND_DEFAULT:
		return !config->tick_ns && !config->slots && !config->levels && !config->flags &&
		       !config->turn_ns && config->clock == CLOCK_MONOTONIC;
	case HWHEEL_KIND_HASHED:
	case HWHEEL_KIND_SIMPLE:
		return config->levels <= 1 &&
		       (!config->turn_ns || (!config->slots && !config->levels));
	case HWHEEL_KIND_HIERARCHICAL:
		return config->levels != 1 && config->levels <= MAX_LEVELS && !config->turn_ns;
	default:
		return false;
	}
}

static bool is_valid(const struct hwheel_config *config)
{
	static const __typeof__(config->reserved) zeros;

	return is_kind(config) &&
	       !(config->flags & ~(HWHEEL_CONFIG_NICE | HWHEEL_CONFIG_CPUS)) &&
	       !memcmp(config->reserved, zeros, sizeof(zeros)) &&
	       (!config->tick_ns ||
		(config->tick_ns >= MIN_TICK && config->tick_ns <= MAX_TICK)) &&
	       (config->clock == CLOCK_MONOTONIC || config->clock == CLOCK_BOOTTIME) &&
	       config->slots <= MAX_SLOTS && config->max_timeouts <= MAX_TIMEOUTS;
}

static int may_configure(const struct hwheel *wheel)
{
	const struct local *local = wheel->local;

	if (is_parents(local))
		return -EBADF;
	if (local->stopped)
		return -ESHUTDOWN;
	return local->is_own || local->room || local->stats.armed ? -EBUSY : 0;
}

/* The timerfd of another clock takes the number of the descriptor, which the program may have. */
static int change_clock(struct hwheel *wheel, clockid_t clock)
{
	int fd, error = 0;

	if (clock == wheel->clock)
		return 0;
	fd = timerfd_create(clock, TFD_CLOEXEC | TFD_NONBLOCK);
	if (fd < 0)
		return -errno;
	if (dup3(fd, wheel->fd, O_CLOEXEC) < 0)
		error = -errno;
	close(fd);
	if (!error)
		wheel->clock = clock;
	return error;
}

/* One kind of wheel is all that there is: the number of slots and the kind make no difference. */
static int local_configure(struct hwheel *wheel, const struct hwheel_config *config)
{
	struct local *old = wheel->local, *new;
	int error = is_valid(config) ? may_configure(wheel) : -EINVAL;

	if (error)
		return error;
	new = local_new(config->clock, config->tick_ns ?: DEFAULT_TICK,
			config->max_timeouts ?: old->max, wheel->fd);
	if (!new)
		return -errno;
	error = change_clock(wheel, config->clock);
	if (error) {
		local_free(new);
		return error;
	}
	new->is_own = config->kind != HWHEEL_KIND_DEFAULT;
	wheel->local = new;
	local_free(old);
	return 0;
}

const struct place local_place = {
	.arm		= local_arm,
	.refresh	= local_refresh,
	.set		= local_set,
	.end		= local_end,
	.query		= local_query,
	.next_events	= local_next_events,
	.submit		= local_submit,
	.configure	= local_configure,
	.map		= local_map,
	.info		= local_info,
	.stats		= local_stats,
	.stop		= local_stop,
	.close		= local_close,
};

static int make(struct hwheel *wheel)
{
	int error;

	wheel->fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (wheel->fd < 0)
		return -errno;
	wheel->local = local_new(CLOCK_MONOTONIC, DEFAULT_TICK, DEFAULT_MAX, wheel->fd);
	if (wheel->local)
		return 0;
	error = -errno;
	close(wheel->fd);
	return error;
}

int hwheel_open_local(struct hwheel **wheel, unsigned int flags)
{
	struct hwheel *new;
	int error;

	if (flags & ~HWHEEL_NONBLOCK)
		return -EINVAL;
	new = wheel_new(&local_place, flags);
	if (!new)
		return -ENOMEM;
	error = make(new);
	if (error) {
		free(new);
		return error;
	}
	*wheel = new;
	return 0;
}
