// SPDX-License-Identifier: GPL-2.0-only
/*
 * Many threads or processes race on one file: some arm, one by one or in batches, some
 * refresh and cancel whatever there is, some read, each in its own way, and somewhere in
 * the middle one stops the file. Each has a descriptor of its own and closes it at the end.
 * Every timeout that was armed then has exactly one outcome.
 */

#include "../abi/share.h"

#include <pthread.h>

#define TIMEOUTS	20000
#define ARMERS		3
#define MOVERS		2
#define READERS		4
#define RACERS		(ARMERS + MOVERS + READERS + 1)

struct outcome {
	__u64	id;
	__u8	armed;
	__u8	cancelled;
	__u8	expired;
	__u8	stopped;
};

struct race {
	struct outcome	outcomes[TIMEOUTS];
	unsigned int	next;
	unsigned int	stop_at;
	unsigned int	cancelled;
	unsigned int	expired;
	int		stopped;
	int		fd;
};

struct racer {
	struct race	*race;
	int		(*work)(struct race *race, int fd, int index);
	int		index;
	int		result;
};

#define bump(count)	__atomic_add_fetch(count, 1, __ATOMIC_RELAXED)
#define look_at(count)	__atomic_load_n(count, __ATOMIC_RELAXED)

static void note_armed(struct race *race, const struct hwheel_op *op)
{
	struct outcome *outcome = &race->outcomes[op->cookie];

	bump(&outcome->armed);
	__atomic_store_n(&outcome->id, op->id, __ATOMIC_RELEASE);
}

/* Up to @max next ones, due about now. */
static unsigned int next_ones(struct race *race, struct hwheel_op *ops, unsigned int max)
{
	unsigned int first = __atomic_fetch_add(&race->next, max, __ATOMIC_RELAXED), i;

	for (i = 0; i < max && first + i < TIMEOUTS; i++)
		ops[i] = (struct hwheel_op){
			.op = HWHEEL_OP_ARM,
			.cookie = first + i,
			.time_ns = (first + i) % 7 ? (first + i) % 50 * MSEC : NEVER,
		};
	return i;
}

/* Batches of 50, or of 1 by the single ioctl. */
static int arm_next(struct race *race, int fd, unsigned int max)
{
	struct hwheel_op ops[50];
	unsigned int n = next_ones(race, ops, max), i;
	int ret;

	if (max == 1 && n == 1) {
		ops[0].result = call(fd, HWHEEL_IOC_ARM, &ops[0]);
	} else {
		ret = submit(fd, ops, n);
		if (ret != (int)n)
			return -EPROTO;
	}
	for (i = 0; i < n; i++) {
		if (!ops[i].result)
			note_armed(race, &ops[i]);
		else if (ops[i].result != -ESHUTDOWN)
			return ops[i].result;
	}
	return n;
}

static int arm_all(struct race *race, int fd, int index)
{
	int ret;

	while ((ret = arm_next(race, fd, index ? 50 : 1)) > 0)
		;
	return ret;
}

static bool is_stopped(struct race *race)
{
	return __atomic_load_n(&race->stopped, __ATOMIC_ACQUIRE);
}

/* A timeout that has ended says so. */
static int move_one(struct race *race, struct outcome *outcome, int fd, __u64 id, __u32 random)
{
	int ret;

	if (random >> 30) {
		ret = refresh(fd, id, random >> 31 ? 0 : NEVER);
		return ret == -ENOENT ? 0 : ret;
	}
	ret = cancel(fd, id);
	if (!ret) {
		bump(&outcome->cancelled);
		bump(&race->cancelled);
	}
	return ret == -ENOENT ? 0 : ret;
}

static int move_any(struct race *race, int fd, int index)
{
	__u32 random = index + 1;
	int ret = 0;

	while (!ret && !is_stopped(race)) {
		struct outcome *outcome;
		__u64 id;

		random = random * 1664525 + 1013904223;
		outcome = &race->outcomes[(random >> 8) % TIMEOUTS];
		id = __atomic_load_n(&outcome->id, __ATOMIC_ACQUIRE);
		if (id)
			ret = move_one(race, outcome, fd, id, random);
	}
	return ret;
}

static int note_event(struct race *race, const struct hwheel_event *ev)
{
	if (ev->cookie >= TIMEOUTS || ev->fired_ns > now_ns())
		return -EPROTO;
	if (ev->type == HWHEEL_EVENT_STOPPED) {
		bump(&race->outcomes[ev->cookie].stopped);
		return 0;
	}
	bump(&race->outcomes[ev->cookie].expired);
	bump(&race->expired);
	return event_is_sound(ev) ? 0 : -EPROTO;
}

/* Sleeps in read() or in poll(), and reads few or many, until the end of the file. */
static int read_all(struct race *race, int fd, int index)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	struct hwheel_event ev[70];
	int got, i;

	do {
		if (index & 1 && poll(&pfd, 1, WAIT_MS) != 1)
			return -ETIMEDOUT;
		got = read_raw(fd, ev, index & 2 ? 70 : 1);
		if (got < 0)
			return got;
		for (i = 0; i < got; i++)
			if (note_event(race, &ev[i]))
				return -EPROTO;
	} while (got);
	return 0;
}

/* Not before each kind of racer did something: STOP would leave nothing to the others. */
static int stop_midway(struct race *race, int fd, int index)
{
	int ret;

	while (look_at(&race->next) < race->stop_at || !look_at(&race->cancelled) ||
	       !look_at(&race->expired))
		sched_yield();
	ret = stop(fd);
	__atomic_store_n(&race->stopped, 1, __ATOMIC_RELEASE);
	return ret < 0 ? ret : 0;
}

static void *take_part(void *data)
{
	struct racer *racer = data;
	int fd = dup(racer->race->fd);

	racer->result = racer->work(racer->race, fd, racer->index);
	if (close(fd) && !racer->result)
		racer->result = -errno;
	return NULL;
}

static void assign(struct racer *racers, struct race *race)
{
	int i;

	for (i = 0; i < RACERS; i++)
		racers[i] = (struct racer){ .race = race, .index = i, .work = stop_midway };
	for (i = 0; i < ARMERS; i++)
		racers[i].work = arm_all;
	for (i = 0; i < MOVERS; i++)
		racers[ARMERS + i].work = move_any;
	for (i = 0; i < READERS; i++)
		racers[ARMERS + MOVERS + i].work = read_all;
}

static int race_of_threads(struct racer *racers)
{
	pthread_t threads[RACERS];
	int ret = 0, i;

	for (i = 0; i < RACERS; i++)
		if (pthread_create(&threads[i], NULL, take_part, &racers[i]))
			return -EAGAIN;
	for (i = 0; i < RACERS; i++) {
		pthread_join(threads[i], NULL);
		ret = ret ?: racers[i].result;
	}
	return ret;
}

static int race_of_processes(struct racer *racers)
{
	pid_t pids[RACERS];
	int ret = 0, err, i;

	for (i = 0; i < RACERS; i++) {
		pids[i] = fork();
		if (pids[i] < 0)
			return -errno;
		if (pids[i])
			continue;
		take_part(&racers[i]);
		_exit(-racers[i].result);
	}
	for (i = 0; i < RACERS; i++) {
		err = reap(pids[i]);
		ret = ret ?: err;
	}
	return ret;
}

/* How many have not exactly one outcome, or one though they were never armed. */
static unsigned int count_odd(const struct race *race)
{
	unsigned int i, odd = 0;

	for (i = 0; i < TIMEOUTS; i++) {
		const struct outcome *outcome = &race->outcomes[i];

		odd += outcome->armed > 1 ||
		       outcome->cancelled + outcome->expired + outcome->stopped !=
		       outcome->armed;
	}
	return odd;
}

FIXTURE(race)
{
	struct race	*race;
	struct racer	racers[RACERS];
	long		users;
};

FIXTURE_VARIANT(race)
{
	int		(*run)(struct racer *racers);
	unsigned int	stop_at;
	__u64		tick_ns;
};

FIXTURE_VARIANT_ADD(race, threads) { .run = race_of_threads, .stop_at = TIMEOUTS * 3 / 4 };
FIXTURE_VARIANT_ADD(race, processes) { .run = race_of_processes, .stop_at = TIMEOUTS * 3 / 4 };
FIXTURE_VARIANT_ADD(race, stopped_last) { .run = race_of_threads, .stop_at = TIMEOUTS };

FIXTURE_VARIANT_ADD(race, own_wheel) {
	.run = race_of_processes, .stop_at = TIMEOUTS / 2, .tick_ns = MSEC,
};

FIXTURE_SETUP(race)
{
	self->users = users_of_module();
	self->race = map_shared(sizeof(*self->race));
	ASSERT_NE(NULL, self->race);
	self->race->stop_at = variant->stop_at;
	self->race->fd = open_device(0);
	ASSERT_LE(0, self->race->fd);
	if (variant->tick_ns)
		ASSERT_EQ(0, configure_file(self->race->fd, (struct hwheel_config){
			.tick_ns = variant->tick_ns,
			.kind = HWHEEL_KIND_HASHED,
			.clock = CLOCK_MONOTONIC,
		}));
	assign(self->racers, self->race);
}

FIXTURE_TEARDOWN(race)
{
	EXPECT_EQ(0, await_users(self->users));
	EXPECT_EQ(0, munmap(self->race, sizeof(*self->race)));
}

TEST_F(race, each_has_one_outcome)
{
	unsigned int sum[4] = { 0 }, i;

	ASSERT_EQ(0, variant->run(self->racers));
	EXPECT_EQ(0, count_odd(self->race));
	for (i = 0; i < TIMEOUTS; i++) {
		sum[0] += self->race->outcomes[i].armed;
		sum[1] += self->race->outcomes[i].cancelled;
		sum[2] += self->race->outcomes[i].expired;
		sum[3] += self->race->outcomes[i].stopped;
	}
	TH_LOG("armed %u: cancelled %u, expired %u, stopped %u", sum[0], sum[1], sum[2], sum[3]);
	EXPECT_LT(0, sum[3]);
	EXPECT_EQ(0, close(self->race->fd));
}

TEST_HARNESS_MAIN
