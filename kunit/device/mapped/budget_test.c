// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long the worker works for mapped files, in simulated time: a probe makes each record that
 * it acts on take its time.
 */
#include <linux/tracepoint.h>

#include "map_sim.h"

#include "device/file_trace.h"
#include "device/mapped/node.h"

/* A batch takes a quarter of a tick, and a little more. */
#define RECORD_US	10
#define BATCH		HWHEEL_MAP_BATCH

#define UID		123456

static void take_time(void *us, const struct hwheel *wheel, struct hwheel_mapping *mapping,
		      u32 index, u64 word)
{
	sim_stall((unsigned long)us * NSEC_PER_USEC);
}

static int probe_init(struct kunit_resource *res, void *us)
{
	res->data = us;
	return register_trace_mapped_act(take_time, us);
}

static void probe_free(struct kunit_resource *res)
{
	unregister_trace_mapped_act(take_time, res->data);
	tracepoint_synchronize_unregister();
}

/* Until the test ends */
static void make_slow(struct kunit *test, unsigned long us)
{
	if (!IS_ENABLED(CONFIG_TRACEPOINTS))
		kunit_skip(test, "needs tracepoints");
	KUNIT_ASSERT_NOT_NULL(test, kunit_alloc_resource(test, probe_init, probe_free,
							 GFP_KERNEL, (void *)us));
}

/* As map_file_on(), of another user */
static struct hwheel_file *file_of(struct kunit *test, struct hwheel *wheel, unsigned int uid,
				   u32 records)
{
	struct hwheel_file *file = map_file_open(test, wheel);

	hwheel_account_put(file->account);
	file->account = account_of(uid);
	KUNIT_ASSERT_NOT_NULL(test, file->account);
	file->wait.account = file->account;
	KUNIT_ASSERT_EQ(test, map_more(file, records, 2), 0);
	return file;
}

static void arm_many(struct hwheel_file *file, u32 nr, u64 deadline)
{
	while (nr--)
		map_arm_on(file, nr % 2, nr, deadline);
}

static void arm_on_first(struct hwheel_file *file, u32 first, u32 nr)
{
	u32 i;

	for (i = first; i < first + nr; i++)
		map_arm(file, i, HWHEEL_NEVER);
}

/* Between two edges, when the worker has done what there was time for */
static void pass_half(const struct hwheel *wheel, u64 edge)
{
	test_sleep_until(wheel, sim_edge_time(wheel, edge) + wheel->tick * 9 / 10);
}

static u64 drained(struct hwheel_file *file)
{
	return READ_ONCE(file->mapping->source.counts.drained);
}

static void user_has_a_quarter_of_a_tick(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, 4 * BATCH);
	int i;

	make_slow(test, RECORD_US);
	sim_pass(file->wheel, 10);
	arm_many(file, 4 * BATCH, HWHEEL_NEVER);
	for (i = 0; i < 4; i++) {
		pass_half(file->wheel, 10 + i);
		KUNIT_EXPECT_EQ(test, drained(file), (1 + i) * BATCH);
	}
	sim_settle(file->wheel);
	KUNIT_EXPECT_EQ(test, file->mapping->source.counts.filed, 4 * BATCH);
	KUNIT_EXPECT_EQ(test, *head_of(file, 0), HWHEEL_MAP_ASLEEP);
}

/* The drain alone would take several ticks. */
static void check_flood(struct kunit *test, unsigned long record_us, u32 due)
{
	struct hwheel_file *file = map_file(test, 15 * BATCH);
	u32 i;

	for (i = 0; i < due; i++)
		map_arm(file, i, sim_edge_time(file->wheel, 12));
	sim_pass(file->wheel, 10);
	make_slow(test, record_us);
	sim_pass(file->wheel, 11);
	/* In another slot: HWHEEL_NEVER is in any, by when the wheel was created. */
	for (; i < 15 * BATCH; i++)
		map_arm(file, i, sim_edge_time(file->wheel, 30));
	pass_half(file->wheel, 12);
	KUNIT_EXPECT_EQ(test, map_unread(file), due);
	KUNIT_EXPECT_LT(test, drained(file), 15 * BATCH);
}

/* The due timeouts take more steps than come before the expiry's first look at the clock. */
static void flood_keeps_no_timeout_waiting(struct kunit *test)
{
	check_flood(test, RECORD_US / 5, 3 * BATCH);
}

/* The drain's first look at the clock comes when all the time is used up. */
static void drain_of_one_batch_keeps_no_timeout_waiting(struct kunit *test)
{
	check_flood(test, RECORD_US, 1);
}

/* The list takes several ticks, and the expiry files another record between its parts. */
static void parts_of_a_list_keep_the_order(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, 15 * BATCH + 1);
	u32 other = 15 * BATCH, i;

	map_arm_on(file, 1, other, sim_edge_time(file->wheel, 12));
	sim_pass(file->wheel, 10);
	map_refresh(file, other, sim_edge_time(file->wheel, 30));
	make_slow(test, RECORD_US / 5);
	sim_pass(file->wheel, 11);
	for (i = 0; i < 15 * BATCH; i++)
		map_arm(file, i, sim_edge_time(file->wheel, 30));
	pass_half(file->wheel, 12);
	KUNIT_EXPECT_LT(test, drained(file), 15 * BATCH);
	sim_pass(file->wheel, 40);
	for (i = 0; i < 15 * BATCH; i++) {
		s64 next = map_reap(file);

		KUNIT_ASSERT_EQ(test, next == other ? map_reap(file) : next, i);
	}
}

/* The second one is run when the first one has used it up. */
static void files_of_a_user_share_it(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, BATCH);
	struct hwheel_file *other = map_file_on(test, file->wheel, BATCH);

	make_slow(test, RECORD_US);
	sim_pass(file->wheel, 10);
	arm_many(file, BATCH, HWHEEL_NEVER);
	arm_many(other, BATCH, HWHEEL_NEVER);
	pass_half(file->wheel, 10);
	KUNIT_EXPECT_EQ(test, drained(file) + drained(other), BATCH);
	pass_half(file->wheel, 11);
	KUNIT_EXPECT_EQ(test, drained(file) + drained(other), 2 * BATCH);
}

/* With a part of a list in its hands it waits for the others, and then goes on. */
static void file_in_the_middle_of_a_list_waits(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, 2 * BATCH);
	struct hwheel_file *other = map_file_on(test, file->wheel, 3 * BATCH);

	make_slow(test, RECORD_US);
	sim_pass(file->wheel, 10);
	arm_on_first(other, 0, BATCH);
	pass_half(file->wheel, 10);
	arm_on_first(file, 0, 2 * BATCH);
	arm_on_first(other, BATCH, 1);
	pass_half(file->wheel, 11);
	arm_on_first(other, 2 * BATCH, BATCH);
	pass_half(file->wheel, 14);
	KUNIT_EXPECT_EQ(test, drained(other), 2 * BATCH + 1);
	KUNIT_EXPECT_EQ(test, drained(file), 2 * BATCH);
}

/* Short runs add up: one with nothing else to do is not run again in that tick. */
static void runs_of_a_tick_add_up(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, BATCH);
	u32 i;

	make_slow(test, 6 * RECORD_US * BATCH / 10);
	sim_pass(file->wheel, 10);
	for (i = 0; i < 4; i++) {
		map_arm(file, i, HWHEEL_NEVER);
		hwheel_mapped_file_kick(file);
		test_sleep(file->wheel, SIM_SETTLE);
	}
	KUNIT_EXPECT_LE(test, drained(file), 2);
	sim_settle(file->wheel);
	KUNIT_EXPECT_EQ(test, drained(file), 4);
}

static u64 drained_of_all(struct hwheel_file **files, int nr)
{
	u64 sum = 0;

	while (nr--)
		sum += drained(files[nr]);
	return sum;
}

/* Each has more than enough to do for two ticks, and two batches take half a tick. */
static void all_users_have_half_a_tick(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct hwheel_file *files[3];
	u64 before;
	int i;

	make_slow(test, RECORD_US);
	sim_pass(wheel, 10);
	for (i = 0; i < 3; i++) {
		files[i] = file_of(test, wheel, UID + i, 4 * BATCH);
		arm_many(files[i], 4 * BATCH, HWHEEL_NEVER);
	}
	pass_half(wheel, 11);
	before = drained_of_all(files, 3);
	pass_half(wheel, 12);
	KUNIT_EXPECT_EQ(test, drained_of_all(files, 3), before + 2 * BATCH);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_GT(test, drained(files[i]), 0);
}

/* Two users who always have more to do take all there is, and the third one has its turn. */
static void file_that_waits_has_its_turn(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct hwheel_file *files[3];
	int i;

	make_slow(test, RECORD_US);
	sim_pass(wheel, 10);
	for (i = 0; i < 3; i++) {
		files[i] = file_of(test, wheel, UID + i, 8 * BATCH);
		arm_many(files[i], i ? 8 * BATCH : 1, HWHEEL_NEVER);
	}
	pass_half(wheel, 11);
	KUNIT_EXPECT_EQ(test, drained(files[0]), 1);
	KUNIT_EXPECT_LT(test, drained(files[1]) + drained(files[2]), 16 * BATCH);
}

#define USERS	8

/* In turn each flood would come once in four ticks. */
static void floods_of_many_users_hold_up_nobody(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct hwheel_file *files[USERS], *other;
	int i;

	make_slow(test, RECORD_US);
	other = file_of(test, wheel, UID + USERS, 2);
	sim_pass(wheel, 10);
	for (i = 0; i < USERS; i++) {
		files[i] = file_of(test, wheel, UID + i, 8 * BATCH);
		arm_many(files[i], 8 * BATCH, HWHEEL_NEVER);
	}
	pass_half(wheel, 20);
	map_arm(other, 0, sim_edge_time(wheel, 22));
	pass_half(wheel, 22);
	KUNIT_EXPECT_EQ(test, map_unread(other), 1);
	KUNIT_EXPECT_LT(test, drained_of_all(files, USERS), USERS * 8 * BATCH);
}

/* A batch takes as long as eight ticks have for a user, and the fourth tick has time again. */
static void excess_counts_in_the_next_ticks(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, 4 * BATCH);
	u64 before;

	make_slow(test, 8 * RECORD_US);
	sim_pass(file->wheel, 10);
	arm_many(file, 4 * BATCH, HWHEEL_NEVER);
	pass_half(file->wheel, 12);
	before = drained(file);
	KUNIT_EXPECT_EQ(test, before, BATCH);
	pass_half(file->wheel, 14);
	KUNIT_EXPECT_EQ(test, drained(file), BATCH);
	pass_half(file->wheel, 16);
	KUNIT_EXPECT_EQ(test, drained(file), 2 * BATCH);
}

static void other_users_are_not_held_up(struct kunit *test)
{
	struct hwheel *wheel = sim_wheel(test);
	struct hwheel_file *busy = map_file_on(test, wheel, 4 * BATCH);
	struct hwheel_file *other = file_of(test, wheel, UID, 1);

	make_slow(test, RECORD_US);
	map_arm(other, 0, sim_edge_time(wheel, 11));
	sim_pass(wheel, 10);
	arm_many(busy, 4 * BATCH, HWHEEL_NEVER);
	pass_half(wheel, 11);
	KUNIT_EXPECT_LT(test, drained(busy), 4 * BATCH);
	KUNIT_EXPECT_EQ(test, map_reap(other), 0);
	KUNIT_EXPECT_LT(test, record_of(other, 0)->fired_ns,
			sim_edge_time(wheel, 11) + SIM_TICK / 2);
}

/* A timeout that is late when it is drained is due at once. */
static void what_was_left_fires_late(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, 4 * BATCH);
	u32 i;

	make_slow(test, RECORD_US);
	sim_pass(file->wheel, 10);
	for (i = 0; i < 4 * BATCH; i++)
		map_arm(file, i, sim_edge_time(file->wheel, 10 + i % 2));
	pass_half(file->wheel, 14);
	KUNIT_EXPECT_EQ(test, map_unread(file), 4 * BATCH);
	KUNIT_EXPECT_EQ(test, file->mapping->source.counts.filed, 0);
}

static u32 count_reaped(struct hwheel_file *file)
{
	u32 n = 0;

	while (map_reap(file) >= 0)
		n++;
	return n;
}

static void use_up(void *ns, const struct hwheel *wheel, struct hwheel_mapping *mapping, u32 index,
		   u64 word)
{
	local_irq_disable();
	ndelay(*(unsigned long *)ns);
	local_irq_enable();
}

/* The timeout behind which the worker goes on with the order, or the first one */
static u32 last_placed(struct hwheel_mapping *map)
{
	struct hwheel_node *last;

	if (!map->order.place || map->order.place == &map->order.ready.first)
		return 0;
	last = container_of(map->order.place, struct hwheel_node, link.next);
	return hwheel_map_node_of(last)->index;
}

/*
 * The time is used up at any look at the clock, also while the order of due timeouts is being
 * found: the drain of one record leaves so little. A cancel waits until the order is there, and no
 * other timeout gets lost.
 */
static void expiry_goes_on_in_the_next_tick(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, 8 * BATCH + 3);
	unsigned int edge = 20, cut = 0, i;
	unsigned long ns = 0;
	u32 left, nr;

	if (!IS_ENABLED(CONFIG_TRACEPOINTS))
		kunit_skip(test, "needs tracepoints");
	KUNIT_ASSERT_EQ(test, register_trace_mapped_act(use_up, &ns), 0);
	for (left = 128; left < 10 * 256; left += 256, edge += 20) {
		for (i = 0; i < 8 * BATCH; i++)
			map_arm(file, i, sim_edge_time(file->wheel, edge));
		sim_pass(file->wheel, edge - 2);
		/* The worker lingers for two, so the third one is drained at the next edge. */
		map_arm(file, 8 * BATCH, HWHEEL_NEVER);
		map_arm(file, 8 * BATCH + 1, HWHEEL_NEVER);
		sim_pass(file->wheel, edge - 1);
		ns = SIM_TICK / 4 - left;
		/* On the last list: the next drain begins with the first, which has the cancel. */
		map_arm_on(file, 1, 8 * BATCH + 2, HWHEEL_NEVER);
		pass_half(file->wheel, edge);
		ns = 0;
		cut += !!file->mapping->order.place;
		nr = 8 * BATCH - map_cancel(file, last_placed(file->mapping));
		for (i = 0; i < 3; i++)
			map_cancel(file, 8 * BATCH + i);
		sim_settle(file->wheel);
		KUNIT_EXPECT_EQ(test, count_reaped(file), nr);
	}
	unregister_trace_mapped_act(use_up, &ns);
	tracepoint_synchronize_unregister();
	KUNIT_EXPECT_GT(test, cut, 0);
}

static void take_time_to_end(void *us, const struct hwheel *wheel, struct hwheel_mapping *mapping,
			     u32 index, u64 word, bool stopped)
{
	sim_stall((unsigned long)us * NSEC_PER_USEC);
}

static void stop_goes_on_in_the_next_tick(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, 4 * BATCH);
	u64 before = test_now(file->wheel);
	void *us = (void *)RECORD_US;
	u32 i;

	if (!IS_ENABLED(CONFIG_TRACEPOINTS))
		kunit_skip(test, "needs tracepoints");
	for (i = 0; i < 4 * BATCH; i++)
		map_arm_only(file, i, HWHEEL_NEVER);
	KUNIT_ASSERT_EQ(test, register_trace_mapped_end(take_time_to_end, us), 0);
	KUNIT_EXPECT_EQ(test, hwheel_file_stop(file), 4 * BATCH);
	unregister_trace_mapped_end(take_time_to_end, us);
	tracepoint_synchronize_unregister();
	KUNIT_EXPECT_EQ(test, map_unread(file), 4 * BATCH);
	KUNIT_EXPECT_GT(test, record_of(file, 4 * BATCH - 1)->fired_ns, before + 2 * SIM_TICK);
}

static void own_wheel_is_for_the_file(struct kunit *test)
{
	struct hwheel *wheel = sim_create(test, (struct hwheel_params) {
		.tick_ns = 10 * SIM_TICK,
	});
	struct hwheel_file *file = map_file_open(test, wheel);

	file->shared_wheel = NULL;
	KUNIT_ASSERT_EQ(test, map_more(file, 16 * BATCH, 2), 0);
	make_slow(test, RECORD_US);
	sim_pass(wheel, 10);
	arm_many(file, 16 * BATCH, HWHEEL_NEVER);
	/* Longer than a part of the worker's, and in one go: before the next edge */
	pass_half(wheel, 10);
	KUNIT_EXPECT_EQ(test, drained(file), 16 * BATCH);
}

/* The user has used up the time on the shared wheel: a file on a wheel of its own still runs. */
static void own_wheel_has_time_of_its_own(struct kunit *test)
{
	struct hwheel_file *shared = map_file(test, 4 * BATCH);
	struct hwheel_file *own = map_file_open(test, sim_wheel(test));

	own->shared_wheel = NULL;
	KUNIT_ASSERT_EQ(test, map_more(own, 1, 2), 0);
	make_slow(test, RECORD_US);
	sim_pass(shared->wheel, 10);
	arm_many(shared, 4 * BATCH, HWHEEL_NEVER);
	pass_half(shared->wheel, 10);
	map_arm(own, 0, HWHEEL_NEVER);
	test_sleep(own->wheel, SIM_SETTLE);
	KUNIT_EXPECT_EQ(test, drained(own), 1);
	KUNIT_EXPECT_EQ(test, drained(shared), BATCH);
	/* A batch in each of three ticks, wherever in the first one this is */
	sim_settle(shared->wheel);
	sim_settle(shared->wheel);
	KUNIT_EXPECT_EQ(test, drained(shared), 4 * BATCH);
}

/**
 * struct changing - a record whose word changes all the time
 * @record: the record
 * @times:  how often more
 */
struct changing {
	struct hwheel_map_record	*record;
	unsigned int			times;
};

/* Between the worker's look at the word and its exchange */
static void change_word(void *data, const struct hwheel *wheel, struct hwheel_mapping *mapping,
			u32 index, u64 word)
{
	struct changing *changing = data;

	if (!changing->times)
		return;
	changing->times--;
	WRITE_ONCE(changing->record->word, word + hwheel_word(8, 0));
}

/* Bounded in each run: the worker looks at it again at the next edge, and keeps it until then. */
static void record_that_changes_waits_for_the_next_run(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, 1);
	struct changing changing = { .record = record_of(file, 0), .times = 100 };
	unsigned int per_run = HWHEEL_MAP_TRIES - 1;

	if (!IS_ENABLED(CONFIG_TRACEPOINTS))
		kunit_skip(test, "needs tracepoints");
	KUNIT_ASSERT_EQ(test, register_trace_mapped_act(change_word, &changing), 0);
	sim_pass(file->wheel, 10);
	map_arm(file, 0, sim_edge_time(file->wheel, 40));
	test_sleep(file->wheel, SIM_SETTLE);
	KUNIT_EXPECT_EQ(test, changing.times, 100 - 1 - per_run);
	sim_pass(file->wheel, 13);
	KUNIT_EXPECT_EQ(test, changing.times, 100 - 1 - 4 * per_run);
	KUNIT_EXPECT_TRUE(test, record_of(file, 0)->word & QUEUED);
	KUNIT_EXPECT_EQ(test, file->mapping->source.counts.filed, 1);
	changing.times = 1;
	sim_pass(file->wheel, 14);
	KUNIT_EXPECT_FALSE(test, record_of(file, 0)->word & QUEUED);
	KUNIT_EXPECT_EQ(test, file->mapping->source.counts.filed, 1);
	sim_pass(file->wheel, 41);
	map_expect_order(test, file, 0, 1);
	unregister_trace_mapped_act(change_word, &changing);
	tracepoint_synchronize_unregister();
}

static struct kunit_case budget_cases[] = {
	KUNIT_CASE(user_has_a_quarter_of_a_tick),
	KUNIT_CASE(flood_keeps_no_timeout_waiting),
	KUNIT_CASE(drain_of_one_batch_keeps_no_timeout_waiting),
	KUNIT_CASE(parts_of_a_list_keep_the_order),
	KUNIT_CASE(files_of_a_user_share_it),
	KUNIT_CASE(file_in_the_middle_of_a_list_waits),
	KUNIT_CASE(runs_of_a_tick_add_up),
	KUNIT_CASE(all_users_have_half_a_tick),
	KUNIT_CASE(file_that_waits_has_its_turn),
	KUNIT_CASE(floods_of_many_users_hold_up_nobody),
	KUNIT_CASE(excess_counts_in_the_next_ticks),
	KUNIT_CASE(other_users_are_not_held_up),
	KUNIT_CASE(what_was_left_fires_late),
	KUNIT_CASE(expiry_goes_on_in_the_next_tick),
	KUNIT_CASE(stop_goes_on_in_the_next_tick),
	KUNIT_CASE(own_wheel_is_for_the_file),
	KUNIT_CASE(own_wheel_has_time_of_its_own),
	KUNIT_CASE(record_that_changes_waits_for_the_next_run),
	{ }
};

static struct kunit_suite budget_suite = {
	.name = "hwheel_map_budget",
	.test_cases = budget_cases,
};

kunit_test_suite(budget_suite);
