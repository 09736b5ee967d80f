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

static void arm_many(struct hwheel_file *file, u32 nr, u64 deadline)
{
	while (nr--)
		map_arm_on(file, nr % 2, nr, deadline);
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
	check_flood(test, RECORD_US, 3 * BATCH);
}

/* The drain's first look at the clock comes when its half of the part is used up. */
static void drain_of_one_batch_keeps_no_timeout_waiting(struct kunit *test)
{
	check_flood(test, 2 * RECORD_US, 1);
}

/* The list takes several ticks, and the expiry files another record between its parts. */
static void parts_of_a_list_keep_the_order(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, 15 * BATCH + 1);
	u32 other = 15 * BATCH, i;

	map_arm_on(file, 1, other, sim_edge_time(file->wheel, 12));
	sim_pass(file->wheel, 10);
	map_refresh(file, other, sim_edge_time(file->wheel, 30));
	make_slow(test, RECORD_US);
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

/* A file with a lot to do has a part of each pass, and another one on the wheel is run in each. */
static void files_of_a_wheel_take_turns(struct kunit *test)
{
	struct hwheel_file *flood = map_file(test, 15 * BATCH);
	struct hwheel_file *other = map_file(test, 1);

	make_slow(test, RECORD_US);
	sim_pass(flood->wheel, 10);
	arm_many(flood, 15 * BATCH, HWHEEL_NEVER);
	map_arm(other, 0, HWHEEL_NEVER);
	test_sleep(flood->wheel, 3 * SIM_TICK / 2);
	KUNIT_EXPECT_EQ(test, drained(other), 1);
	KUNIT_EXPECT_LT(test, drained(flood), 15 * BATCH);
	sim_settle(flood->wheel);
	sim_settle(flood->wheel);
	KUNIT_EXPECT_EQ(test, drained(flood), 15 * BATCH);
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

/*
 * The part is used up at any look at the clock, also while the order of due timeouts is being
 * found: the drain of one record leaves so little. No timeout gets lost.
 */
static void expiry_goes_on_in_the_next_pass(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, 8 * BATCH + 3);
	unsigned int edge = 20, i;
	unsigned long ns = 0;
	u32 left;

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
		ns = SIM_TICK - left;
		map_arm_on(file, 1, 8 * BATCH + 2, HWHEEL_NEVER);
		pass_half(file->wheel, edge + 1);
		ns = 0;
		for (i = 0; i < 3; i++)
			map_cancel(file, 8 * BATCH + i);
		sim_settle(file->wheel);
		KUNIT_EXPECT_EQ(test, count_reaped(file), 8 * BATCH);
	}
	unregister_trace_mapped_act(use_up, &ns);
	tracepoint_synchronize_unregister();
}

static void take_time_to_end(void *us, const struct hwheel *wheel, struct hwheel_mapping *mapping,
			     u32 index, u64 word, bool stopped)
{
	sim_stall((unsigned long)us * NSEC_PER_USEC);
}

static void stop_goes_on_in_the_next_pass(struct kunit *test)
{
	struct hwheel_file *file = map_file(test, 8 * BATCH);
	u64 before = test_now(file->wheel);
	void *us = (void *)RECORD_US;
	u32 i;

	if (!IS_ENABLED(CONFIG_TRACEPOINTS))
		kunit_skip(test, "needs tracepoints");
	for (i = 0; i < 8 * BATCH; i++)
		map_arm_only(file, i, HWHEEL_NEVER);
	KUNIT_ASSERT_EQ(test, register_trace_mapped_end(take_time_to_end, us), 0);
	KUNIT_EXPECT_EQ(test, hwheel_file_stop(file), 8 * BATCH);
	unregister_trace_mapped_end(take_time_to_end, us);
	tracepoint_synchronize_unregister();
	KUNIT_EXPECT_EQ(test, map_unread(file), 8 * BATCH);
	KUNIT_EXPECT_GT(test, record_of(file, 8 * BATCH - 1)->fired_ns, before + SIM_TICK);
}

/* The worker does not wait for the next edge between two parts. */
static void parts_follow_each_other_at_once(struct kunit *test)
{
	struct hwheel *wheel = sim_create(test, (struct hwheel_params) {
		.tick_ns = 10 * SIM_TICK,
	});
	struct hwheel_file *file = map_file_on(test, wheel, 16 * BATCH);

	make_slow(test, RECORD_US);
	sim_pass(wheel, 10);
	arm_many(file, 16 * BATCH, HWHEEL_NEVER);
	pass_half(wheel, 10);
	KUNIT_EXPECT_EQ(test, drained(file), 16 * BATCH);
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

static struct kunit_case part_cases[] = {
	KUNIT_CASE(flood_keeps_no_timeout_waiting),
	KUNIT_CASE(drain_of_one_batch_keeps_no_timeout_waiting),
	KUNIT_CASE(parts_of_a_list_keep_the_order),
	KUNIT_CASE(files_of_a_wheel_take_turns),
	KUNIT_CASE(parts_follow_each_other_at_once),
	KUNIT_CASE(what_was_left_fires_late),
	KUNIT_CASE(expiry_goes_on_in_the_next_pass),
	KUNIT_CASE(stop_goes_on_in_the_next_pass),
	KUNIT_CASE(record_that_changes_waits_for_the_next_run),
	{ }
};

static struct kunit_suite part_suite = {
	.name = "hwheel_map_part",
	.test_cases = part_cases,
};

kunit_test_suite(part_suite);
