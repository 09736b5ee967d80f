// SPDX-License-Identifier: GPL-2.0-only
/*
 * Programs write rubbish into their mapped memory, or keep the worker busy with very many
 * timeouts: timeouts of others are not late for that.
 */

#include "../abi/victim.h"

#define ATTACKERS	2
#define THREADS		2
#define LISTS		4

/* An attacker closes its file after this time and opens the next one. */
#define LIFE_NS		(200 * MSEC)

/* A thread kicks after so many scribbles. */
#define BURST		256

struct attack;

/**
 * struct scribbler - a thread of an attacker
 * @map:    what it writes to; KICK needs the file
 * @attack: what it belongs to
 * @random: its own sequence
 * @nr:     its number
 */
struct scribbler {
	struct map	*map;
	struct attack	*attack;
	__u64		random;
	unsigned int	nr;
};

/**
 * struct attack - a process that attacks, seen by both sides
 * @scribble: writes something; -1 if the worker has given the file up
 * @records:  of each of its files
 * @opened:   how many files there were
 * @bursts:   how often its threads have come round
 * @end:      the threads are to end
 */
struct attack {
	int		(*scribble)(struct scribbler *scribbler);
	__u32		records;
	unsigned long	opened;
	unsigned long	bursts;
	bool		end;
};

static __u64 draw(struct scribbler *scribbler)
{
	scribbler->random = scribbler->random * 6364136223846793005ULL +
			    1442695040888963407ULL;
	return scribbler->random ^ scribbler->random >> 29;
}

static void store32(__u32 *where, __u32 value)
{
	__atomic_store_n(where, value, __ATOMIC_RELAXED);
}

static void store64(__u64 *where, __u64 value)
{
	__atomic_store_n(where, value, __ATOMIC_RELAXED);
}

/* Writes a random word anywhere. */
static int scribble_anywhere(struct scribbler *scribbler)
{
	__u64 *words = (void *)scribbler->map->base;
	size_t n = scribbler->map->layout.size / sizeof(*words);

	store64(&words[draw(scribbler) % n], draw(scribbler));
	return 0;
}

static __u32 draw_record(struct scribbler *scribbler)
{
	return draw(scribbler) % scribbler->map->layout.records;
}

/* A value for a head or a link, mostly of a record */
static __u32 draw_link(struct scribbler *scribbler)
{
	switch (draw(scribbler) % 16) {
	case 0:
		return draw(scribbler);
	case 1:
		return HWHEEL_MAP_ASLEEP;
	case 2:
	case 3:
		return 0;
	default:
		return draw_record(scribbler) + 1;
	}
}

/* A word with any state, and a deadline about now */
static __u64 draw_word(struct scribbler *scribbler)
{
	__u64 deadline = map_now(scribbler->map) + draw(scribbler) % (30 * MSEC);

	return map_word(draw(scribbler) % 8 ? deadline : 0) | (draw(scribbler) & 7);
}

static int scribble_words(struct scribbler *scribbler)
{
	store64(&scribbler->map->records[draw_record(scribbler)].word, draw_word(scribbler));
	return 0;
}

static int scribble_links(struct scribbler *scribbler)
{
	struct map *m = scribbler->map;

	scribble_words(scribbler);
	if (draw(scribbler) % 4)
		store32(&m->records[draw_record(scribbler)].link, draw_link(scribbler));
	else
		store32(&m->lists[draw(scribbler) % LISTS].head, draw_link(scribbler));
	return 0;
}

static int scribble_ring(struct scribbler *scribbler)
{
	struct map *m = scribbler->map;

	map_arm(m, scribbler->nr % LISTS, draw_record(scribbler), 0);
	switch (draw(scribbler) % 4) {
	case 0:
		store64(&m->header->head, m->header->tail - draw(scribbler) % 16);
		break;
	case 1:
		store64(&m->header->tail, draw(scribbler));
		break;
	case 2:
		store32(&m->header->stopped, 0);
		break;
	default:
		store32(&m->ring[draw(scribbler) % m->layout.ring_size], draw(scribbler));
	}
	store64(&m->records[draw_record(scribbler)].word, HWHEEL_MAP_IDLE);
	return 0;
}

/* Makes a cycle of all records. */
static int scribble_cycles(struct scribbler *scribbler)
{
	struct map *m = scribbler->map;
	__u32 i;

	for (i = 0; i < m->layout.records; i++)
		store32(&m->records[i].link, i ? i : m->layout.records);
	store32(&m->lists[scribbler->nr % LISTS].head, 1 + draw_record(scribbler));
	map_kick(m);
	return poll_all(m->fd) & POLLERR ? -1 : 0;
}

/*
 * Arms and cancels all records by turns, as the protocol allows: the worker has to file or
 * drop all of them at each edge.
 */
static int use_all(struct scribbler *scribbler)
{
	struct map *m = scribbler->map;
	__u32 i;

	for (i = scribbler->nr; i < m->layout.records; i += THREADS)
		if (map_cancel(m, scribbler->nr, i))
			map_arm(m, scribbler->nr, i, map_now(m) + HOUR + draw(scribbler) % HOUR);
	return 0;
}

/* Makes all records expire at each edge, and reaps them. */
static int expire_all(struct scribbler *scribbler)
{
	struct map *m = scribbler->map;
	struct map_event events[64];
	__u32 i;

	for (i = scribbler->nr; i < m->layout.records; i += THREADS)
		map_arm(m, scribbler->nr, i, 0);
	while (map_reap(m, events, 64) > 0)
		;
	return 0;
}

/* The attackers' processes */

static bool goes_on(const struct attack *attack)
{
	return !__atomic_load_n(&attack->end, __ATOMIC_RELAXED);
}

static void *scribble_on(void *data)
{
	struct scribbler *scribbler = data;
	struct attack *attack = scribbler->attack;
	int i, ret = 0;

	while (!ret && goes_on(attack)) {
		for (i = 0; !ret && i < BURST && goes_on(attack); i++)
			ret = attack->scribble(scribbler);
		map_kick(scribbler->map);
		__atomic_add_fetch(&attack->bursts, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* Ends the threads when the worker has given the file up, or after LIFE_NS. */
static void await_end_of_life(struct attack *attack, const struct map *m)
{
	struct pollfd pfd = { .fd = m->fd };

	poll(&pfd, 1, LIFE_NS / MSEC);
	__atomic_store_n(&attack->end, true, __ATOMIC_RELAXED);
}

static int attack_by_one_file(struct attack *attack)
{
	struct scribbler scribblers[THREADS];
	pthread_t threads[THREADS];
	struct map map;
	int ret = map_open_shared(&map, attack->records, LISTS), i;

	if (ret)
		return ret;
	attack->end = false;
	for (i = 0; i < THREADS; i++) {
		scribblers[i] = (struct scribbler){
			.map = &map, .attack = attack, .random = attack->opened, .nr = i,
		};
		if (pthread_create(&threads[i], NULL, scribble_on, &scribblers[i]))
			return -EAGAIN;
	}
	await_end_of_life(attack, &map);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	if (++attack->opened % 2)
		stop(map.fd);
	return map_close(&map);
}

static int attack_on(struct attack *attack)
{
	int ret;

	do
		ret = attack_by_one_file(attack);
	while (!ret);
	return ret;
}

FIXTURE(scribble)
{
	struct victim	*victim;
	struct attack	*attacks;
	pid_t		pids[ATTACKERS];
	long		users;
};

FIXTURE_VARIANT(scribble)
{
	int		(*scribble)(struct scribbler *scribbler);
	__u32		records;
};

FIXTURE_VARIANT_ADD(scribble, anywhere) { .scribble = scribble_anywhere, .records = 1000 };
FIXTURE_VARIANT_ADD(scribble, words) { .scribble = scribble_words, .records = 1000 };
FIXTURE_VARIANT_ADD(scribble, links) { .scribble = scribble_links, .records = 20000 };
FIXTURE_VARIANT_ADD(scribble, ring) { .scribble = scribble_ring, .records = 1000 };
FIXTURE_VARIANT_ADD(scribble, cycles) { .scribble = scribble_cycles, .records = 60000 };
FIXTURE_VARIANT_ADD(scribble, use_all) { .scribble = use_all, .records = 60000 };
FIXTURE_VARIANT_ADD(scribble, expire_all) { .scribble = expire_all, .records = 60000 };

FIXTURE_SETUP(scribble)
{
	if (!map_is_supported())
		SKIP(return, "this kernel has no mapped timeouts");
	if (geteuid())
		SKIP(return, "needs root, to be several users");
	self->users = users_of_module();
	self->attacks = map_shared(ATTACKERS * sizeof(*self->attacks));
	self->victim = map_shared(sizeof(*self->victim));
	ASSERT_NE(NULL, self->attacks);
	ASSERT_NE(NULL, self->victim);
}

FIXTURE_TEARDOWN(scribble)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(self->pids); i++)
		kill_attacker(&self->pids[i]);
	EXPECT_EQ(0, await_users(self->users));
}

/* Returns when each of the attackers is at work. */
static int start_attacks(struct attack *attacks, pid_t *pids)
{
	__u64 bound = now_ns() + WAIT_MS * MSEC;
	size_t i;

	for (i = 0; i < ATTACKERS; i++) {
		pids[i] = START_CHILD(become_attacker(A_USER, i) ?: attack_on(&attacks[i]));
		while (!__atomic_load_n(&attacks[i].bursts, __ATOMIC_RELAXED)) {
			if (now_ns() > bound)
				return -ETIMEDOUT;
			sched_yield();
		}
	}
	return 0;
}

TEST_F(scribble, delays_nobody_else)
{
	size_t i;

	for (i = 0; i < ATTACKERS; i++)
		self->attacks[i] = (struct attack){
			.scribble = variant->scribble, .records = variant->records,
		};
	ASSERT_EQ(0, start_attacks(self->attacks, self->pids));
	ASSERT_EQ(0, measure_victim(A_USER, self->victim));
	for (i = 0; i < ATTACKERS; i++) {
		EXPECT_EQ(0, waitpid(self->pids[i], NULL, WNOHANG));
		EXPECT_LT(0, self->attacks[i].opened);
	}
	show_victim(_metadata, self->victim);
	EXPECT_TRUE(is_unharmed(self->victim));
	TH_LOG("%lu and %lu files, %lu and %lu bursts", self->attacks[0].opened,
	       self->attacks[1].opened, self->attacks[0].bursts, self->attacks[1].bursts);
}

TEST_HARNESS_MAIN
