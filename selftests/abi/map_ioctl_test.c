// SPDX-License-Identifier: GPL-2.0-only
/*
 * MAP, KICK and mmap(): what each of them makes and refuses, what the other ioctls do on a
 * mapped file, and how long mappings live.
 */

#include "share.h"
#include "map.h"

#include <assert.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/uio.h>

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME	0x00000080
#endif

#define DAY		(24 * HOUR)
#define RW		(PROT_READ | PROT_WRITE)
#define LINE		64
#define MAX_MAPPED	200

/* Programs of 32 and of 64 bits see one layout. */
static_assert(sizeof(struct hwheel_map) == 56, "hwheel_map");
static_assert(sizeof(struct hwheel_map_header) == 384, "hwheel_map_header");
static_assert(sizeof(struct hwheel_map_list) == 128, "hwheel_map_list");
static_assert(sizeof(struct hwheel_map_record) == 32, "hwheel_map_record");

/* A new file, which the test maps or not */
FIXTURE(file)
{
	int			fd;
	size_t			page;
	struct hwheel_info	info;
};

FIXTURE_SETUP(file)
{
	if (!map_is_supported())
		SKIP(return, "this kernel has no mapped timeouts");
	self->page = page_size();
	self->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, get_info(self->fd, &self->info));
}

FIXTURE_TEARDOWN(file)
{
	EXPECT_EQ(0, close(self->fd));
}

/* Maps and unmaps. */
static int try_mmap(int fd, size_t size, int prot, int flags, off_t offset)
{
	void *base = mmap(NULL, size, prot, flags, fd, offset);

	if (base == MAP_FAILED)
		return -errno;
	return munmap(base, size) ? -errno : 0;
}

/* 0 if the file has no mapped memory. This function changes nothing. */
static int is_not_mapped(int fd)
{
	if (try_mmap(fd, page_size(), PROT_READ, MAP_SHARED, 0) != -EINVAL)
		return -EEXIST;
	return call(fd, HWHEEL_IOC_KICK, NULL) == -EINVAL ? 0 : -EPROTO;
}

/* 0 if MAP has left nothing behind, not even for CONFIG and ARM */
static int is_new(int fd)
{
	const struct hwheel_config config = { .max_timeouts = 10, .clock = CLOCK_MONOTONIC };

	return is_not_mapped(fd) ?: configure(fd, &config) ?: arm(fd, NEVER, 0, NULL);
}

/* The feature and the ioctl agree, whether or not a kernel has them. */
TEST(feature)
{
	int fd = open_device(0);
	struct hwheel_map layout;
	struct hwheel_info info;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, get_info(fd, &info));
	EXPECT_EQ(info.features & HWHEEL_FEATURE_MAP ? 0 : -EOPNOTSUPP,
		  map_make(fd, 1, 1, &layout));
	EXPECT_EQ(0, close(fd));
}

/* The layout */

struct part {
	__u64	begin;
	__u64	size;
};

static bool overlap(const struct part *a, const struct part *b)
{
	return a->begin < b->begin + b->size && b->begin < a->begin + a->size;
}

static bool parts_are_apart(const struct hwheel_map *l)
{
	const struct part parts[] = {
		{ 0, sizeof(struct hwheel_map_header) },
		{ l->lists_offset, l->lists * sizeof(struct hwheel_map_list) },
		{ l->ring_offset, l->ring_size * sizeof(__u32) },
		{ l->records_offset, l->records * sizeof(struct hwheel_map_record) },
	};
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(parts); i++)
		for (j = 0; j < i; j++)
			if (overlap(&parts[i], &parts[j]))
				return false;
	return true;
}

/* No line of the cache has two lists, or a list and anything else. */
static bool parts_are_aligned(const struct hwheel_map *l)
{
	return !(l->lists_offset % sizeof(struct hwheel_map_list)) &&
	       !(l->ring_offset % LINE) && !(l->records_offset % LINE);
}

/* A second MAP adds whole pages, which mmap() can map alone. */
static bool size_fits(const struct hwheel_map *l)
{
	return l->size == l->records_offset + l->records * sizeof(struct hwheel_map_record) &&
	       !(l->size % page_size());
}

static bool layout_is_sound(const struct hwheel_map *l, __u32 records, __u32 lists)
{
	return l->version == HWHEEL_MAP_VERSION && !l->flags && !l->reserved &&
	       l->records >= records && l->lists == lists && l->ring_size >= l->records &&
	       !(l->ring_size & (l->ring_size - 1)) && size_fits(l) &&
	       parts_are_apart(l) && parts_are_aligned(l);
}

TEST_F(file, layout)
{
	const __u32 records[] = { 1, 2, 31, 32, 33, 127, 128, 129, 1000, 4096, 32768, 65536 };
	const __u32 lists[] = { 1, 2, 3, 63, 64 };
	struct hwheel_map layout;
	size_t i, j;
	int fd;

	for (i = 0; i < ARRAY_SIZE(records); i++)
		for (j = 0; j < ARRAY_SIZE(lists); j++) {
			if (records[i] > self->info.max_timeouts)
				continue;
			fd = open_device(O_NONBLOCK);
			ASSERT_LE(0, fd);
			ASSERT_EQ(0, map_make(fd, records[i], lists[j], &layout));
			EXPECT_TRUE(layout_is_sound(&layout, records[i], lists[j]));
			EXPECT_EQ(0, close(fd));
		}
}

/* The contents of memory that nobody has used yet */
static char *new_image(const struct map *m)
{
	const struct hwheel_map *l = &m->layout;
	char *image = calloc(1, l->size);
	struct hwheel_map_record *records = (void *)(image + l->records_offset);
	struct hwheel_map_list *lists = (void *)(image + l->lists_offset);
	__u32 i;

	if (!image)
		return NULL;
	((struct hwheel_map_header *)image)->version = HWHEEL_MAP_VERSION;
	for (i = 0; i < l->lists; i++)
		lists[i].head = HWHEEL_MAP_ASLEEP;
	for (i = 0; i < l->records; i++)
		records[i].word = HWHEEL_MAP_IDLE;
	return image;
}

/* 0 if the memory is in its initial state, else 1 + the offset of a wrong byte */
static size_t differs_from_new(const struct map *m)
{
	char *image = new_image(m);
	size_t i = 0;

	while (image && i < m->layout.size && m->base[i] == image[i])
		i++;
	free(image);
	return i == m->layout.size ? 0 : i + 1;
}

/* The memory shows nothing of the kernel's own data. */
TEST(initial_memory)
{
	const __u32 lists[] = { 1, 5, 64 };
	struct map map;
	size_t i;

	if (!map_is_supported())
		SKIP(return, "this kernel has no mapped timeouts");
	for (i = 0; i < ARRAY_SIZE(lists); i++) {
		ASSERT_EQ(0, map_open_shared(&map, 1000 * i + 1, lists[i]));
		EXPECT_EQ(0, differs_from_new(&map));
		EXPECT_EQ(0, poll_all(map.fd));
		EXPECT_EQ(0, map_close(&map));
	}
}

TEST(initial_memory_of_an_own_wheel)
{
	const struct hwheel_config config = {
		.tick_ns = MSEC, .kind = HWHEEL_KIND_HIERARCHICAL, .clock = CLOCK_BOOTTIME,
	};
	struct map map;

	if (!map_is_supported())
		SKIP(return, "this kernel has no mapped timeouts");
	ASSERT_EQ(0, map_open(&map, &config, 300, 2));
	EXPECT_EQ(0, differs_from_new(&map));
	EXPECT_EQ(0, map_close(&map));
}

/* What MAP refuses */

TEST_F(file, invalid_input)
{
	const struct hwheel_map cases[] = {
		{ .records = 0, .lists = 1 },
		{ .records = 0, .lists = 0 },
		{ .records = 1, .lists = 0 },
		{ .records = 1, .lists = HWHEEL_MAP_LISTS + 1 },
		{ .records = 1, .lists = UINT32_MAX },
		{ .records = 1, .lists = 1, .flags = 1 },
		{ .records = 1, .lists = 1, .flags = 1U << 31 },
		{ .records = 1, .lists = 1, .reserved = 1 },
		{ .records = 1, .lists = 1, .reserved = 1U << 31 },
		{ .records = 1, .lists = 1, .version = HWHEEL_MAP_VERSION },
		{ .records = 1, .lists = 1, .ring_size = 1024 },
		{ .records = 1, .lists = 1, .lists_offset = 1 },
		{ .records = 1, .lists = 1, .ring_offset = 1ULL << 63 },
		{ .records = 1, .lists = 1, .records_offset = POISON64 },
		{ .records = 1, .lists = 1, .size = 1 },
	};
	struct hwheel_map map;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		map = cases[i];
		EXPECT_EQ(-EINVAL, call(self->fd, HWHEEL_IOC_MAP, &map));
		EXPECT_EQ(0, memcmp(&map, &cases[i], sizeof(map)));
		EXPECT_EQ(0, is_not_mapped(self->fd));
	}
	EXPECT_EQ(0, is_new(self->fd));
}

TEST_F(file, too_many_records)
{
	const __u64 records[] = {
		self->info.max_timeouts + 1, 16777217, 1U << 31, UINT32_MAX - 1, UINT32_MAX,
	};
	struct hwheel_map layout, before;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(records); i++) {
		if (records[i] <= self->info.max_timeouts || records[i] > UINT32_MAX)
			continue;
		before = (struct hwheel_map){ .records = records[i], .lists = 1 };
		EXPECT_EQ(-ENOSPC, map_make(self->fd, records[i], 1, &layout));
		EXPECT_EQ(0, memcmp(&before, &layout, sizeof(layout)));
		EXPECT_EQ(0, is_not_mapped(self->fd));
	}
	EXPECT_EQ(0, is_new(self->fd));
}

/* MAP obeys the limit that CONFIG has set. */
TEST_F(file, configured_limit)
{
	const struct hwheel_config config = { .max_timeouts = 10, .clock = CLOCK_MONOTONIC };
	struct hwheel_map layout;

	ASSERT_EQ(0, configure(self->fd, &config));
	EXPECT_EQ(-ENOSPC, map_make(self->fd, 11, 1, &layout));
	EXPECT_EQ(0, is_not_mapped(self->fd));
	EXPECT_EQ(0, map_make(self->fd, 10, 1, &layout));
	EXPECT_TRUE(layout_is_sound(&layout, 10, 1));
	EXPECT_EQ(-ENOSPC, map_make(self->fd, 1, 1, &layout));
}

TEST_F(file, wheel_limit)
{
	struct hwheel_map layout;

	if (!self->info.max_pending || self->info.max_pending >= self->info.max_timeouts)
		SKIP(return, "the wheel has no limit below that of the file");
	EXPECT_EQ(-EDQUOT, map_make(self->fd, self->info.max_pending + 1, 1, &layout));
	EXPECT_EQ(0, is_new(self->fd));
}

/* MAP makes nothing if it can't write the outputs. */
TEST_F(file, bad_pointer)
{
	char *page = mmap(NULL, 2 * self->page, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct hwheel_map *map = (void *)page;

	ASSERT_NE(MAP_FAILED, page);
	*map = (struct hwheel_map){ .records = 10, .lists = 1 };
	ASSERT_EQ(0, munmap(page + self->page, self->page));
	EXPECT_EQ(-EFAULT, call(self->fd, HWHEEL_IOC_MAP, NULL));
	EXPECT_EQ(-EFAULT, call(self->fd, HWHEEL_IOC_MAP, page + self->page));
	EXPECT_EQ(-EFAULT, call(self->fd, HWHEEL_IOC_MAP, page + self->page - sizeof(*map) + 1));
	EXPECT_EQ(0, is_not_mapped(self->fd));
	ASSERT_EQ(0, mprotect(page, self->page, PROT_READ));
	EXPECT_EQ(-EFAULT, call(self->fd, HWHEEL_IOC_MAP, page));
	EXPECT_EQ(0, is_not_mapped(self->fd));
	EXPECT_EQ(0, is_new(self->fd));
	EXPECT_EQ(0, munmap(page, self->page));
}

/* A second MAP that fails so adds nothing to the first one. */
TEST_F(file, bad_pointer_of_a_second_map)
{
	char *page = mmap(NULL, self->page, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct hwheel_map *map = (void *)page, first, second;

	ASSERT_NE(MAP_FAILED, page);
	ASSERT_EQ(0, map_make(self->fd, 100, 1, &first));
	*map = (struct hwheel_map){ .records = 1000 };
	ASSERT_EQ(0, mprotect(page, self->page, PROT_READ));
	EXPECT_EQ(-EFAULT, call(self->fd, HWHEEL_IOC_MAP, page));
	EXPECT_EQ(-EINVAL, try_mmap(self->fd, self->page, RW, MAP_SHARED, first.size));
	ASSERT_EQ(0, map_make(self->fd, 1, 1, &second));
	EXPECT_GT(first.records + 1000, second.records);
	EXPECT_EQ(0, munmap(page, self->page));
}

TEST_F(file, armed_before)
{
	struct hwheel_map layout;

	ASSERT_EQ(0, arm(self->fd, NEVER, 0, NULL));
	EXPECT_EQ(-EBUSY, map_make(self->fd, 1, 1, &layout));
	EXPECT_EQ(0, is_not_mapped(self->fd));
	EXPECT_EQ(0, fire(self->fd, 1));
	EXPECT_EQ(-EBUSY, map_make(self->fd, 1, 1, &layout));
	EXPECT_EQ(1, readable(self->fd, 0));
}

/* A refused ARM leaves no timeout behind. */
TEST_F(file, refused_arm_before)
{
	struct hwheel_op op = { .flags = 2 };
	struct hwheel_map layout;

	EXPECT_EQ(-EINVAL, call(self->fd, HWHEEL_IOC_ARM, &op));
	EXPECT_EQ(-ENOENT, cancel(self->fd, 1));
	EXPECT_EQ(0, map_make(self->fd, 1, 1, &layout));
}

TEST_F(file, stopped_before)
{
	struct hwheel_map layout;

	ASSERT_EQ(0, stop(self->fd));
	EXPECT_EQ(-ESHUTDOWN, map_make(self->fd, 1, 1, &layout));
	EXPECT_EQ(-EINVAL, try_mmap(self->fd, self->page, RW, MAP_SHARED, 0));
	EXPECT_EQ(POLLHUP, poll_all(self->fd));
}

TEST_F(file, stopped_afterwards)
{
	struct hwheel_map first, second;

	ASSERT_EQ(0, map_make(self->fd, 10, 2, &first));
	ASSERT_EQ(0, stop(self->fd));
	EXPECT_EQ(-ESHUTDOWN, map_make(self->fd, 10, 2, &second));
	EXPECT_EQ(-EINVAL, try_mmap(self->fd, self->page, RW, MAP_SHARED, first.size));
	EXPECT_EQ(0, try_mmap(self->fd, first.size, RW, MAP_SHARED, 0));
}

TEST_F(file, simple_wheel)
{
	const struct hwheel_config config = {
		.kind = HWHEEL_KIND_SIMPLE, .clock = CLOCK_MONOTONIC,
	};
	struct hwheel_map layout;

	ASSERT_EQ(0, configure(self->fd, &config));
	EXPECT_EQ(-EOPNOTSUPP, map_make(self->fd, 1, 1, &layout));
	EXPECT_EQ(0, is_not_mapped(self->fd));
	EXPECT_EQ(0, arm(self->fd, 0, 0, NULL));
}

TEST_F(file, read_only_file)
{
	int fd = open(DEVICE, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct hwheel_map layout;

	ASSERT_LE(0, fd);
	EXPECT_EQ(-EBADF, map_make(fd, 1, 1, &layout));
	EXPECT_EQ(-EBADF, call(fd, HWHEEL_IOC_KICK, NULL));
	EXPECT_EQ(-EACCES, try_mmap(fd, self->page, RW, MAP_SHARED, 0));
	EXPECT_EQ(-EACCES, try_mmap(fd, self->page, PROT_WRITE, MAP_SHARED, 0));
	EXPECT_EQ(-EINVAL, try_mmap(fd, self->page, PROT_READ, MAP_SHARED, 0));
	EXPECT_EQ(0, close(fd));
}

TEST_F(file, write_only_file)
{
	int fd = open(DEVICE, O_WRONLY | O_CLOEXEC);
	struct hwheel_map layout;

	ASSERT_LE(0, fd);
	EXPECT_EQ(0, map_make(fd, 1, 1, &layout));
	EXPECT_EQ(-EACCES, try_mmap(fd, self->page, RW, MAP_SHARED, 0));
	EXPECT_EQ(-EACCES, try_mmap(fd, self->page, PROT_WRITE, MAP_SHARED, 0));
	EXPECT_EQ(0, call(fd, HWHEEL_IOC_KICK, NULL));
	EXPECT_EQ(0, close(fd));
}

/* Repeated */

/* Whether a second MAP left all that the first one has told */
static bool nothing_moved(const struct hwheel_map *a, const struct hwheel_map *b)
{
	return a->lists == b->lists && a->ring_size == b->ring_size &&
	       a->lists_offset == b->lists_offset && a->ring_offset == b->ring_offset &&
	       a->records_offset == b->records_offset;
}

TEST_F(file, second_map)
{
	struct hwheel_map first, layout, last;
	const __u32 more[] = { 1, 50, 128, 1000, 1 };
	const __u32 lists[] = { 0, 3, 0, 3, 0 };
	size_t i;

	ASSERT_EQ(0, map_make(self->fd, 100, 3, &first));
	last = first;
	for (i = 0; i < ARRAY_SIZE(more); i++) {
		ASSERT_EQ(0, map_make(self->fd, more[i], lists[i], &layout));
		EXPECT_TRUE(layout_is_sound(&layout, last.records + more[i], 3));
		EXPECT_TRUE(nothing_moved(&first, &layout));
		last = layout;
	}
}

TEST_F(file, second_map_refused)
{
	const struct hwheel_map cases[] = {
		{ .records = 0 }, { .records = 0, .lists = 2 }, { .records = 1, .lists = 1 },
		{ .records = 1, .lists = 3 }, { .records = 1, .lists = HWHEEL_MAP_LISTS + 1 },
		{ .records = 1, .lists = UINT32_MAX }, { .records = 1, .flags = 1 },
		{ .records = 1, .lists = 2, .reserved = 1 },
	};
	struct hwheel_map first, map;
	size_t i;

	ASSERT_EQ(0, map_make(self->fd, 10, 2, &first));
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		map = cases[i];
		EXPECT_EQ(-EINVAL, call(self->fd, HWHEEL_IOC_MAP, &map));
		EXPECT_EQ(0, memcmp(&map, &cases[i], sizeof(map)));
	}
	EXPECT_EQ(-ENOSPC, map_make(self->fd, self->info.max_timeouts, 2, &map));
	EXPECT_EQ(-EINVAL, try_mmap(self->fd, self->page, RW, MAP_SHARED, first.size));
	EXPECT_EQ(0, try_mmap(self->fd, first.size, RW, MAP_SHARED, 0));
}

TEST_F(file, as_many_as_there_may_be)
{
	struct hwheel_map layout, first;

	ASSERT_EQ(0, map_make(self->fd, self->info.max_timeouts / 4, 1, &first));
	ASSERT_EQ(0, map_make(self->fd, self->info.max_timeouts / 4, 0, &layout));
	ASSERT_GT(self->info.max_timeouts, layout.records);
	ASSERT_EQ(0, map_make(self->fd, self->info.max_timeouts - layout.records, 0, &layout));
	EXPECT_TRUE(layout_is_sound(&layout, self->info.max_timeouts, 1));
	EXPECT_TRUE(nothing_moved(&first, &layout));
	EXPECT_EQ(-ENOSPC, map_make(self->fd, 1, 0, &layout));
}

/* A second MAP leaves the memory of the first one alone, and its records are idle. */
TEST(second_map_keeps_memory)
{
	size_t size, i, wrong = 0;
	struct map map;
	__u32 before;
	char *copy;

	if (!map_is_supported())
		SKIP(return, "this kernel has no mapped timeouts");
	ASSERT_EQ(0, map_open_shared(&map, 100, 2));
	before = map.layout.records;
	size = map.layout.size;
	copy = malloc(size);
	memset(map.records, 0x33, before * sizeof(*map.records));
	memcpy(copy, map.base, size);
	ASSERT_EQ(0, map_extend(&map, 1000));
	EXPECT_EQ(0, memcmp(copy, map.base, size));
	for (i = before; i < map.layout.records; i++)
		wrong += map.records[i].word != HWHEEL_MAP_IDLE || map.records[i].fired_ns ||
			 map.records[i].cookie || map.records[i].link ||
			 map.records[i].generation;
	EXPECT_EQ(0, wrong);
	EXPECT_EQ(0, map_close(&map));
	free(copy);
}

/* mmap() maps the second segment alone, while the first one is mapped. */
TEST(second_map_by_itself)
{
	struct hwheel_map_record *added;
	struct hwheel_map layout;
	struct map map;
	size_t size;
	__u32 i;

	if (!map_is_supported())
		SKIP(return, "this kernel has no mapped timeouts");
	ASSERT_EQ(0, map_open_shared(&map, 100, 2));
	ASSERT_EQ(0, map_make(map.fd, 100, 0, &layout));
	size = layout.size - map.layout.size;
	added = mmap(NULL, size, RW, MAP_SHARED, map.fd, map.layout.size);
	ASSERT_NE(MAP_FAILED, added);
	EXPECT_EQ((layout.records - map.layout.records) * sizeof(*added), size);
	added[0].cookie = 77;
	i = map.layout.records;
	ASSERT_EQ(0, munmap(map.base, map.layout.size));
	map.layout = layout;
	ASSERT_EQ(0, map_memory(&map));
	EXPECT_EQ(77, map.records[i].cookie);
	ASSERT_EQ(0, map_arm(&map, 1, i, 0));
	EXPECT_EQ(0, map_expect(&map, i, 0));
	EXPECT_EQ(HWHEEL_MAP_IDLE, added[0].word & HWHEEL_MAP_STATE);
	EXPECT_EQ(0, munmap(added, size));
	EXPECT_EQ(0, map_close(&map));
}

/* Pending timeouts go on while MAP adds segments, and all segments share one ring. */
TEST(second_map_while_pending)
{
	unsigned int *seen;
	struct map map;
	__u32 n, i;

	if (!map_is_supported())
		SKIP(return, "this kernel has no mapped timeouts");
	ASSERT_EQ(0, map_open_shared(&map, 100, 1));
	n = map.layout.records;
	ASSERT_EQ(0, map_arm_many(&map, n, map_now(&map) + 50 * MSEC));
	for (i = 0; i < 5; i++)
		ASSERT_EQ(0, map_extend(&map, 200));
	for (; n < map.layout.records; n++)
		ASSERT_EQ(0, map_arm_in(&map, 0, n, n % 50 * MSEC));
	seen = calloc(n, sizeof(*seen));
	EXPECT_EQ(0, map_collect(&map, seen, n, n));
	EXPECT_TRUE(each_once(seen, n));
	EXPECT_EQ(0, map_stays_quiet(&map, map_now(&map)));
	EXPECT_EQ(0, map_close(&map));
	free(seen);
}

#define RACERS		2
#define SEGMENTS	50

struct racer {
	int		fd;
	unsigned int	*ends;
	int		ret;
};

/* Counts how often MAP has returned each number of records. */
static void *map_more_and_more(void *data)
{
	struct racer *racer = data;
	struct hwheel_map layout;
	int i;

	for (i = 0; !racer->ret && i < SEGMENTS; i++) {
		racer->ret = map_make(racer->fd, 10, 2, &layout);
		if (!racer->ret && !layout_is_sound(&layout, 10, 2))
			racer->ret = -EPROTO;
		if (!racer->ret)
			__atomic_add_fetch(&racer->ends[layout.records], 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

TEST_F(file, two_threads_map)
{
	unsigned int *ends = calloc(self->info.max_timeouts + 1, sizeof(*ends)), n = 0, i;
	struct racer racers[RACERS];
	pthread_t threads[RACERS];

	ASSERT_NE(NULL, ends);
	for (i = 0; i < RACERS; i++) {
		racers[i] = (struct racer){ .fd = self->fd, .ends = ends };
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, map_more_and_more, &racers[i]));
	}
	for (i = 0; i < RACERS; i++) {
		ASSERT_EQ(0, pthread_join(threads[i], NULL));
		EXPECT_EQ(0, racers[i].ret);
	}
	for (i = 0; i <= self->info.max_timeouts; i++)
		n += ends[i] == 1;
	EXPECT_EQ(RACERS * SEGMENTS, n);
	free(ends);
}

/* The other ioctls on a mapped file */

FIXTURE(mapped)
{
	struct map	map;
	size_t		page;
	long		users;
};

FIXTURE_SETUP(mapped)
{
	if (!map_is_supported())
		SKIP(return, "this kernel has no mapped timeouts");
	self->users = users_of_module();
	self->page = page_size();
	ASSERT_EQ(0, map_open_shared(&self->map, 100, 2));
}

/* Tests that unmap it, or close the file, say so. */
FIXTURE_TEARDOWN(mapped)
{
	if (self->map.base)
		EXPECT_EQ(0, map_unmap(&self->map));
	if (self->map.fd >= 0)
		EXPECT_EQ(0, close(self->map.fd));
	EXPECT_EQ(0, await_users(self->users));
}

/* 0 if a timeout fires in this mapping. */
static int works(struct map *m)
{
	__u64 deadline = map_now(m) + MSEC;

	return map_arm(m, 1, 5, deadline) ?: map_expect(m, 5, deadline);
}

TEST_F(mapped, no_arm)
{
	struct hwheel_op op = { .op = HWHEEL_OP_ARM, .cookie = 3, .time_ns = 5 }, before = op;
	struct hwheel_submit batch = { .ops = (uintptr_t)&op, .nr = 1 };
	struct hwheel_file_stats stats;

	EXPECT_EQ(-EOPNOTSUPP, call(self->map.fd, HWHEEL_IOC_ARM, &op));
	EXPECT_EQ(0, memcmp(&op, &before, sizeof(op)));
	EXPECT_EQ(1, call(self->map.fd, HWHEEL_IOC_SUBMIT, &batch));
	EXPECT_EQ(-EOPNOTSUPP, op.result);
	ASSERT_EQ(0, get_stats(self->map.fd, &stats));
	EXPECT_EQ(0, stats.armed);
	EXPECT_EQ(0, works(&self->map));
}

/* A mapped file has no ids: neither an index nor another number is one. */
TEST_F(mapped, no_ids)
{
	const __u64 ids[] = { 1, 2, 5, 1ULL << 32, (1ULL << 32) + 1, UINT64_MAX };
	struct hwheel_op op;
	size_t i;

	ASSERT_EQ(0, map_arm(&self->map, 0, 1, NEVER));
	for (i = 0; i < ARRAY_SIZE(ids); i++) {
		EXPECT_EQ(-ENOENT, refresh(self->map.fd, ids[i], 0));
		EXPECT_EQ(-ENOENT, cancel(self->map.fd, ids[i]));
		EXPECT_EQ(-ENOENT, query(self->map.fd, ids[i], 0, &op));
	}
	EXPECT_EQ(HWHEEL_MAP_PENDING, map_state(&self->map, 1));
	EXPECT_EQ(0, works(&self->map));
}

/* read() fails whether an event waits or not, and never blocks. */
TEST_F(mapped, no_read)
{
	struct hwheel_event ev[2];
	struct iovec iov = { ev, sizeof(ev) };

	ASSERT_EQ(0, set_blocking_file(self->map.fd));
	EXPECT_EQ(-EOPNOTSUPP, read_raw(self->map.fd, ev, 2));
	ASSERT_EQ(0, map_arm(&self->map, 0, 0, 0));
	ASSERT_EQ(1, readable(self->map.fd, WAIT_MS));
	EXPECT_EQ(-EOPNOTSUPP, read_raw(self->map.fd, ev, 1));
	EXPECT_EQ(-1, readv(self->map.fd, &iov, 1));
	EXPECT_EQ(EOPNOTSUPP, errno);
	EXPECT_EQ(0, map_expect(&self->map, 0, 0));
}

struct reader {
	int	fd;
	pid_t	tid;
	int	ret;
};

static void *sleep_in_read(void *data)
{
	struct reader *reader = data;
	struct hwheel_event ev;

	__atomic_store_n(&reader->tid, gettid(), __ATOMIC_RELEASE);
	reader->ret = read_raw(reader->fd, &ev, 1);
	return NULL;
}

static int start_reader(pthread_t *thread, struct reader *reader, int fd)
{
	*reader = (struct reader){ .fd = fd };
	return start_waiting(thread, &reader->tid, sleep_in_read, reader);
}

#define READERS	3

/* They would take the wake-ups of threads that wait in poll(). */
TEST_F(file, readers_from_before)
{
	struct reader readers[READERS];
	pthread_t threads[READERS];
	struct hwheel_map layout;
	int i;

	ASSERT_EQ(0, set_blocking_file(self->fd));
	for (i = 0; i < READERS; i++)
		ASSERT_EQ(0, start_reader(&threads[i], &readers[i], self->fd));
	ASSERT_EQ(0, map_make(self->fd, 1, 1, &layout));
	for (i = 0; i < READERS; i++) {
		ASSERT_EQ(0, pthread_join(threads[i], NULL));
		EXPECT_EQ(-EOPNOTSUPP, readers[i].ret);
	}
}

TEST_F(mapped, config_after_it)
{
	const struct hwheel_config changes[] = {
		{ .max_timeouts = 10, .clock = CLOCK_MONOTONIC },
		{ .kind = HWHEEL_KIND_HASHED, .tick_ns = MSEC, .clock = CLOCK_MONOTONIC },
		{ .kind = HWHEEL_KIND_SIMPLE, .clock = CLOCK_MONOTONIC },
		{ .kind = HWHEEL_KIND_HASHED, .clock = CLOCK_BOOTTIME },
	};
	struct hwheel_info before, after;
	size_t i;

	ASSERT_EQ(0, get_info(self->map.fd, &before));
	for (i = 0; i < ARRAY_SIZE(changes); i++)
		EXPECT_EQ(-EBUSY, configure(self->map.fd, &changes[i]));
	ASSERT_EQ(0, get_info(self->map.fd, &after));
	EXPECT_EQ(0, memcmp(&before, &after, sizeof(after)));
	EXPECT_EQ(0, works(&self->map));
}

/* MAP works on each kind of wheel but the simple one, and on each clock. */
TEST_F(file, config_before_it)
{
	const struct hwheel_config configs[] = {
		{ .max_timeouts = 1000, .clock = CLOCK_MONOTONIC },
		{ .kind = HWHEEL_KIND_HASHED, .tick_ns = MSEC, .clock = CLOCK_MONOTONIC },
		{ .kind = HWHEEL_KIND_HASHED, .tick_ns = MSEC, .clock = CLOCK_BOOTTIME },
		{ .kind = HWHEEL_KIND_HIERARCHICAL, .tick_ns = MSEC, .slots = 8,
		  .clock = CLOCK_MONOTONIC },
		{ .kind = HWHEEL_KIND_HIERARCHICAL, .slots = 64, .clock = CLOCK_BOOTTIME },
	};
	struct map map;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(configs); i++) {
		ASSERT_EQ(0, map_open(&map, &configs[i], 100, 2));
		EXPECT_EQ(0, map.header->clock_offset_ns);
		EXPECT_EQ(0, works(&map));
		EXPECT_EQ(0, map_close(&map));
	}
}

TEST_F(mapped, kick)
{
	int i;

	ASSERT_EQ(0, map_arm(&self->map, 0, 0, NEVER));
	for (i = 0; i < 1000; i++)
		ASSERT_EQ(0, call(self->map.fd, HWHEEL_IOC_KICK, NULL));
	EXPECT_EQ(0, call(self->map.fd, HWHEEL_IOC_KICK, (void *)8));
	EXPECT_EQ(0, map_stays_quiet(&self->map, map_now(&self->map)));
	EXPECT_EQ(HWHEEL_MAP_PENDING, map_state(&self->map, 0));
	ASSERT_EQ(1, stop(self->map.fd));
	EXPECT_EQ(0, call(self->map.fd, HWHEEL_IOC_KICK, NULL));
}

/* Which mappings there are */

static sigjmp_buf escape;

static void jump_out(int sig)
{
	siglongjmp(escape, sig);
}

/* The signal that an access to that byte raises, or 0 */
static int signal_at(char *byte, bool write)
{
	const struct sigaction jump = { .sa_handler = jump_out };
	int sig;

	sigaction(SIGBUS, &jump, NULL);
	sigaction(SIGSEGV, &jump, NULL);
	sig = sigsetjmp(escape, 1);
	if (!sig && write)
		__atomic_fetch_or(byte, 0, __ATOMIC_RELAXED);
	else if (!sig)
		(void)__atomic_load_n(byte, __ATOMIC_RELAXED);
	signal(SIGBUS, SIG_DFL);
	signal(SIGSEGV, SIG_DFL);
	return sig;
}

TEST_F(mapped, private_mapping)
{
	size_t page = self->page;
	int fd = self->map.fd;

	EXPECT_EQ(-EINVAL, try_mmap(fd, page, RW, MAP_PRIVATE, 0));
	EXPECT_EQ(-EINVAL, try_mmap(fd, page, PROT_READ, MAP_PRIVATE, 0));
	EXPECT_EQ(-EINVAL, try_mmap(fd, page, PROT_NONE, MAP_PRIVATE, 0));
	EXPECT_EQ(0, try_mmap(fd, page, PROT_NONE, MAP_SHARED, 0));
	EXPECT_EQ(0, try_mmap(fd, page, PROT_READ, MAP_SHARED, 0));
}

TEST_F(mapped, any_part)
{
	size_t page = self->page, size = self->map.layout.size, at;
	int fd = self->map.fd;

	for (at = 0; at < size; at += page) {
		EXPECT_EQ(0, try_mmap(fd, page, RW, MAP_SHARED, at));
		EXPECT_EQ(0, try_mmap(fd, 1, RW, MAP_SHARED, at));
		EXPECT_EQ(0, try_mmap(fd, size - at, RW, MAP_SHARED, at));
	}
	EXPECT_EQ(-EINVAL, try_mmap(fd, 0, RW, MAP_SHARED, 0));
	EXPECT_EQ(-EINVAL, try_mmap(fd, page, RW, MAP_SHARED, 8));
}

TEST_F(mapped, beyond_the_end)
{
	size_t page = self->page, size = self->map.layout.size;
	int fd = self->map.fd;

	EXPECT_EQ(-EINVAL, try_mmap(fd, page, RW, MAP_SHARED, size));
	EXPECT_EQ(-EINVAL, try_mmap(fd, page, RW, MAP_SHARED, size + page));
	EXPECT_EQ(-EINVAL, try_mmap(fd, page, RW, MAP_SHARED, size + 1000 * page));
	EXPECT_EQ(-EINVAL, try_mmap(fd, page, RW, MAP_SHARED, 1 << 30));
}

/* A mapping that begins within the memory must end there. A second MAP moves the end. */
TEST_F(mapped, across_the_end)
{
	size_t page = self->page, size = self->map.layout.size;
	struct hwheel_map layout;
	int fd = self->map.fd;

	EXPECT_EQ(-EINVAL, try_mmap(fd, size + 1, RW, MAP_SHARED, 0));
	EXPECT_EQ(-EINVAL, try_mmap(fd, size + page, PROT_READ, MAP_SHARED, 0));
	EXPECT_EQ(-EINVAL, try_mmap(fd, 2 * page, RW, MAP_SHARED, size - page));
	EXPECT_EQ(-EINVAL, try_mmap(fd, 1 << 30, RW, MAP_SHARED, page));
	ASSERT_EQ(0, map_make(fd, 1, 0, &layout));
	ASSERT_LT(size, layout.size);
	EXPECT_EQ(0, try_mmap(fd, layout.size, RW, MAP_SHARED, 0));
	EXPECT_EQ(0, try_mmap(fd, 2 * page, RW, MAP_SHARED, size - page));
	EXPECT_EQ(-EINVAL, try_mmap(fd, layout.size + 1, RW, MAP_SHARED, 0));
	EXPECT_EQ(0, works(&self->map));
}

/* Each byte that mmap() maps is there. */
TEST_F(mapped, all_bytes)
{
	size_t size = self->map.layout.size, at;

	for (at = 0; at < size; at += self->page) {
		EXPECT_EQ(0, signal_at(self->map.base + at, true));
		EXPECT_EQ(0, signal_at(self->map.base + at + self->page - 1, true));
	}
	EXPECT_EQ(0, works(&self->map));
}

TEST_F(mapped, read_only_mapping)
{
	size_t size = self->map.layout.size;
	char *base = mmap(NULL, size, PROT_READ, MAP_SHARED, self->map.fd, 0);

	ASSERT_NE(MAP_FAILED, base);
	EXPECT_EQ(0, signal_at(base, false));
	EXPECT_EQ(SIGSEGV, signal_at(base, true));
	EXPECT_EQ(-EFAULT, call(self->map.fd, HWHEEL_IOC_INFO, base));
	EXPECT_EQ(HWHEEL_MAP_VERSION, ((struct hwheel_map_header *)base)->version);
	EXPECT_EQ(0, mprotect(base, size, RW));
	EXPECT_EQ(0, signal_at(base, true));
	EXPECT_EQ(0, munmap(base, size));
}

TEST_F(mapped, mapped_twice)
{
	struct map second = self->map;

	ASSERT_EQ(0, map_memory(&second));
	ASSERT_NE(self->map.base, second.base);
	EXPECT_EQ(0, works(&second));
	ASSERT_EQ(0, map_arm(&self->map, 0, 3, 0));
	EXPECT_EQ(0, map_expect(&second, 3, 0));
	EXPECT_EQ(0, munmap(second.base, second.layout.size));
	EXPECT_EQ(0, works(&self->map));
}

TEST_F(mapped, mremap_larger)
{
	size_t size = self->map.layout.size;
	struct hwheel_map layout;

	ASSERT_EQ(0, map_make(self->map.fd, 1000, 0, &layout));
	EXPECT_EQ(MAP_FAILED, mremap(self->map.base, size, layout.size, 0));
	EXPECT_EQ(MAP_FAILED, mremap(self->map.base, size, layout.size, MREMAP_MAYMOVE));
	EXPECT_EQ(MAP_FAILED, mremap(self->map.base, size, size + self->page, MREMAP_MAYMOVE));
	EXPECT_EQ(0, works(&self->map));
}

TEST_F(mapped, mremap_smaller)
{
	struct map second = self->map;
	size_t size = second.layout.size;

	ASSERT_EQ(0, map_memory(&second));
	ASSERT_LT(self->page, size);
	EXPECT_EQ(second.base, mremap(second.base, size, self->page, 0));
	EXPECT_EQ(SIGSEGV, signal_at(second.base + self->page, false));
	EXPECT_EQ(HWHEEL_MAP_VERSION, second.header->version);
	EXPECT_EQ(0, munmap(second.base, self->page));
	EXPECT_EQ(0, works(&self->map));
}

TEST_F(mapped, mremap_moves)
{
	void *to = mmap(NULL, self->map.layout.size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);
	__u64 deadline = map_now(&self->map) + 20 * MSEC;
	size_t size = self->map.layout.size;
	char *before = self->map.base;

	ASSERT_NE(MAP_FAILED, to);
	ASSERT_EQ(0, map_arm(&self->map, 0, 3, deadline));
	ASSERT_EQ(to, mremap(before, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, to));
	map_place(&self->map, to);
	EXPECT_EQ(SIGSEGV, signal_at(before, false));
	EXPECT_EQ(0, map_expect(&self->map, 3, deadline));
	EXPECT_EQ(0, works(&self->map));
}

/* madvise() does not change the contents of the memory. */
TEST_F(mapped, madvise)
{
	const int advice[] = {
		MADV_DONTNEED, MADV_REMOVE, MADV_FREE, MADV_COLD, MADV_PAGEOUT, MADV_DONTNEED,
	};
	size_t i;

	ASSERT_EQ(0, map_arm(&self->map, 0, 2, NEVER));
	ASSERT_EQ(0, map_await_filed(&self->map, 2));
	self->map.records[2].cookie = 1234;
	for (i = 0; i < ARRAY_SIZE(advice); i++) {
		madvise(self->map.base, self->map.layout.size, advice[i]);
		EXPECT_EQ(1234, self->map.records[2].cookie);
		EXPECT_EQ(map_word(NEVER), map_load(&self->map, 2));
	}
	EXPECT_EQ(0, works(&self->map));
}

TEST_F(mapped, mlock)
{
	ASSERT_EQ(0, mlock(self->map.base, self->map.layout.size));
	EXPECT_EQ(0, works(&self->map));
	ASSERT_EQ(0, munlock(self->map.base, self->map.layout.size));
	EXPECT_EQ(0, works(&self->map));
}

/* In several hands */

TEST_F(mapped, child_has_no_mapping)
{
	EXPECT_EQ(-SIGSEGV, IN_CHILD(-signal_at(self->map.base, false)));
	EXPECT_EQ(0, works(&self->map));
}

/* In another process, as one more thread */
static int take_part_at_once(struct map *m)
{
	return map_expect(m, 7, 0) ?: map_arm_in(m, 1, 8, MSEC);
}

/* A process that has the file maps it anew and takes part. */
static int take_part(struct map *m)
{
	return map_memory(m) ?: take_part_at_once(m);
}

TEST_F(mapped, child_maps_anew)
{
	ASSERT_EQ(0, map_arm(&self->map, 0, 7, 0));
	EXPECT_EQ(0, IN_CHILD(take_part(&self->map)));
	EXPECT_EQ(0, map_expect(&self->map, 8, map_deadline(map_load(&self->map, 8))));
	EXPECT_EQ(0, map_stays_quiet(&self->map, map_now(&self->map)));
}

/* Nothing but the program keeps the two apart. */
TEST_F(mapped, child_with_the_mapping)
{
	ASSERT_EQ(0, madvise(self->map.base, self->map.layout.size, MADV_DOFORK));
	ASSERT_EQ(0, map_arm(&self->map, 0, 7, 0));
	EXPECT_EQ(0, IN_CHILD(take_part_at_once(&self->map)));
	EXPECT_EQ(0, map_expect(&self->map, 8, map_deadline(map_load(&self->map, 8))));
}

TEST_F(mapped, sent)
{
	int sockets[2];
	pid_t pid;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets));
	ASSERT_EQ(0, map_arm(&self->map, 0, 7, 0));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		close(self->map.fd);
		self->map.fd = receive_file(sockets[1]);
		_exit(-take_part(&self->map));
	}
	ASSERT_EQ(0, send_file(sockets[0], self->map.fd));
	EXPECT_EQ(0, reap(pid));
	EXPECT_EQ(0, map_expect(&self->map, 8, map_deadline(map_load(&self->map, 8))));
	EXPECT_EQ(0, close(sockets[0]) | close(sockets[1]));
}

TEST_F(mapped, dup)
{
	struct map second = self->map;

	second.fd = dup(self->map.fd);
	ASSERT_LE(0, second.fd);
	ASSERT_EQ(0, map_memory(&second));
	EXPECT_EQ(0, works(&second));
	ASSERT_EQ(0, map_arm(&self->map, 0, 3, 0));
	EXPECT_EQ(0, map_expect(&second, 3, 0));
	EXPECT_EQ(0, map_close(&second));
	EXPECT_EQ(0, works(&self->map));
}

/* Each open file has memory of its own. */
TEST_F(mapped, another_file)
{
	struct map other;

	ASSERT_EQ(0, map_open_shared(&other, 100, 2));
	ASSERT_EQ(0, map_arm(&self->map, 0, 3, 0));
	ASSERT_EQ(1, readable(self->map.fd, WAIT_MS));
	EXPECT_EQ(0, differs_from_new(&other));
	EXPECT_EQ(0, poll_all(other.fd));
	EXPECT_EQ(0, map_close(&other));
	EXPECT_EQ(0, map_expect(&self->map, 3, 0));
}

/* Life */

/* The events of a process that has lost its mapping, as by exec, wait for the next one. */
TEST_F(mapped, unmapped_while_pending)
{
	__u64 deadline = map_now(&self->map) + 20 * MSEC;

	ASSERT_EQ(0, map_arm(&self->map, 0, 3, deadline));
	ASSERT_EQ(0, map_arm(&self->map, 0, 4, NEVER));
	ASSERT_EQ(0, map_unmap(&self->map));
	EXPECT_EQ(1, readable(self->map.fd, WAIT_MS));
	ASSERT_EQ(0, map_memory(&self->map));
	EXPECT_EQ(0, map_expect(&self->map, 3, deadline));
	EXPECT_EQ(HWHEEL_MAP_PENDING, map_state(&self->map, 4));
	EXPECT_EQ(0, works(&self->map));
}

/* The mapping alone keeps the file, and its timeouts go on. */
TEST_F(mapped, close_keeps_it)
{
	__u64 deadline = map_now(&self->map) + 100 * MSEC;

	ASSERT_EQ(0, map_arm(&self->map, 0, 3, deadline));
	ASSERT_EQ(0, close(self->map.fd));
	self->map.fd = -1;
	EXPECT_EQ(0, map_await_state(&self->map, 3, HWHEEL_MAP_EXPIRED));
	EXPECT_LE(round_up_8(deadline), self->map.records[3].fired_ns);
	EXPECT_EQ(0, map_await_unread(&self->map, 1));
	if (self->users >= 0)
		EXPECT_EQ(self->users + 1, users_of_module());
}

TEST_F(mapped, munmap_after_close)
{
	ASSERT_EQ(0, map_arm_many(&self->map, 50, NEVER));
	ASSERT_EQ(0, close(self->map.fd));
	self->map.fd = -1;
	ASSERT_EQ(0, map_unmap(&self->map));
	self->map.base = NULL;
	EXPECT_EQ(0, await_users(self->users));
}

TEST_F(mapped, close_after_munmap)
{
	ASSERT_EQ(0, map_arm_many(&self->map, 50, NEVER));
	ASSERT_EQ(0, map_unmap(&self->map));
	self->map.base = NULL;
	EXPECT_EQ(50, stop(self->map.fd));
	EXPECT_EQ(POLLIN | POLLRDNORM, poll_all(self->map.fd));
	ASSERT_EQ(0, close(self->map.fd));
	self->map.fd = -1;
	EXPECT_EQ(0, await_users(self->users));
}

static int kill_oneself_mapped(int ready)
{
	struct map map;
	char byte = 0;

	if (map_open_shared(&map, 1000, 1) || map_arm_many(&map, 500, NEVER) ||
	    write(ready, &byte, 1) != 1)
		return -EPROTO;
	return raise(SIGKILL);
}

TEST_F(mapped, killed)
{
	int ends[2];
	char byte;
	pid_t pid;

	ASSERT_EQ(0, pipe(ends));
	pid = START_CHILD(kill_oneself_mapped(ends[1]));
	ASSERT_LE(0, pid);
	ASSERT_EQ(1, read(ends[0], &byte, 1));
	EXPECT_EQ(-EINTR, reap(pid));
	if (self->users >= 0)
		EXPECT_EQ(0, await_users(self->users + 1));
	EXPECT_EQ(0, works(&self->map));
	EXPECT_EQ(0, close(ends[0]) | close(ends[1]));
}

/* Memory alone bounds how many files of a wheel are mapped. */
TEST_F(file, of_a_user)
{
	__u64 limit = allow_bytes(UINT64_MAX);
	int fds[MAX_MAPPED], i;
	struct hwheel_map layout;

	for (i = 0; i < MAX_MAPPED; i++) {
		fds[i] = open_device(O_NONBLOCK);
		ASSERT_LE(0, fds[i]);
		ASSERT_EQ(0, map_make(fds[i], 1, 1, &layout));
	}
	EXPECT_EQ(0, map_make(self->fd, 1, 1, &layout));
	for (i = 0; i < MAX_MAPPED; i++)
		EXPECT_EQ(0, close(fds[i]));
	allow_bytes(limit);
}

/* Time namespaces: the opener's clock is not the machine's. */

static int write_offsets(void)
{
	static const char text[] = "monotonic 86400 5\nboottime 172800 0\n";
	int fd = open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC), ret;

	if (fd < 0)
		return -errno;
	ret = write(fd, text, sizeof(text) - 1) < 0 ? -errno : 0;
	close(fd);
	return ret;
}

/* @offset: what @clock shows here more than outside, where it has shown @outside before */
static int works_there(clockid_t clock, __u64 offset, __u64 outside)
{
	const struct hwheel_config config = {
		.tick_ns = MSEC, .kind = HWHEEL_KIND_HASHED, .clock = clock,
	};
	struct map_event event;
	struct map map;
	__u64 deadline;

	if (map_open(&map, &config, 10, 2))
		return -EPROTO;
	if (map.header->clock_offset_ns != offset)
		return -ERANGE;
	deadline = clock_ns(clock) - offset + 5 * MSEC;
	if (map_arm(&map, 0, 3, deadline) || map_next_of(&map, 3, &event))
		return -EPROTO;
	/* The offset is a day or two: a time with the offset would be far off. */
	if (event.fired_ns < deadline || event.fired_ns + offset > clock_ns(clock) ||
	    event.fired_ns > outside + DAY / 2)
		return -ETIME;
	return map_close(&map);
}

TEST(time_namespace)
{
	__u64 monotonic = clock_ns(CLOCK_MONOTONIC), boottime = clock_ns(CLOCK_BOOTTIME);

	if (!map_is_supported())
		SKIP(return, "this kernel has no mapped timeouts");
	if (unshare(CLONE_NEWTIME))
		SKIP(return, "no time namespaces");
	ASSERT_EQ(0, write_offsets());
	EXPECT_EQ(0, IN_CHILD(works_there(CLOCK_MONOTONIC, DAY + 5, monotonic) ?:
			      works_there(CLOCK_BOOTTIME, 2 * DAY, boottime)));
}

TEST_HARNESS_MAIN
