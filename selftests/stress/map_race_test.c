// SPDX-License-Identifier: GPL-2.0-only
/*
 * map_race_test [OPS [THREADS]]: THREADS threads (2) do OPS operations (3000000) in each race:
 * they arm, cancel, refresh, withdraw and reap mapped timeouts at random. Each thread works on the
 * timeouts of all, by ids that may be old. In the end each arm has ended exactly once, and no
 * timeout was early or is missing.
 *
 * An id has the index of a record and the number of its arm. The deadline has the low bits of
 * that number as a tag, as the uapi header proposes.
 */

#include "../abi/share.h"
#include "../abi/map.h"

#include <pthread.h>
#include <sched.h>

#define RECORDS		512
#define MAX_THREADS	32
#define OLD_IDS		64

/* A deadline is a multiple of UNIT, in ns, and a tag. */
#define UNIT		1024
#define TAGS		128

static unsigned long ops = 3000000;
static unsigned int nr_threads = 2;

/**
 * struct life - what became of a record
 * @id:   of the last arm
 * @ends: how many of its arms have ended
 */
struct life {
	__u64	id;
	__u32	ends;
};

/**
 * struct tally - how often each thing happened
 *
 * What was withdrawn is among those that expired or were stopped, and the reaper drops it.
 */
struct tally {
	unsigned long	armed;
	unsigned long	refused;
	unsigned long	cancelled;
	unsigned long	refreshed;
	unsigned long	stale;
	unsigned long	expired;
	unsigned long	stopped;
	unsigned long	withdrawn;
	unsigned long	dropped;
};

/**
 * struct race - what the threads share
 * @map:   the mapping
 * @lives: of the records
 * @done:  how many operations were begun
 * @limit: how many there are to be, or a number that is never reached
 * @tick:  of the wheel
 * @bad:   0, or the line of the first check that failed
 */
struct race {
	struct map	map;
	struct life	lives[RECORDS];
	unsigned long	done;
	unsigned long	limit;
	__u64		tick;
	int		bad;
};

/**
 * struct racer - a thread
 * @race:   what it shares
 * @list:   where it pushes
 * @random: its own sequence
 * @base:   what it takes for now
 * @nr:     how many records are its own
 * @own:    those
 * @old:    ids that it has come across
 * @tally:  what it did
 */
struct racer {
	struct race	*race;
	unsigned int	list;
	__u64		random;
	__u64		base;
	unsigned int	nr;
	__u32		own[RECORDS];
	__u64		old[OLD_IDS];
	struct tally	tally;
};

/* Keeps the first line: later checks may fail as a consequence. */
static void note_bad(struct race *race, int line)
{
	int none = 0;

	__atomic_compare_exchange_n(&race->bad, &none, line, false, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED);
}

#define CHECK(race, condition) \
	do { \
		if (!(condition)) \
			note_bad(race, __LINE__); \
	} while (0)

static __u32 draw(struct racer *racer)
{
	racer->random = racer->random * 6364136223846793005ULL + 1442695040888963407ULL;
	return racer->random >> 33;
}

static __u32 index_of(__u64 id)
{
	return id;
}

static __u32 generation_of(__u64 id)
{
	return id >> 32;
}

static __u64 tagged(__u64 deadline, __u32 generation)
{
	return ((deadline + UNIT - 1) & -(__u64)UNIT) | generation % TAGS * 8;
}

/* Draws from few different deadlines, so that the same words come back. */
static __u64 draw_deadline(struct racer *racer)
{
	__u32 random = draw(racer);

	if (!(random & 15))
		return 0;
	if (!(random & 255 << 4))
		racer->base = map_now(&racer->race->map);
	return racer->base + (random & 3 << 12 ? random % 8 * racer->race->tick / 2 : HOUR);
}

/* The arms of a record end one after the other: this one had not ended before. */
static void note_end(struct racer *racer, __u32 index, __u32 generation)
{
	struct race *race = racer->race;
	__u32 ends = __atomic_fetch_add(&race->lives[index].ends, 1, __ATOMIC_RELAXED);

	CHECK(race, ends == generation - 1);
	CHECK(race, racer->nr < RECORDS);
	if (racer->nr < RECORDS)
		racer->own[racer->nr++] = index;
}

/* Returns false once the file is stopped. */
static bool arm_one(struct racer *racer)
{
	struct race *race = racer->race;
	struct hwheel_map_record *record;
	__u32 index, generation;
	int ret;

	if (!racer->nr)
		return !__atomic_load_n(&race->map.header->stopped, __ATOMIC_RELAXED);
	index = racer->own[--racer->nr];
	record = &race->map.records[index];
	generation = record->generation + 1;
	CHECK(race, __atomic_load_n(&race->lives[index].ends, __ATOMIC_RELAXED) ==
		    generation - 1);
	__atomic_store_n(&record->generation, generation, __ATOMIC_RELAXED);
	__atomic_store_n(&record->cookie, ~(__u64)generation, __ATOMIC_RELAXED);
	__atomic_store_n(&race->lives[index].id, (__u64)generation << 32 | index,
			 __ATOMIC_RELEASE);
	ret = map_arm(&race->map, racer->list, index, tagged(draw_deadline(racer), generation));
	if (!ret) {
		racer->tally.armed++;
		return true;
	}
	CHECK(race, ret == -ESHUTDOWN);
	racer->tally.refused++;
	note_end(racer, index, generation);
	return false;
}

/* Whether the word is of the arm with this id, and pending */
static bool is_pending(struct race *race, __u64 id, __u64 word)
{
	const struct hwheel_map_record *record = &race->map.records[index_of(id)];
	__u32 generation = generation_of(id);

	return (word & HWHEEL_MAP_STATE) == HWHEEL_MAP_PENDING &&
	       map_deadline(word) / 8 % TAGS == generation % TAGS &&
	       __atomic_load_n(&record->generation, __ATOMIC_RELAXED) == generation;
}

static void push_if(struct racer *racer, bool due, __u32 index)
{
	if (due)
		CHECK(racer->race, !map_tell(&racer->race->map, racer->list, index));
}

static void cancel_id(struct racer *racer, __u64 id)
{
	struct map *m = &racer->race->map;
	__u64 *word = &m->records[index_of(id)].word, old = map_load(m, index_of(id));

	do {
		if (!is_pending(racer->race, id, old)) {
			racer->tally.stale++;
			return;
		}
	} while (!map_cas(word, &old, old | HWHEEL_MAP_CANCELLED | HWHEEL_MAP_QUEUED,
			  __ATOMIC_RELEASE));
	push_if(racer, !(old & HWHEEL_MAP_QUEUED), index_of(id));
	racer->tally.cancelled++;
	note_end(racer, index_of(id), generation_of(id));
}

static void refresh_id(struct racer *racer, __u64 id)
{
	__u64 deadline = tagged(draw_deadline(racer), generation_of(id)), new;
	struct map *m = &racer->race->map;
	__u64 *word = &m->records[index_of(id)].word, old = map_load(m, index_of(id));

	do {
		if (!is_pending(racer->race, id, old)) {
			racer->tally.stale++;
			return;
		}
		new = map_word(deadline) | (old & HWHEEL_MAP_QUEUED);
		if (deadline < map_deadline(old))
			new |= HWHEEL_MAP_QUEUED;
	} while (!map_cas(word, &old, new, __ATOMIC_RELEASE));
	push_if(racer, new & ~old & HWHEEL_MAP_QUEUED, index_of(id));
	racer->tally.refreshed++;
}

/* The record stays in the ring: the reaper that comes to it notes the end. */
static void withdraw_id(struct racer *racer, __u64 id)
{
	struct map *m = &racer->race->map;
	struct hwheel_map_record *record = &m->records[index_of(id)];
	__u64 old = map_load(m, index_of(id)), generation = generation_of(id);

	do {
		if ((old & (HWHEEL_MAP_STATE | HWHEEL_MAP_WITHDRAWN)) != HWHEEL_MAP_EXPIRED ||
		    map_deadline(old) / 8 % TAGS != generation % TAGS ||
		    __atomic_load_n(&record->generation, __ATOMIC_RELAXED) != generation)
			return;
	} while (!map_cas(&record->word, &old, old | HWHEEL_MAP_WITHDRAWN, __ATOMIC_RELEASE));
	racer->tally.withdrawn++;
}

/* The id of a current or an old arm of any thread, or 0 */
static __u64 draw_id(struct racer *racer)
{
	__u64 *old = &racer->old[draw(racer) % OLD_IDS], id;

	id = __atomic_load_n(&racer->race->lives[draw(racer) % RECORDS].id, __ATOMIC_ACQUIRE);
	if (draw(racer) % 4)
		return id;
	if (!*old || draw(racer) % 4 == 0)
		*old = id;
	return *old;
}

/* The id of the next event in the ring, as far as one can see, or any other id */
static __u64 draw_event(struct racer *racer)
{
	struct map *m = &racer->race->map;
	__u64 head = __atomic_load_n(&m->header->head, __ATOMIC_RELAXED);
	struct map_event event;

	if (!map_unread(m) || !map_copy(m, head, &event) || event.index >= RECORDS)
		return draw_id(racer);
	return __atomic_load_n(&racer->race->lives[event.index].id, __ATOMIC_ACQUIRE);
}

static void note_event(struct racer *racer, const struct map_event *event)
{
	struct race *race = racer->race;

	CHECK(race, event->index < RECORDS);
	CHECK(race, event->deadline_ns / 8 % TAGS == event->generation % TAGS);
	CHECK(race, event->cookie == ~(__u64)event->generation);
	if (event->stopped)
		racer->tally.stopped++;
	else
		racer->tally.expired++;
	racer->tally.dropped += event->withdrawn;
	if (event->index < RECORDS)
		note_end(racer, event->index, event->generation);
}

/* Returns how many entries there were. */
static int reap_some(struct racer *racer)
{
	struct map_event events[32];
	int n = map_reap_all(&racer->race->map, events, 1 + draw(racer) % 32), i;

	CHECK(racer->race, n >= 0);
	for (i = 0; i < n; i++) {
		CHECK(racer->race, map_event_is_sound(&racer->race->map, &events[i]));
		note_event(racer, &events[i]);
	}
	return n;
}

/* Returns false once the file is stopped. */
static bool do_something(struct racer *racer)
{
	__u32 random = draw(racer) % 16;
	__u64 id;

	if (random < 7)
		return arm_one(racer);
	if (random < 9) {
		reap_some(racer);
		return true;
	}
	id = random < 12 || random >= 14 ? draw_id(racer) : draw_event(racer);
	if (id && random < 12)
		cancel_id(racer, id);
	else if (id && random < 14)
		withdraw_id(racer, id);
	else if (id)
		refresh_id(racer, id);
	return true;
}

static void *take_part(void *data)
{
	struct racer *racer = data;
	struct race *race = racer->race;

	racer->base = map_now(&race->map);
	while (__atomic_add_fetch(&race->done, 1, __ATOMIC_RELAXED) <= race->limit &&
	       !__atomic_load_n(&race->bad, __ATOMIC_RELAXED))
		if (!do_something(racer))
			break;
	return NULL;
}

FIXTURE(race)
{
	struct race	*race;
	struct racer	*racers;
	pthread_t	threads[MAX_THREADS];
};

FIXTURE_VARIANT(race)
{
	struct hwheel_config	config;
	unsigned int		cpus;
	unsigned int		lists;
	bool			stopped;
};

FIXTURE_VARIANT_ADD(race, shared_wheel_on_one_cpu) {
	.config = { .clock = CLOCK_MONOTONIC }, .cpus = 1, .lists = MAX_THREADS,
};

FIXTURE_VARIANT_ADD(race, shared_wheel_on_two_cpus) {
	.config = { .clock = CLOCK_MONOTONIC }, .cpus = 2, .lists = MAX_THREADS,
};

#define OWN_WHEEL { \
		.tick_ns = MSEC, .slots = 64, .kind = HWHEEL_KIND_HASHED, \
		.clock = CLOCK_MONOTONIC, \
	}

FIXTURE_VARIANT_ADD(race, own_wheel_on_one_cpu) {
	.config = OWN_WHEEL, .cpus = 1, .lists = MAX_THREADS,
};

FIXTURE_VARIANT_ADD(race, own_wheel_on_two_cpus) {
	.config = OWN_WHEEL, .cpus = 2, .lists = MAX_THREADS,
};

FIXTURE_VARIANT_ADD(race, one_list) { .config = OWN_WHEEL, .cpus = 2, .lists = 1 };

FIXTURE_VARIANT_ADD(race, stopped) {
	.config = OWN_WHEEL, .cpus = 2, .lists = MAX_THREADS, .stopped = true,
};

/* Pins this process to the first of its CPUs; -ENODEV if there are fewer. */
static int pin_to(unsigned int cpus)
{
	cpu_set_t all, some;
	int cpu;

	CPU_ZERO(&some);
	if (sched_getaffinity(0, sizeof(all), &all))
		return -errno;
	for (cpu = 0; cpu < CPU_SETSIZE && cpus; cpu++)
		if (CPU_ISSET(cpu, &all)) {
			CPU_SET(cpu, &some);
			cpus--;
		}
	if (cpus)
		return -ENODEV;
	return sched_setaffinity(0, sizeof(some), &some) ? -errno : 0;
}

/* Each thread begins with a part of the records. */
static void share_out(struct racer *racers, struct race *race, unsigned int lists)
{
	struct racer *racer;
	unsigned int i;

	for (i = 0; i < nr_threads; i++) {
		racers[i].race = race;
		racers[i].list = i % lists;
		racers[i].random = i + 1;
	}
	for (i = 0; i < RECORDS; i++) {
		racer = &racers[i % nr_threads];
		racer->own[racer->nr++] = i;
	}
}

FIXTURE_SETUP(race)
{
	struct hwheel_info info;
	int ret;

	if (!map_is_supported())
		SKIP(return, "this kernel has no mapped timeouts");
	ret = pin_to(variant->cpus);
	if (ret == -ENODEV)
		SKIP(return, "too few CPUs");
	ASSERT_EQ(0, ret);
	self->race = calloc(1, sizeof(*self->race));
	self->racers = calloc(nr_threads, sizeof(*self->racers));
	ASSERT_TRUE(self->race && self->racers);
	ASSERT_EQ(0, map_open(&self->race->map, &variant->config, RECORDS, variant->lists));
	ASSERT_EQ(0, get_info(self->race->map.fd, &info));
	self->race->tick = info.tick_ns;
	share_out(self->racers, self->race, variant->lists);
}

FIXTURE_TEARDOWN(race)
{
	EXPECT_EQ(0, map_close(&self->race->map));
	free(self->racers);
	free(self->race);
}

/* Cancels timeouts that are far away. All others have to fire. */
static int end_the_rest(struct racer *racer)
{
	struct race *race = racer->race;
	__u64 far = map_now(&race->map) + HOUR / 2;
	unsigned int left = RECORDS, i;

	for (i = 0; i < RECORDS; i++)
		if (map_state(&race->map, i) == HWHEEL_MAP_PENDING &&
		    map_deadline(map_load(&race->map, i)) > far)
			cancel_id(racer, race->lives[i].id);
	do {
		for (left = i = 0; i < RECORDS; i++)
			left += race->lives[i].ends != race->map.records[i].generation;
		if (left && readable(race->map.fd, WAIT_MS) != 1)
			return -ETIMEDOUT;
	} while (left && reap_some(racer) > 0);
	return left ? -EPROTO : 0;
}

static struct tally add_up(const struct racer *racers)
{
	struct tally sum = { 0 };
	unsigned int i;

	for (i = 0; i < nr_threads; i++) {
		sum.armed += racers[i].tally.armed;
		sum.refused += racers[i].tally.refused;
		sum.cancelled += racers[i].tally.cancelled;
		sum.refreshed += racers[i].tally.refreshed;
		sum.stale += racers[i].tally.stale;
		sum.expired += racers[i].tally.expired;
		sum.stopped += racers[i].tally.stopped;
		sum.withdrawn += racers[i].tally.withdrawn;
		sum.dropped += racers[i].tally.dropped;
	}
	return sum;
}

/* Returns what STOP returned. */
static int stop_midway(struct race *race)
{
	while (__atomic_load_n(&race->done, __ATOMIC_RELAXED) < ops / 2)
		sched_yield();
	return stop(race->map.fd);
}

TEST_F(race, each_arm_ends_once)
{
	struct race *race = self->race;
	int stopped = 0;
	struct tally sum;
	unsigned int i;

	race->limit = variant->stopped ? ULONG_MAX : ops;
	for (i = 0; i < nr_threads; i++)
		ASSERT_EQ(0, pthread_create(&self->threads[i], NULL, take_part,
					    &self->racers[i]));
	if (variant->stopped)
		stopped = stop_midway(race);
	for (i = 0; i < nr_threads; i++)
		ASSERT_EQ(0, pthread_join(self->threads[i], NULL));
	/* A value other than 0 is a line of this file. */
	ASSERT_EQ(0, race->bad);
	ASSERT_EQ(0, end_the_rest(&self->racers[0]));
	/* Some thread has records, which it can't arm any more. */
	for (i = 0; variant->stopped && i < nr_threads; i++)
		EXPECT_FALSE(arm_one(&self->racers[i]));
	ASSERT_EQ(0, race->bad);
	sum = add_up(self->racers);
	EXPECT_EQ(sum.armed, sum.cancelled + sum.expired + sum.stopped);
	EXPECT_EQ(stopped, sum.stopped);
	EXPECT_EQ(sum.withdrawn, sum.dropped);
	EXPECT_EQ(variant->stopped, sum.refused > 0);
	EXPECT_TRUE(sum.cancelled && sum.refreshed && sum.stale && sum.expired &&
		    sum.withdrawn);
	EXPECT_EQ(0, map_unread(&race->map));
	EXPECT_EQ(variant->stopped ? POLLHUP : 0, poll_all(race->map.fd));
	TH_LOG("armed %lu: cancelled %lu, expired %lu, stopped %lu; refreshed %lu; "
	       "stale %lu; withdrawn %lu; kicks %u", sum.armed, sum.cancelled, sum.expired,
	       sum.stopped, sum.refreshed, sum.stale, sum.withdrawn, race->map.kicks);
}

/* Spends a time, during which the worker may fall asleep. */
static void spin(__u64 ns)
{
	__u64 end = now_ns() + ns;

	while (now_ns() < end)
		;
}

/* No kick is lost while the worker is about to fall asleep. */
TEST_F(race, worker_falls_asleep)
{
	struct racer *racer = self->racers;
	struct map *m = &self->race->map;
	unsigned long rounds = ops / 2000 * MSEC / self->race->tick, i;

	if (variant->stopped)
		SKIP(return, "it would be the same");
	for (i = 0; i < rounds; i++) {
		unsigned int list = draw(racer) % variant->lists;

		spin(draw(racer) % 2500 * self->race->tick / 1000);
		if (draw(racer) % 4 == 0) {
			ASSERT_EQ(0, map_arm(m, list, 1, NEVER));
			ASSERT_EQ(0, map_cancel(m, list, 1));
		}
		ASSERT_EQ(0, map_arm(m, list, 0, 0));
		ASSERT_EQ(0, map_expect(m, 0, 0));
	}
	TH_LOG("%u kicks in %lu rounds", m->kicks, rounds);
}

/* The harness has a main() of its own, which ignores these arguments. */
#define main harness_main
TEST_HARNESS_MAIN
#undef main

int main(int argc, char **argv)
{
	if (argc > 1 && argv[1][0] != '-')
		ops = strtoul(argv[1], NULL, 0);
	if (argc > 2 && argv[2][0] != '-')
		nr_threads = strtoul(argv[2], NULL, 0);
	if (!ops || !nr_threads || nr_threads > MAX_THREADS)
		ksft_exit_fail_msg("usage: map_race_test [OPS [THREADS (1 to %d)]]\n",
				   MAX_THREADS);
	return harness_main(argc, argv);
}
