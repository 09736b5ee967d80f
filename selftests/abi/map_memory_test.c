// SPDX-License-Identifier: GPL-2.0-only
/*
 * The memory of mapped timeouts as memory: parts of it that are unmapped, system calls that
 * find their arguments there, its charge, and an argument of MAP whose memory changes.
 */

#include "share.h"
#include "map.h"
#include "toggled_memory.h"
#include "userfault.h"

#include <sys/mount.h>
#include <sys/stat.h>

#define RW	(PROT_READ | PROT_WRITE)

/* 0 if a timeout fires in this mapping. */
static int works(struct map *m)
{
	__u64 deadline = map_now(m) + MSEC;

	return map_arm(m, 1, 5, deadline) ?: map_expect(m, 5, deadline);
}

static __u64 held(int fd)
{
	struct hwheel_file_stats stats;

	return get_stats(fd, &stats) ? POISON64 : stats.held;
}

/* Nothing was made in it. */
static bool is_new(int fd)
{
	const struct hwheel_config config = { .clock = CLOCK_MONOTONIC };

	return !held(fd) && !configure(fd, &config);
}

/* Can the byte be read? The kernel tries, so that no signal comes. */
static bool is_there(const char *at)
{
	int ends[2];
	bool there;

	if (pipe(ends))
		return false;
	there = write(ends[1], at, 1) == 1;
	close(ends[0]);
	close(ends[1]);
	return there;
}

/* Two lists, and two pages of records at least */
FIXTURE(memory)
{
	struct map	map;
	size_t		page;
	long		users;
};

FIXTURE_SETUP(memory)
{
	if (!map_is_supported())
		SKIP(return, "this kernel has no mapped timeouts");
	self->page = page_size();
	self->users = users_of_module();
	ASSERT_EQ(0, map_open_shared(&self->map, 2 * self->page / sizeof(*self->map.records), 2));
}

FIXTURE_TEARDOWN(memory)
{
	EXPECT_EQ(0, map_close(&self->map));
	EXPECT_EQ(0, await_users(self->users));
}

/* Parts */

/* The worker goes on with a page that the program has unmapped. */
TEST_F(memory, munmap_of_each_page)
{
	struct map *m = &self->map;
	size_t at;

	for (at = 0; at < m->layout.size; at += self->page) {
		__u64 deadline = map_now(m) + MSEC;
		char *page = m->base + at;

		ASSERT_EQ(0, map_arm(m, 1, 5, deadline));
		ASSERT_EQ(0, munmap(page, self->page));
		EXPECT_FALSE(is_there(page));
		EXPECT_EQ(1, readable(m->fd, WAIT_MS));
		ASSERT_EQ(page, mmap(page, self->page, RW, MAP_SHARED | MAP_FIXED, m->fd, at));
		EXPECT_EQ(0, map_expect(m, 5, deadline));
	}
	EXPECT_EQ(0, works(m));
}

/* Each page by a mapping of its own, the last one first */
TEST_F(memory, mapped_in_pieces)
{
	struct map *m = &self->map;
	size_t at = m->layout.size;

	ASSERT_EQ(0, map_unmap(m));
	ASSERT_EQ(m->base, mmap(m->base, at, PROT_NONE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0));
	while (at) {
		at -= self->page;
		ASSERT_EQ(m->base + at, mmap(m->base + at, self->page, RW,
					     MAP_SHARED | MAP_FIXED, m->fd, at));
	}
	EXPECT_EQ(0, works(m));
}

/* The kernel asks the device also about a mapping that goes on where another one ends. */
TEST_F(memory, ends_beside_a_mapping)
{
	struct map *m = &self->map;
	size_t size = m->layout.size;
	char *room = mmap(NULL, size + self->page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct hwheel_map layout;

	ASSERT_NE(MAP_FAILED, room);
	ASSERT_EQ(room, mmap(room, size, RW, MAP_SHARED | MAP_FIXED, m->fd, 0));
	EXPECT_EQ(MAP_FAILED, mmap(room + size, self->page, RW, MAP_SHARED | MAP_FIXED, m->fd,
				   size));
	EXPECT_EQ(EINVAL, errno);
	ASSERT_EQ(0, map_make(m->fd, 1, 0, &layout));
	EXPECT_EQ(room + size, mmap(room + size, self->page, RW, MAP_SHARED | MAP_FIXED, m->fd,
				    size));
	EXPECT_TRUE(is_there(room + size));
	EXPECT_EQ(0, munmap(room, size + self->page));
}

/* Elsewhere an mremap() of no pages makes another mapping of the same ones. */
TEST_F(memory, mremap_copies_nothing)
{
	EXPECT_EQ(MAP_FAILED, mremap(self->map.base, 0, self->page, MREMAP_MAYMOVE));
	EXPECT_EQ(MAP_FAILED, mremap(self->map.base, 0, self->map.layout.size, MREMAP_MAYMOVE));
	EXPECT_EQ(0, works(&self->map));
}

TEST_F(memory, mlockall)
{
	struct map second = self->map;

	ASSERT_EQ(0, mlockall(MCL_CURRENT | MCL_FUTURE));
	ASSERT_EQ(0, map_memory(&second));
	EXPECT_EQ(0, works(&second));
	EXPECT_EQ(0, map_unmap(&second));
	EXPECT_EQ(0, munlockall());
	EXPECT_EQ(0, works(&self->map));
}

/* As a debugger writes it */
TEST_F(memory, written_by_proc)
{
	struct map *m = &self->map;
	int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	__u64 deadline = map_now(m) + 5 * MSEC, word = map_word(deadline) | HWHEEL_MAP_QUEUED;
	__u64 read = 0;

	ASSERT_LE(0, fd);
	ASSERT_EQ(sizeof(word), pwrite(fd, &word, sizeof(word), (uintptr_t)&m->records[7].word));
	ASSERT_EQ(0, map_push(m, 0, 7));
	EXPECT_EQ(0, map_await_state(m, 7, HWHEEL_MAP_EXPIRED));
	EXPECT_EQ(sizeof(read), pread(fd, &read, sizeof(read), (uintptr_t)&m->records[7].word));
	EXPECT_EQ(map_word(deadline) | HWHEEL_MAP_EXPIRED, read);
	EXPECT_EQ(0, map_expect(m, 7, deadline));
	EXPECT_EQ(0, close(fd));
}

/* Arguments of system calls in records that are not used; their pages are faulted in. */

/* Drops the pages, and returns where those records are. */
static void *dropped(struct map *m)
{
	if (madvise(m->base, m->layout.size, MADV_DONTNEED))
		return NULL;
	return &m->records[10];
}

TEST_F(memory, operation_in_it)
{
	int fd = open_device(O_NONBLOCK);
	struct hwheel_op *op = dropped(&self->map);
	__u64 id;

	ASSERT_LE(0, fd);
	*op = (struct hwheel_op){ .cookie = 7, .time_ns = NEVER };
	ASSERT_EQ(op, dropped(&self->map));
	ASSERT_EQ(0, call(fd, HWHEEL_IOC_ARM, op));
	id = op->id;
	*op = (struct hwheel_op){ .id = id };
	ASSERT_EQ(op, dropped(&self->map));
	ASSERT_EQ(HWHEEL_STATE_PENDING, call(fd, HWHEEL_IOC_QUERY, op));
	EXPECT_EQ(7, op->cookie);
	EXPECT_EQ(0, cancel(fd, id));
	EXPECT_EQ(0, close(fd));
	EXPECT_EQ(0, works(&self->map));
}

TEST_F(memory, batch_and_events_in_it)
{
	unsigned int seen[20] = { 0 }, i;
	int fd = open_device(O_NONBLOCK);
	struct hwheel_op *ops = dropped(&self->map);
	struct hwheel_event *ev = (void *)ops;

	ASSERT_LE(0, fd);
	for (i = 0; i < 20; i++)
		ops[i] = (struct hwheel_op){ .op = HWHEEL_OP_ARM, .cookie = i };
	ASSERT_EQ(ops, dropped(&self->map));
	ASSERT_EQ(20, submit(fd, ops, 20));
	ASSERT_EQ(0, settle(now_ns()));
	ASSERT_EQ(ops, dropped(&self->map));
	ASSERT_EQ(20 * sizeof(*ev), read(fd, ev, 20 * sizeof(*ev)));
	for (i = 0; i < 20; i++)
		if (event_is_sound(&ev[i]) && ev[i].cookie < 20)
			seen[ev[i].cookie]++;
	EXPECT_TRUE(each_once(seen, 20));
	EXPECT_EQ(0, close(fd));
	EXPECT_EQ(0, works(&self->map));
}

TEST_F(memory, answers_in_it)
{
	struct hwheel_file_stats *stats = dropped(&self->map);
	struct hwheel_info *info = (void *)stats;
	struct map *m = &self->map;

	ASSERT_EQ(0, call(m->fd, HWHEEL_IOC_STATS, stats));
	EXPECT_EQ(m->layout.records, stats->held);
	ASSERT_EQ(info, dropped(m));
	ASSERT_EQ(0, call(m->fd, HWHEEL_IOC_INFO, info));
	EXPECT_EQ(max_timeouts(m->fd), info->max_timeouts);
	EXPECT_EQ(0, works(m));
}

TEST_F(memory, map_in_it)
{
	struct map *m = &self->map;
	struct hwheel_map *more = dropped(m);

	*more = (struct hwheel_map){ .records = 1 };
	ASSERT_EQ(more, dropped(m));
	ASSERT_EQ(0, call(m->fd, HWHEEL_IOC_MAP, more));
	EXPECT_LT(m->layout.records, more->records);
	EXPECT_EQ(more->records, held(m->fd));
	EXPECT_EQ(m->layout.records_offset, more->records_offset);
	EXPECT_EQ(0, works(m));
}

/* Life */

static int map_alone(void)
{
	struct map map;

	if (map_open_shared(&map, 10, 2) || map_arm_many(&map, 5, NEVER))
		return -EPROTO;
	return close(map.fd) ? -errno : 0;
}

/* Tells that it has a mapping, and goes on as a program that has none. */
static void map_and_exec(int up, int down)
{
	char byte = 0;

	if (map_alone() || write(up, &byte, 1) != 1 || dup2(down, 0))
		_exit(EPROTO);
	execl("/bin/sh", "sh", "-c", "read x; exit 0", NULL);
	_exit(errno);
}

TEST_F(memory, exec_unmaps)
{
	int up[2], down[2];
	char byte = 0;
	pid_t pid;

	if (self->users < 0)
		SKIP(return, "the module is built in");
	ASSERT_EQ(0, pipe(up) | pipe(down));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		close(down[1]);
		map_and_exec(up[1], down[0]);
	}
	EXPECT_EQ(1, read(up[0], &byte, 1));
	EXPECT_EQ(0, await_users(self->users + 1));
	EXPECT_EQ(0, close(down[1]));
	EXPECT_EQ(0, reap(pid));
	EXPECT_EQ(0, close(up[0]) | close(up[1]) | close(down[0]));
}

/* While it grows */

#define GROWTH	(200 * 4096)	/* bytes of records; max_timeouts leaves room for more */

/**
 * struct growing - a file in which a thread makes records
 * @fd:   the file
 * @nr:   how many MAPs, of a page of records each
 * @size: of what was made
 * @ret:  0 or the first error
 */
struct growing {
	int	fd;
	int	nr;
	__u64	size;
	int	ret;
};

static void *make_more(void *data)
{
	struct growing *growing = data;
	struct hwheel_map layout;
	int i;

	for (i = 0; !growing->ret && i < growing->nr; i++) {
		growing->ret = map_make(growing->fd, 1, 0, &layout);
		__atomic_store_n(&growing->size, layout.size, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* What MAP has told can be mapped at once, and each record is there. */
TEST_F(memory, mmap_while_it_grows)
{
	struct growing growing = {
		.fd = self->map.fd, .nr = GROWTH / self->page, .size = self->map.layout.size,
	};
	struct map second = self->map;
	size_t records = 0;
	pthread_t thread;

	ASSERT_EQ(0, pthread_create(&thread, NULL, make_more, &growing));
	while (!growing.ret && records < growing.nr * self->page / sizeof(*second.records)) {
		second.layout.size = __atomic_load_n(&growing.size, __ATOMIC_ACQUIRE);
		ASSERT_EQ(0, map_memory(&second));
		records = (second.layout.size - second.layout.records_offset) /
			  sizeof(*second.records);
		EXPECT_EQ(HWHEEL_MAP_IDLE, map_load(&second, records - 1));
		EXPECT_EQ(0, map_unmap(&second));
	}
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(0, growing.ret);
	EXPECT_EQ(0, works(&self->map));
}

/* The argument of MAP */

/* 0 if the file is as it must be after a MAP that returned @ret. */
static int check_mapped(int fd, int ret, const struct hwheel_map *map)
{
	if (!ret)
		return map->size && map->records == held(fd) ? 0 : -EPROTO;
	/* The last copy of all can fail after the memory was made. */
	return ret == -EFAULT && (held(fd) || is_new(fd)) ? 0 : ret;
}

/* Only the outputs are on the page that changes. Returns 1 if that faulted, 0 if not. */
static int map_toggled_argument(const struct toggled_memory *memory)
{
	const size_t at = memory->size - offsetof(struct hwheel_map, version);
	struct hwheel_map *map = (void *)(memory->in + at);
	int fd = open_device(0), ret, err;

	if (fd < 0)
		return fd;
	*map = (struct hwheel_map){ .records = 10, .lists = 1 };
	ret = call(fd, HWHEEL_IOC_MAP, memory->out + at);
	err = check_mapped(fd, ret, map);
	close(fd);
	return err ?: !!ret;
}

TEST(argument_while_memory_changes)
{
	int ret, mapped = 0, faults = 0;
	struct toggled_memory memory;

	if (!map_is_supported())
		SKIP(return, "this kernel has no mapped timeouts");
	ASSERT_EQ(0, start_toggling(&memory));
	do {
		ret = map_toggled_argument(&memory);
		ASSERT_LE(0, ret);
		mapped += !ret;
		faults += ret;
	} while (goes_on_toggling(&memory, mapped, faults));
	ASSERT_EQ(0, stop_toggling(&memory));
	EXPECT_LT(0, mapped);
	EXPECT_LT(0, faults);
	TH_LOG("%d of %d faulted", faults, mapped + faults);
}

/* A MAP that waits for its memory, and has made nothing yet */
FIXTURE(held_up)
{
	struct hwheel_map	*arg;
	pthread_t		thread;
	int			uffd;
	long			users;
	int			fd;
	int			result;
};

static void *map_held_up(void *data)
{
	FIXTURE_DATA(held_up) * self = data;

	self->result = call(self->fd, HWHEEL_IOC_MAP, self->arg);
	return NULL;
}

FIXTURE_SETUP(held_up)
{
	if (!map_is_supported())
		SKIP(return, "this kernel has no mapped timeouts");
	self->uffd = open_userfaultfd();
	if (self->uffd < 0)
		SKIP(return, "no userfaultfd, or not for us");
	self->users = users_of_module();
	self->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	self->arg = mmap(NULL, page_size(), RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->arg);
	*self->arg = (struct hwheel_map){ .records = 10, .lists = 2 };
	ASSERT_EQ(0, hold_up(self->uffd, self->arg));
	ASSERT_EQ(0, pthread_create(&self->thread, NULL, map_held_up, self));
	ASSERT_EQ(0, await_writer(self->uffd));
}

FIXTURE_TEARDOWN(held_up)
{
	if (self->fd >= 0)
		EXPECT_EQ(0, close(self->fd));
	EXPECT_EQ(0, await_users(self->users));
	EXPECT_EQ(0, munmap(self->arg, page_size()));
	EXPECT_EQ(0, close(self->uffd));
}

static int go_on(FIXTURE_DATA(held_up) * self)
{
	return let_go_on(self->uffd, self->arg) ?: -pthread_join(self->thread, NULL);
}

/* It holds no lock that others need. */
TEST_F(held_up, in_nobodys_way)
{
	EXPECT_EQ(-EINVAL, call(self->fd, HWHEEL_IOC_KICK, NULL));
	EXPECT_EQ(0, held(self->fd));
	EXPECT_EQ(0, settle(now_ns()));
	EXPECT_TRUE(is_new(self->fd));
	ASSERT_EQ(0, go_on(self));
	EXPECT_EQ(0, self->result);
	EXPECT_EQ(self->arg->records, held(self->fd));
}

TEST_F(held_up, armed)
{
	__u64 id;

	ASSERT_EQ(0, arm(self->fd, NEVER, 0, &id));
	ASSERT_EQ(0, go_on(self));
	EXPECT_EQ(-EBUSY, self->result);
	EXPECT_EQ(0, self->arg->size);
	EXPECT_EQ(0, cancel(self->fd, id));
}

TEST_F(held_up, configured)
{
	EXPECT_EQ(0, configure_file(self->fd, (struct hwheel_config){
		.max_timeouts = 5, .clock = CLOCK_MONOTONIC,
	}));
	ASSERT_EQ(0, go_on(self));
	EXPECT_EQ(-ENOSPC, self->result);
	EXPECT_EQ(0, arm(self->fd, NEVER, 0, NULL));
}

TEST_F(held_up, mapped)
{
	struct hwheel_map layout;

	ASSERT_EQ(0, map_make(self->fd, 1, 2, &layout));
	ASSERT_EQ(0, go_on(self));
	EXPECT_EQ(0, self->result);
	EXPECT_LT(layout.records, self->arg->records);
	EXPECT_EQ(self->arg->records, held(self->fd));
}

TEST_F(held_up, mapped_with_other_lists)
{
	struct hwheel_map layout;

	ASSERT_EQ(0, map_make(self->fd, 1, 3, &layout));
	ASSERT_EQ(0, go_on(self));
	EXPECT_EQ(-EINVAL, self->result);
	EXPECT_EQ(layout.records, held(self->fd));
}

TEST_F(held_up, stopped)
{
	EXPECT_EQ(0, stop(self->fd));
	ASSERT_EQ(0, go_on(self));
	EXPECT_EQ(-ESHUTDOWN, self->result);
	EXPECT_EQ(0, held(self->fd));
}

/* The call has the file until it returns. */
TEST_F(held_up, closed)
{
	ASSERT_EQ(0, close(self->fd));
	self->fd = -1;
	if (self->users >= 0)
		EXPECT_EQ(self->users + 1, users_of_module());
	ASSERT_EQ(0, go_on(self));
	EXPECT_EQ(0, self->result);
}

/* The charge */

/* A memory cgroup of the test's own, below @root, where it is during the test */
FIXTURE(group)
{
	char	root[128];
	char	path[160];
	__u64	records;
	int	fd;
};

static int put(const char *dir, const char *name, const char *value)
{
	char path[256];
	int fd, ret = 0;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, value, strlen(value)) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

/* The number behind @key, or the first one if that is "" */
static __u64 get(const char *dir, const char *name, const char *key)
{
	char path[256], line[128];
	__u64 value = POISON64;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "re");
	while (file && value == POISON64 && fgets(line, sizeof(line), file))
		if (!strncmp(line, key, strlen(key)))
			value = strtoull(line + strlen(key), NULL, 10);
	if (file)
		fclose(file);
	return value;
}

/* Where the hierarchy is mounted, or is mounted now */
static int find_hierarchy(char *root, size_t size)
{
	FILE *file = fopen("/proc/mounts", "re");
	char path[128], type[32], line[512];
	bool found = false;

	snprintf(root, size, "/sys/fs/cgroup");
	while (file && !found && fgets(line, sizeof(line), file))
		if (sscanf(line, "%*s %127s %31s", path, type) == 2 && !strcmp(type, "cgroup2")) {
			snprintf(root, size, "%s", path);
			found = true;
		}
	if (file)
		fclose(file);
	if (!found && mount("none", root, "cgroup2", 0, NULL))
		return -errno;
	return put(root, "cgroup.subtree_control", "+memory");
}

/* What a process needs itself it has before the group is at its limit, else it is killed. */
FIXTURE_SETUP(group)
{
	if (!map_is_supported())
		SKIP(return, "this kernel has no mapped timeouts");
	if (find_hierarchy(self->root, sizeof(self->root)))
		SKIP(return, "no cgroup v2 with memory here");
	snprintf(self->path, sizeof(self->path), "%s/hwheel_map", self->root);
	ASSERT_TRUE(!mkdir(self->path, 0755) || errno == EEXIST);
	ASSERT_EQ(0, put(self->path, "cgroup.procs", "0"));
	self->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	self->records = max_timeouts(self->fd);
	ASSERT_EQ(0, mlockall(MCL_CURRENT | MCL_FUTURE));
}

FIXTURE_TEARDOWN(group)
{
	EXPECT_EQ(0, close(self->fd));
	EXPECT_EQ(0, put(self->root, "cgroup.procs", "0"));
	EXPECT_EQ(0, rmdir(self->path));
}

/* Some pages each CPU keeps for the next one, and gives back a little later. */
static int await_less(const char *path, __u64 bytes)
{
	return AWAIT(get(path, "memory.current", "") < bytes);
}

TEST_F(group, is_charged)
{
	__u64 before = get(self->path, "memory.current", "");
	struct hwheel_map layout;

	ASSERT_NE(POISON64, before);
	ASSERT_EQ(0, map_make(self->fd, self->records, 1, &layout));
	EXPECT_LT(before + layout.size / 2, get(self->path, "memory.current", ""));
	EXPECT_EQ(0, close(self->fd));
	EXPECT_EQ(0, await_less(self->path, before + layout.size / 2));
	self->fd = open_device(O_NONBLOCK);
}

/* The shared memory of all records fits, but not what the worker needs besides. */
TEST_F(group, is_full)
{
	const struct hwheel_config config = { .clock = CLOCK_MONOTONIC };
	__u64 kills = get(self->path, "memory.events", "oom_kill ");
	int full, again, few, configured;
	struct hwheel_map layout;

	ASSERT_NE(POISON64, kills);
	ASSERT_EQ(0, put(self->path, "memory.max", "3145728"));
	full = map_make(self->fd, self->records, 1, &layout);
	configured = configure(self->fd, &config);
	again = map_make(self->fd, self->records, 1, &layout);
	few = map_make(self->fd, 100, 1, &layout);
	EXPECT_EQ(0, put(self->path, "memory.max", "max"));
	EXPECT_EQ(-ENOMEM, full);
	EXPECT_EQ(0, configured);
	EXPECT_EQ(-ENOMEM, again);
	EXPECT_EQ(0, few);
	EXPECT_EQ(layout.records, held(self->fd));
	EXPECT_EQ(kills, get(self->path, "memory.events", "oom_kill "));
}

TEST_HARNESS_MAIN
