// SPDX-License-Identifier: GPL-2.0-only
/*
 * Each allocation and each copy of an operation made to fail in turn: the first one in one
 * try, the second one in the next, until one try meets no failure. Each time the call
 * tells the right error or goes without, changes nothing if it failed, and leaves
 * everything usable. Loading the module does so, too, for which the module is removed.
 *
 * Needs a kernel with fault injection (fail-nth), kprobes as events, and kmemleak, which
 * looks for what was left behind; debugfs; beside it hwheel.ko, and hwheel_fault.ko for
 * wheels of other modules. Prints for each operation how many failures it met, where, and
 * how it ended. Fields of a record are copied without calls that could be made to fail:
 * record_border_test has those.
 */

#include "failures.h"
#include "file_operations.h"
#include "module_operations.h"

#define TRIES_MAX	2000

FIXTURE(fail)
{
	struct state	state;
	struct tally	tally;
};

/*
 * @name:    of the operation
 * @prepare: what comes before
 * @act:     the call; 0 or a count, or a negative errno
 * @judge:   0 if the file is as it must be after a call that returned @ret
 * @has_none: nothing in it can be made to fail; record_border_test has its fields
 * @first:   which one is the first to fail; 0: it can't tell
 * @ends:    what has to have failed of ours: else it may be the kernel around us alone
 */
FIXTURE_VARIANT(fail)
{
	const char	*name;
	bool		has_none;
	unsigned int	(*first)(void);
	const struct end *ends;
	int		(*prepare)(struct state *state);
	int		(*act)(struct state *state);
	int		(*judge)(struct state *state, int ret);
};

#define OPERATION(call, before, after, ...)				\
	{ .name = #call, .prepare = before, .act = act_##call, .judge = after, ##__VA_ARGS__ }

static const struct end open_ends[] = {
	{ 1, "hwheel_file_create+* *kmalloc*" },
	{ }
};

FIXTURE_VARIANT_ADD(fail, open)
	OPERATION(open, NULL, judge_open, .ends = open_ends);

static const struct end answer_ends[] = {
	{ 1, "* _copy_to_user" },
	{ }
};

FIXTURE_VARIANT_ADD(fail, info)
	OPERATION(info, open_file, judge_usable, .ends = answer_ends);
FIXTURE_VARIANT_ADD(fail, stats)
	OPERATION(stats, open_file, judge_usable, .ends = answer_ends);

static const struct end seq_file_ends[] = {
	{ 1, "single_open+* *kmalloc*" },
	{ 1, "seq_read_iter+* *kvmalloc_node*" },
	{ 1, "seq_read_iter+* _copy_to_iter" },
	{ }
};

FIXTURE_VARIANT_ADD(fail, fdinfo)
	OPERATION(fdinfo, open_pending, judge_pending, .ends = seq_file_ends);
FIXTURE_VARIANT_ADD(fail, debugfs)
	OPERATION(debugfs, open_pending, judge_pending, .ends = seq_file_ends);

/* The wheel, its slots and which of them are occupied, its thread */
static const struct end small_ends[] = {
	{ 1, "__hwheel_create+* *kmalloc*" },
	{ 2, "* *kvmalloc_node*" },
	{ 1, "hwheel_worker_start+* kthread_create*" },
	{ }
};

/* For slots that need more than a page other memory is found instead. */
static const struct end create_ends[] = {
	{ 1, "__hwheel_create+* *kmalloc*" },
	{ 1, "* *kvmalloc_node*" },
	{ 1, "hwheel_worker_start+* kthread_create*" },
	{ }
};

/* Here both the slots and which of them are occupied need more than that. */
static const struct end large_ends[] = {
	{ 1, "__hwheel_create+* *kmalloc*" },
	{ 1, "hwheel_worker_start+* kthread_create*" },
	{ }
};

FIXTURE_VARIANT_ADD(fail, config)
	OPERATION(config, open_file, judge_config, .ends = small_ends);
FIXTURE_VARIANT_ADD(fail, config_levels)
	OPERATION(config_levels, open_file, judge_config, .ends = small_ends);
FIXTURE_VARIANT_ADD(fail, config_large)
	OPERATION(config_large, open_file, judge_config, .ends = create_ends);
FIXTURE_VARIANT_ADD(fail, arm)
	OPERATION(arm, open_pending, judge_arm, .has_none = true);

/* Allocations of room for them, and of a page */
static const struct end pages_ends[] = {
	{ 1, "* *kvmalloc_node*" },
	{ 1, "* *alloc_page*" },
	{ }
};

FIXTURE_VARIANT_ADD(fail, arm_first) {
	.name = "arm_first", .prepare = open_file, .act = act_arm, .judge = judge_first_arm,
	.ends = pages_ends,
};

FIXTURE_VARIANT_ADD(fail, arm_wider) {
	.name = "arm_wider", .prepare = prepare_full, .act = act_arm, .judge = judge_wider,
	.ends = pages_ends,
};

FIXTURE_VARIANT_ADD(fail, refresh)
	OPERATION(refresh, open_pending, judge_refresh, .has_none = true);
FIXTURE_VARIANT_ADD(fail, cancel)
	OPERATION(cancel, open_pending, judge_cancel, .has_none = true);
FIXTURE_VARIANT_ADD(fail, query)
	OPERATION(query, open_pending, judge_pending, .has_none = true);

static const struct end submit_ends[] = {
	{ 1, "* _copy_from_user" },
	{ }
};

FIXTURE_VARIANT_ADD(fail, submit)
	OPERATION(submit, open_pending, judge_submit, .ends = submit_ends);

static const struct end read_ends[] = {
	{ 1, "* _copy_to_iter" },
	{ }
};

FIXTURE_VARIANT_ADD(fail, read)
	OPERATION(read, prepare_read, judge_read, .ends = read_ends);

/* The room for the pages, the slots, and the pages themselves */
static const struct end map_ends[] = {
	{ 3, "* *kvmalloc_node*" },
	{ 1, "* *alloc_page*" },
	{ 1, "* _copy_from_user" },
	{ 2, "* _copy_to_user" },
	{ }
};

FIXTURE_VARIANT_ADD(fail, map)
	OPERATION(map, open_file, judge_map, .ends = map_ends);

static const struct end map_more_ends[] = {
	{ 1, "* *alloc_page*" },
	{ 1, "* _copy_from_user" },
	{ 2, "* _copy_to_user" },
	{ }
};

FIXTURE_VARIANT_ADD(fail, map_more)
	OPERATION(map_more, open_mapped, judge_map_more, .ends = map_more_ends);
FIXTURE_VARIANT_ADD(fail, mmap)
	OPERATION(mmap, open_mapped, judge_mmap);
FIXTURE_VARIANT_ADD(fail, fault)
	OPERATION(fault, prepare_fault, judge_mapped);
FIXTURE_VARIANT_ADD(fail, stop)
	OPERATION(stop, open_pending, judge_stop, .has_none = true);
FIXTURE_VARIANT_ADD(fail, close)
	OPERATION(close, prepare_close, judge_close);

FIXTURE_VARIANT_ADD(fail, close_mapped) {
	.name = "close_mapped", .prepare = prepare_close_mapped, .act = act_close,
	.judge = judge_close,
};

FIXTURE_VARIANT_ADD(fail, live_plain)
	OPERATION(live_plain, prepare_life, judge_live_plain, .ends = create_ends);
FIXTURE_VARIANT_ADD(fail, live_levels)
	OPERATION(live_levels, prepare_life, judge_live_levels, .ends = create_ends);
FIXTURE_VARIANT_ADD(fail, live_large)
	OPERATION(live_large, prepare_life, judge_live_large, .ends = large_ends);

static const struct end percpu_ends[] = {
	{ 1, "__hwheel_create+* pcpu_alloc*" },
	{ }
};

FIXTURE_VARIANT_ADD(fail, live_percpu)
	OPERATION(live_percpu, prepare_life, judge_live_percpu, .ends = percpu_ends);

/* Those that the init has to undo something after */
static const struct end load_ends[] = {
	{ 1, "__hwheel_create+*" },
	{ 1, "hwheel_worker_start+*" },
	{ 1, "hwheel_account_init+*" },
	{ 1, "hwheel_chardev_init+*" },
	{ }
};

FIXTURE_VARIANT_ADD(fail, load)
	OPERATION(load, prepare_load, judge_load, .first = first_in_init, .ends = load_ends);

FIXTURE_SETUP(fail)
{
	if (prepare_faults())
		SKIP(return, "this kernel has no fail-nth, or no kprobes");
}

FIXTURE_TEARDOWN(fail)
{
	clean_up(&self->state);
	if (!access(LIFE, F_OK))
		EXPECT_EQ(0, remove_module("hwheel_fault"));
	if (access(MODULE, F_OK))
		EXPECT_EQ(0, load_module("hwheel.ko"));
}

/* A load takes some time, and there may be several rounds of them. */
#define TURNS_TIMEOUT	1200
#define ROUNDS_MAX	30

static unsigned int first_to_fail(unsigned int (*first)(void))
{
	return first ? first() : 1;
}

/* How many there are varies by some, also before the first, so that a round may miss one. */
TEST_F_TIMEOUT(fail, in_turn, TURNS_TIMEOUT)
{
	struct tally *tally = &self->tally;
	struct state *state = &self->state;
	enum kind kind = ALLOCATION;
	char site[SITE_SIZE];
	unsigned int n = first_to_fail(variant->first), rounds = 1;
	int ret;

	for (; kind != NONE; n++) {
		ASSERT_NE(0, n);
		ASSERT_GE(TRIES_MAX, n);
		*state = (struct state){ .fd = -1 };
		if (variant->prepare)
			ASSERT_EQ(0, variant->prepare(state));

		begin_to_fail(n);
		ret = variant->act(state);
		kind = !has_failed() ? NONE : was_copy(site) ? COPY : ALLOCATION;
		count(tally, site, kind, ret);

		ASSERT_TRUE(is_right(kind, ret)) {
			TH_LOG("failure %u, of kind %u: %d", n, kind, ret);
		}
		ASSERT_EQ(0, variant->judge(state, ret)) {
			TH_LOG("after failure %u, of kind %u, which returned %d", n, kind, ret);
		}
		clean_up(state);
		state->fd = -1;
		state->map.base = NULL;
		if (kind == NONE && find_missing(tally, variant->ends) && rounds < ROUNDS_MAX) {
			rounds++;
			kind = ALLOCATION;
			n = first_to_fail(variant->first) - 1;
		}
	}
	EXPECT_EQ(variant->has_none, !tally->failed[ALLOCATION] && !tally->failed[COPY]);
	EXPECT_EQ(NULL, find_missing(tally, variant->ends)) {
		TH_LOG("no failure at %s", find_missing(tally, variant->ends));
	}
	EXPECT_EQ(0, tally->sites[SITES_MAX - 1].name[0]);
	TH_LOG("%s: %u rounds: %u allocations failed, %u with ENOMEM; %u copies, %u with EFAULT",
	       variant->name, rounds, tally->failed[ALLOCATION], tally->told[ALLOCATION],
	       tally->failed[COPY], tally->told[COPY]);
	tell_sites(variant->name, tally);
	TH_LOG("operations=%u", tally->failed[ALLOCATION] + tally->failed[COPY]);
}

/*
 * Leftovers of failed calls
 */

FIXTURE(left)
{
};

FIXTURE_SETUP(left)
{
	if (prepare_faults())
		SKIP(return, "this kernel has no fail-nth, or no kprobes");
}

FIXTURE_TEARDOWN(left)
{
}

/* An address in a stack where no module is any more */
#define UNNAMED		"    0x"

/*
 * Of the module's, whoever allocated it there: also of one that could not be loaded, which
 * left no names.
 */
static bool is_leak(const char *record)
{
	return strstr(record, "[hwheel") || !strncmp(record, UNNAMED, strlen(UNNAMED));
}

/* Prints all, and returns whether there are any. */
static bool find_leaks(void)
{
	FILE *file = fopen(DEBUGFS "kmemleak", "r");
	char line[256];
	bool leak = false;

	while (file && fgets(line, sizeof(line), file)) {
		printf("# %s", line);
		leak |= is_leak(line);
	}
	if (file)
		fclose(file);
	return !file || leak;
}

/*
 * kmemleak takes nothing for a leak that is younger than 5 s, and may miss the address of
 * something that is moved just then: so it is asked again where it found some.
 */
TEST_F(left, nothing)
{
	int i;

	for (i = 0; i < 3; i++) {
		poll(NULL, 0, 6000);
		ASSERT_EQ(0, put(DEBUGFS "kmemleak", "scan"));
	}
	EXPECT_FALSE(find_leaks());
}

#define ROUNDS	1000
#define MANY	64
#define MAPPED	(MANY * 4096 / sizeof(struct hwheel_map_record))

static long free_pages(void)
{
	FILE *file = fopen("/proc/vmstat", "r");
	long n = -1;

	if (file && fscanf(file, "nr_free_pages %ld", &n) != 1)
		n = -1;
	if (file)
		fclose(file);
	return n;
}

/* A part of the pages is made, and goes with the call or with the file. */
static int fail_to_map(unsigned int n)
{
	int fd = open_device(0), ret;
	struct hwheel_map layout;

	if (fd < 0)
		return fd;
	begin_to_fail(n);
	ret = map_make(fd, MAPPED, 1, &layout);
	has_failed();
	close(fd);
	return ret;
}

/*
 * kmemleak does not know of pages. All but the records, and some of these, are there each time;
 * of other memory that is freed the kernel keeps some for a while.
 */
TEST_F(left, no_page)
{
	unsigned int failed = 0, i;
	long before, after;

	before = free_pages();
	ASSERT_LT(0, before);
	for (i = 0; i < ROUNDS; i++)
		failed += fail_to_map(3 * MANY / 2 + 16 + i % 16) == -ENOMEM;
	after = free_pages();
	TH_LOG("%ld pages free, after %u failures %ld", before, failed, after);
	EXPECT_LT(ROUNDS / 2, failed);
	EXPECT_GT(ROUNDS / 2 * MANY / 2, before - after);
}

TEST_HARNESS_MAIN
