// SPDX-License-Identifier: GPL-2.0-only
/*
 * libhwheel: a handle that several threads use, signals, and processes that fork. With -v local it
 * needs no module.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"

/* For tests whose threads wait for each other: a machine may be busy with other things. */
#define BUSY_S	300

/* Processes */

/* All that a child does with a handle whose timeouts are its parent's alone */
static int be_refused(struct hwheel *wheel, uint64_t id)
{
	struct hwheel_event event;
	uint64_t other = id;

	if (hwheel_arm(wheel, 0, 1, &other) != -EBADF ||
	    hwheel_arm_at(wheel, 0, 1, &other) != -EBADF ||
	    hwheel_set(wheel, &other, 0, 1) != -EBADF ||
	    hwheel_set_at(wheel, &other, 0, 1) != -EBADF || other != id)
		return 1;
	if (hwheel_cancel(wheel, id) != -EBADF || hwheel_withdraw(wheel, id) != -EBADF ||
	    hwheel_refresh(wheel, id, 0) != -EBADF || hwheel_refresh_at(wheel, id, 0) != -EBADF)
		return 2;
	if (hwheel_query(wheel, id, NULL, NULL) != -EBADF || hwheel_map(wheel, 1) != -EBADF)
		return 3;
	if (hwheel_next_events(wheel, &event, 1) != -EBADF || hwheel_stop(wheel) != -EBADF)
		return 4;
	return 0;
}

static int submit_in_child(struct hwheel *wheel, struct hwheel_batch *batch)
{
	hwheel_batch_arm(batch, 0, 1);
	return hwheel_submit(wheel, batch) == -EBADF ? 0 : 5;
}

/* Its own handle works. */
static int use_own(const struct _fixture_variant_place *place)
{
	struct hwheel *own;
	uint64_t id;

	if (open_place(place, 0, NULL, &own) || hwheel_arm(own, 0, 9, &id) ||
	    next_event(own).cookie != 9)
		return 6;
	return hwheel_close(own) ? 7 : 0;
}

/* A handle that works by system calls is the child's as well. */
static int use_shared(struct hwheel *wheel, uint64_t id)
{
	return hwheel_cancel(wheel, id) || hwheel_arm(wheel, 0, 8, &id) ? 8 : 0;
}

static int wait_for_child(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid ? status : -1;
}

/* The parent's timeouts go on, whatever the child does. */
TEST_F(place, a_child)
{
	bool shared = !variant->mapped && !is_local(variant);
	uint64_t id, soon;
	pid_t pid;

	ASSERT_EQ(0, hwheel_arm(self->wheel, HOUR, 7, &id));
	if (!shared)
		ASSERT_EQ(0, hwheel_arm(self->wheel, 50 * MSEC, 8, &soon));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		int wrong = shared ? use_shared(self->wheel, id) :
				     be_refused(self->wheel, id) ?:
				     submit_in_child(self->wheel, self->batch);

		_exit(wrong ?: use_own(variant) ?: hwheel_close(self->wheel) ? 9 : 0);
	}
	ASSERT_EQ(0, wait_for_child(pid));
	/* Before a call reads the clock: a timerfd that the child had disarmed would not ring. */
	await_event(self->wheel);
	EXPECT_EQ(8, next_event(self->wheel).cookie);
	EXPECT_EQ(shared ? -ENOENT : 0, hwheel_cancel(self->wheel, id));
	ASSERT_EQ(0, hwheel_arm(self->wheel, 0, 9, &id));
	EXPECT_EQ(id, next_event(self->wheel).id);
}

/* What fork() would have called for the child is not called. */
TEST_F(place, a_child_without_fork)
{
	uint64_t id;
	long pid;

	if (!is_local(variant))
		SKIP(return, "the library counts on fork() there");
	ASSERT_EQ(0, hwheel_arm(self->wheel, HOUR, 7, &id));
	pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(be_refused(self->wheel, id));
	ASSERT_EQ(0, wait_for_child((pid_t)pid));
	EXPECT_EQ(0, hwheel_cancel(self->wheel, id));
}

/* Other threads hold the lock of a local handle most of the time, and have no part in the child. */

struct busy {
	struct hwheel *wheel;
	bool over;
};

static void *keep_busy(void *data)
{
	struct busy *busy = data;
	uint64_t id;

	while (!__atomic_load_n(&busy->over, __ATOMIC_RELAXED))
		if (!hwheel_arm(busy->wheel, HOUR, 1, &id))
			hwheel_cancel(busy->wheel, id);
	return NULL;
}

TEST_F_TIMEOUT(place, children_beside_busy_threads, BUSY_S)
{
	struct busy busy = { .wheel = self->wheel };
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, keep_busy, &busy));
	for (int i = 0; i < 50; i++) {
		pid_t pid = fork();

		if (!pid)
			_exit(use_own(variant) ?: hwheel_close(self->wheel) ? 9 : 0);
		ASSERT_LT(0, pid);
		ASSERT_EQ(0, wait_for_child(pid));
	}
	__atomic_store_n(&busy.over, true, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_join(threads[i], NULL));
	EXPECT_EQ(0, hwheel_stop(self->wheel));
}

/* Each arm ends exactly once, whoever cancels, refreshes, reaps and stops. */

#define TIMEOUTS	512
#define PLAYERS		4
#define TURNS		100000

struct game {
	struct hwheel *wheel;
	uint64_t ids[TIMEOUTS];		/* of each object; any player takes it */
	uint64_t armed, cancelled, withdrawn, expired, stopped, early, odd;
	bool over;
};

struct player {
	struct game *game;
	uint64_t random;
};

static uint64_t draw(struct player *player, uint64_t below)
{
	player->random = player->random * 6364136223846793005ULL + 1442695040888963407ULL;
	return (player->random >> 33) % below;
}

static void count(uint64_t *counter, uint64_t n)
{
	__atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}

static void play_arm(struct player *player)
{
	struct game *game = player->game;
	uint64_t id, delay = draw(player, 3) ? draw(player, 20 * MSEC) : HOUR;
	int error = hwheel_arm(game->wheel, delay, draw(player, UINT32_MAX), &id);

	if (error == -ESHUTDOWN || error == -ENOSPC)
		return;
	count(error ? &game->odd : &game->armed, 1);
	__atomic_store_n(&game->ids[draw(player, TIMEOUTS)], id, __ATOMIC_RELAXED);
}

static void play_cancel(struct player *player)
{
	struct game *game = player->game;
	uint64_t id = __atomic_load_n(&game->ids[draw(player, TIMEOUTS)], __ATOMIC_RELAXED);
	int error = hwheel_cancel(game->wheel, id);

	if (error != -ENOENT)
		count(error ? &game->odd : &game->cancelled, 1);
}

static void play_withdraw(struct player *player)
{
	struct game *game = player->game;
	uint64_t id = __atomic_load_n(&game->ids[draw(player, TIMEOUTS)], __ATOMIC_RELAXED);
	int error = hwheel_withdraw(game->wheel, id);

	if (error != -ENOENT)
		count(error ? &game->odd : &game->withdrawn, 1);
}

static void play_refresh(struct player *player)
{
	struct game *game = player->game;
	uint64_t id = __atomic_load_n(&game->ids[draw(player, TIMEOUTS)], __ATOMIC_RELAXED);
	int error = hwheel_refresh(game->wheel, id, draw(player, 40 * MSEC));

	if (error && error != -ENOENT)
		count(&game->odd, 1);
}

static int play_reap(struct game *game)
{
	struct hwheel_event events[32];
	int n = hwheel_next_events(game->wheel, events, 32);

	for (int i = 0; i < n; i++) {
		bool stopped = events[i].type == HWHEEL_EVENT_STOPPED;

		count(stopped ? &game->stopped : &game->expired, 1);
		count(&game->early, !stopped && events[i].fired_ns < events[i].deadline_ns);
	}
	return n;
}

static void *play(void *data)
{
	struct player *player = data;

	for (int i = 0; i < TURNS && !__atomic_load_n(&player->game->over, __ATOMIC_RELAXED); i++) {
		switch (draw(player, 9)) {
		case 0 ... 2:
			play_arm(player);
			break;
		case 3 ... 4:
			play_cancel(player);
			break;
		case 5 ... 6:
			play_refresh(player);
			break;
		case 7:
			play_withdraw(player);
			break;
		default:
			play_reap(player->game);
		}
	}
	return NULL;
}

static int game_begin(struct game *game, struct player *players, pthread_t *threads)
{
	int error = 0;

	for (int i = 0; i < PLAYERS && !error; i++) {
		players[i] = (struct player){ .game = game, .random = i };
		error = pthread_create(&threads[i], NULL, play, &players[i]);
	}
	return error;
}

/* Stops in the middle of it, or at the end. */
static void game_end(struct game *game, pthread_t *threads, bool early)
{
	if (early) {
		while (__atomic_load_n(&game->armed, __ATOMIC_RELAXED) < TURNS / 8)
			sched_yield();
		hwheel_stop(game->wheel);
		__atomic_store_n(&game->over, true, __ATOMIC_RELAXED);
	}
	for (int i = 0; i < PLAYERS; i++)
		pthread_join(threads[i], NULL);
	hwheel_stop(game->wheel);
	while (play_reap(game) > 0)
		;
}

static void play_whole(struct __test_metadata *_metadata, struct hwheel *wheel, bool early)
{
	struct game game = { .wheel = wheel };
	struct player players[PLAYERS];
	pthread_t threads[PLAYERS];
	struct hwheel_event event;

	ASSERT_EQ(0, game_begin(&game, players, threads));
	game_end(&game, threads, early);
	EXPECT_EQ(0, hwheel_next_events(wheel, &event, 1));
	EXPECT_LT(0, game.armed);
	EXPECT_LT(0, game.cancelled);
	EXPECT_LT(0, game.withdrawn);
	EXPECT_EQ(game.armed, game.cancelled + game.withdrawn + game.expired + game.stopped);
	EXPECT_EQ(0, game.early);
	EXPECT_EQ(0, game.odd);
}

TEST_F_TIMEOUT(place, each_arm_ends_once, BUSY_S)
{
	play_whole(_metadata, self->wheel, false);
}

TEST_F_TIMEOUT(place, each_arm_ends_once_when_stopped, BUSY_S)
{
	for (int i = 0; i < 20; i++) {
		struct hwheel *wheel;

		ASSERT_EQ(0, open_place(variant, HWHEEL_NONBLOCK, NULL, &wheel));
		play_whole(_metadata, wheel, true);
		EXPECT_EQ(0, hwheel_close(wheel));
	}
}

/*
 * Several threads set one variable. Whoever is first, one timeout is left, that of the variable.
 * Where that takes system calls, they have a lock.
 */

#define SETTERS		3
#define SET_ROUNDS	5000

struct set_race {
	struct hwheel *wheel;
	uint64_t id;
	pthread_barrier_t barrier;
	pthread_mutex_t *lock;	/* or NULL */
	bool fires, stops;
	uint64_t wrong, refused, events;
};

/* Between two barriers each sets it once: far away, or at once. */
static void *set_in_turns(void *data)
{
	struct set_race *race = data;
	uint64_t delay = race->fires ? 0 : HOUR;

	for (int i = 0; i < SET_ROUNDS; i++) {
		int error;

		pthread_barrier_wait(&race->barrier);
		if (race->lock)
			pthread_mutex_lock(race->lock);
		error = hwheel_set(race->wheel, &race->id, delay, 7);
		if (race->lock)
			pthread_mutex_unlock(race->lock);
		count(&race->refused, error == -ESHUTDOWN);
		count(&race->wrong, error && !(race->stops && error == -ESHUTDOWN));
		pthread_barrier_wait(&race->barrier);
	}
	return NULL;
}

static int set_race_begin(struct set_race *race, const struct _fixture_variant_place *place,
			  pthread_t *threads)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	int error = pthread_barrier_init(&race->barrier, NULL, SETTERS + 1);

	if (!place->mapped && !is_local(place))
		race->lock = &lock;
	for (int i = 0; i < SETTERS && !error; i++)
		error = pthread_create(&threads[i], NULL, set_in_turns, race);
	return error;
}

static void set_race_end(struct set_race *race, pthread_t *threads)
{
	for (int i = 0; i < SETTERS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&race->barrier);
}

/* In each round the threads find no timeout, one that is pending, or an event that is not taken. */
TEST_F_TIMEOUT(place, set_by_several_threads, BUSY_S)
{
	struct set_race race = { .wheel = self->wheel };
	struct hwheel_event event;
	pthread_t threads[SETTERS];
	uint64_t fired;

	ASSERT_EQ(0, set_race_begin(&race, variant, threads));
	for (int i = 0; i < SET_ROUNDS; i++) {
		fired = 0;
		if (i % 3 == 1) {
			ASSERT_EQ(0, hwheel_set(self->wheel, &race.id, HOUR, 7));
		} else if (i % 30 == 2) {
			ASSERT_EQ(0, hwheel_set(self->wheel, &race.id, 0, 7));
			fired = race.id;
			await_event(self->wheel);
		}
		pthread_barrier_wait(&race.barrier);
		pthread_barrier_wait(&race.barrier);
		ASSERT_EQ(HWHEEL_STATE_PENDING, hwheel_query(self->wheel, race.id, NULL, NULL));
		ASSERT_NE(fired, race.id);
		ASSERT_TRUE(!fired || hwheel_next_events(self->wheel, &event, 1) == -EAGAIN);
		ASSERT_EQ(0, hwheel_withdraw(self->wheel, race.id));
	}
	set_race_end(&race, threads);
	EXPECT_EQ(0, race.wrong);
	/* In each round one was left. */
	EXPECT_EQ(0, hwheel_stop(self->wheel));
}

/* The timeouts expire at once: each event that comes is of an id that stood in the variable. */
static void *reap_in_set_race(void *data)
{
	struct set_race *race = data;
	struct hwheel_event event;
	int n;

	while ((n = next_events(race->wheel, &event, 1)) > 0)
		count(&race->events, 1);
	return NULL;
}

TEST_F_TIMEOUT(place, set_beside_a_reader_and_a_stop, BUSY_S)
{
	struct set_race race = { .fires = true, .stops = true };
	pthread_t threads[SETTERS], reader;
	uint64_t id = 0;

	ASSERT_EQ(0, open_place(variant, HWHEEL_NONBLOCK, NULL, &race.wheel));
	ASSERT_EQ(0, pthread_create(&reader, NULL, reap_in_set_race, &race));
	ASSERT_EQ(0, set_race_begin(&race, variant, threads));
	for (int i = 0; i < SET_ROUNDS; i++) {
		if (i == SET_ROUNDS / 2)
			ASSERT_LE(0, hwheel_stop(race.wheel));
		pthread_barrier_wait(&race.barrier);
		pthread_barrier_wait(&race.barrier);
	}
	set_race_end(&race, threads);
	/* The reader finds the end: no event is left, and nothing is pending. */
	ASSERT_EQ(0, pthread_join(reader, NULL));
	EXPECT_EQ(0, race.wrong);
	EXPECT_LT(0, race.refused);
	EXPECT_LT(0, race.events);
	EXPECT_EQ(0, hwheel_stop(race.wheel));
	EXPECT_EQ(-ESHUTDOWN, hwheel_set(race.wheel, &id, HOUR, 0));
	EXPECT_EQ(0, id);
	EXPECT_EQ(0, hwheel_close(race.wheel));
}

static void *wait_for_all(void *data)
{
	struct game *game = data;

	while (play_reap(game) > 0)
		;
	return NULL;
}

TEST_F(place, several_threads_wait)
{
	struct game game = { 0 };
	pthread_t threads[3];
	uint64_t id;

	ASSERT_EQ(0, open_place(variant, 0, NULL, &game.wheel));
	for (int i = 0; i < 3; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, wait_for_all, &game));
	for (int i = 0; i < MANY; i++)
		ASSERT_EQ(0, hwheel_arm(game.wheel, i % 30 * MSEC, i, &id));
	ASSERT_EQ(0, hwheel_arm(game.wheel, HOUR, MANY, &id));
	while (__atomic_load_n(&game.expired, __ATOMIC_RELAXED) < MANY)
		sched_yield();
	/* They learn of the end. */
	EXPECT_EQ(1, hwheel_stop(game.wheel));
	for (int i = 0; i < 3; i++)
		ASSERT_EQ(0, pthread_join(threads[i], NULL));
	EXPECT_EQ(MANY, game.expired);
	EXPECT_EQ(1, game.stopped);
	EXPECT_EQ(0, hwheel_close(game.wheel));
}

/*
 * In a small ring the worker comes round soon. Each thread arms again what it takes, and notes
 * the arms and the events of each cookie.
 */

#define FEW		64
#define CIRCLES		4
#define TAKEN		100000

struct circle {
	struct hwheel *wheel;
	unsigned int pending[FEW];	/* of each cookie */
	unsigned long taken, wrong;
};

static void again(struct circle *circle, uint64_t cookie)
{
	uint64_t id;
	int error;

	if (__atomic_fetch_add(&circle->pending[cookie], 1, __ATOMIC_SEQ_CST))
		__atomic_fetch_add(&circle->wrong, 1, __ATOMIC_RELAXED);
	/* Other threads may have the free records. */
	while ((error = hwheel_arm_at(circle->wheel, 1, cookie, &id)) == -ENOSPC)
		sched_yield();
	if (error)
		__atomic_fetch_add(&circle->wrong, 1, __ATOMIC_RELAXED);
}

static void take_and_arm(struct circle *circle, const struct hwheel_event *event)
{
	if (event->cookie >= FEW ||
	    __atomic_fetch_sub(&circle->pending[event->cookie], 1, __ATOMIC_SEQ_CST) != 1)
		__atomic_fetch_add(&circle->wrong, 1, __ATOMIC_RELAXED);
	else
		again(circle, event->cookie);
}

static void *go_round(void *data)
{
	struct circle *circle = data;
	struct hwheel_event events[FEW];
	int n;

	while (__atomic_load_n(&circle->taken, __ATOMIC_RELAXED) < TAKEN &&
	       !__atomic_load_n(&circle->wrong, __ATOMIC_RELAXED)) {
		n = hwheel_next_events(circle->wheel, events, FEW);
		for (int i = 0; i < n; i++)
			take_and_arm(circle, &events[i]);
		if (n > 0)
			__atomic_fetch_add(&circle->taken, (unsigned long)n, __ATOMIC_RELAXED);
	}
	return NULL;
}

TEST_F_TIMEOUT(place, the_ring_comes_round, BUSY_S)
{
	const struct hwheel_config config = {
		.kind = HWHEEL_KIND_HASHED, .tick_ns = 50000, .clock = CLOCK_MONOTONIC,
		.max_timeouts = FEW,
	};
	struct circle circle = { 0 };
	pthread_t threads[CIRCLES];

	ASSERT_EQ(0, open_place(variant, HWHEEL_NONBLOCK, &config, &circle.wheel));
	for (uint64_t cookie = 0; cookie < FEW; cookie++)
		again(&circle, cookie);
	for (int i = 0; i < CIRCLES; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, go_round, &circle));
	for (int i = 0; i < CIRCLES; i++)
		ASSERT_EQ(0, pthread_join(threads[i], NULL));
	EXPECT_EQ(0, circle.wrong);
	EXPECT_LE(TAKEN, circle.taken);
	EXPECT_EQ(0, hwheel_close(circle.wheel));
}

static void ignore(int signal)
{
	(void)signal;
}

TEST_F(place, a_signal_ends_the_wait)
{
	const struct sigaction action = { .sa_handler = ignore };
	/* Again and again, as the first may come before the wait. */
	const struct itimerspec often = {
		.it_value.tv_nsec = 20 * MSEC, .it_interval.tv_nsec = 20 * MSEC,
	};
	struct sigevent how = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM };
	struct hwheel_event event;
	struct hwheel *wheel;
	timer_t timer;

	ASSERT_EQ(0, open_place(variant, 0, NULL, &wheel));
	ASSERT_EQ(0, sigaction(SIGALRM, &action, NULL));
	ASSERT_EQ(0, timer_create(CLOCK_MONOTONIC, &how, &timer));
	ASSERT_EQ(0, timer_settime(timer, 0, &often, NULL));
	EXPECT_EQ(-EINTR, hwheel_next_events(wheel, &event, 1));
	EXPECT_EQ(0, timer_delete(timer));
	EXPECT_EQ(0, hwheel_close(wheel));
}

/*
 * Events that another thread takes, matched by cookie as the header tells: what the object's
 * lock protects is right whenever the lock is held.
 */

#define OBJECTS	20000

struct object {
	pthread_mutex_t lock;
	uint64_t id;
	int events;
	int wrong;
};

struct taker {
	struct hwheel *wheel;
	int left;
};

static void take_event(const struct hwheel_event *event)
{
	struct object *object = (struct object *)(uintptr_t)event->cookie;

	pthread_mutex_lock(&object->lock);
	object->events++;
	object->wrong += object->id != event->id;
	pthread_mutex_unlock(&object->lock);
}

static void *take_events(void *data)
{
	struct taker *taker = data;
	struct pollfd poll_fd = { .fd = hwheel_fd(taker->wheel), .events = POLLIN };
	struct hwheel_event events[16];

	while (taker->left > 0) {
		int count = hwheel_next_events(taker->wheel, events, 16);

		if (count == -EAGAIN)
			poll(&poll_fd, 1, -1);
		else if (count <= 0)
			break;
		for (int i = 0; i < count; i++)
			take_event(&events[i]);
		taker->left -= count > 0 ? count : 0;
	}
	return NULL;
}

static struct object *make_objects(void)
{
	struct object *objects = calloc(OBJECTS, sizeof(*objects));

	for (int i = 0; objects && i < OBJECTS; i++)
		pthread_mutex_init(&objects[i].lock, NULL);
	return objects;
}

/* Each by itself; they are due at once. */
static int arm_one_by_one(struct hwheel *wheel, struct object *objects)
{
	int error = 0;

	for (int i = 0; !error && i < OBJECTS; i++) {
		struct object *object = &objects[i];

		pthread_mutex_lock(&object->lock);
		error = hwheel_arm(wheel, 0, (uintptr_t)object, &object->id);
		pthread_mutex_unlock(&object->lock);
	}
	return error;
}

#define SIZE	40

static int arm_batch(struct hwheel *wheel, struct hwheel_batch *batch, struct object *objects)
{
	int done;

	hwheel_batch_clear(batch);
	for (int i = 0; i < SIZE; i++) {
		hwheel_batch_arm(batch, 0, (uintptr_t)&objects[i]);
		pthread_mutex_lock(&objects[i].lock);
	}
	done = hwheel_submit(wheel, batch);
	for (int i = 0; i < SIZE; i++) {
		objects[i].id = hwheel_batch_id(batch, i);
		pthread_mutex_unlock(&objects[i].lock);
	}
	return done == SIZE ? 0 : -EPROTO;
}

static int count_wrong(const struct object *objects)
{
	int wrong = 0;

	for (int i = 0; i < OBJECTS; i++)
		wrong += objects[i].events != 1 || objects[i].wrong;
	return wrong;
}

TEST_F(place, events_of_another_thread)
{
	struct object *objects = make_objects();
	struct taker taker = { .wheel = self->wheel, .left = OBJECTS };
	pthread_t thread;

	ASSERT_NE(NULL, objects);
	ASSERT_EQ(0, pthread_create(&thread, NULL, take_events, &taker));
	EXPECT_EQ(0, arm_one_by_one(self->wheel, objects));
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(0, count_wrong(objects));
	free(objects);
}

TEST_F(place, events_of_another_thread_s_batches)
{
	struct object *objects = make_objects();
	struct taker taker = { .wheel = self->wheel, .left = OBJECTS };
	pthread_t thread;

	ASSERT_NE(NULL, objects);
	ASSERT_EQ(0, pthread_create(&thread, NULL, take_events, &taker));
	for (int i = 0; i < OBJECTS; i += SIZE)
		EXPECT_EQ(0, arm_batch(self->wheel, self->batch, objects + i));
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(0, count_wrong(objects));
	free(objects);
}

TEST_HARNESS_MAIN
