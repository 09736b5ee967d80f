// SPDX-License-Identifier: GPL-2.0-only
/* mmap: which mappings there are, and their life, apart from that of the file. */

#include "mapped.h"

#include <pthread.h>
#include <signal.h>

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME	0x00000080
#endif

#define HOUR	(3600 * SEC)
#define RW	(PROT_READ | PROT_WRITE)

/* The array begins with one page. */
FIXTURE(mmap)
{
	int	fd;
	size_t	page;
	size_t	per_page;
	__u64	*words;
};

FIXTURE_SETUP(mmap)
{
	self->page = page_size();
	self->per_page = self->page / sizeof(__u64);
	self->fd = open_device(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	self->words = map_words(self->fd, self->page);
	ASSERT_NE(NULL, self->words);
}

/* Tests that unmap it, or close the file, say so. */
FIXTURE_TEARDOWN(mmap)
{
	if (self->words)
		EXPECT_EQ(0, munmap(self->words, self->page));
	if (self->fd >= 0)
		EXPECT_EQ(0, close(self->fd));
}

/* Maps and unmaps. */
static int try_map(int fd, size_t size, int prot, int flags, off_t offset)
{
	void *words = mmap(NULL, size, prot, flags, fd, offset);

	if (words == MAP_FAILED)
		return -errno;
	return munmap(words, size) ? -errno : 0;
}

static int try_size(int fd, size_t size)
{
	return try_map(fd, size, RW, MAP_SHARED, 0);
}

/* Of a file that was opened and configured for this; it stays open. */
static int open_with(__u64 max)
{
	int fd = open_device(O_NONBLOCK), ret;

	if (fd < 0)
		return fd;
	ret = configure_file(fd, (struct hwheel_config){
		.max_timeouts = max, .clock = CLOCK_MONOTONIC,
	});
	return ret ?: fd;
}

/* Which signal ends a process that reads the word; 0: none */
static int signal_at(const __u64 *word)
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		return -errno;
	if (!pid)
		_exit(__atomic_load_n(word, __ATOMIC_RELAXED) & 0);
	if (waitpid(pid, &status, 0) != pid)
		return -errno;
	return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

static bool all_zero(const __u64 *words, size_t n)
{
	while (n--)
		if (words[n])
			return false;
	return true;
}

TEST(feature)
{
	int fd = open_device(0);
	struct hwheel_info info;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, get_info(fd, &info));
	EXPECT_TRUE(info.features & HWHEEL_FEATURE_MMAP);
	EXPECT_EQ(0, close(fd));
}

/* Which mappings there are */

TEST_F(mmap, private_mapping)
{
	EXPECT_EQ(-EINVAL, try_map(self->fd, self->page, RW, MAP_PRIVATE, 0));
	EXPECT_EQ(-EINVAL, try_map(self->fd, self->page, PROT_READ, MAP_PRIVATE, 0));
	EXPECT_EQ(-EINVAL, try_map(self->fd, self->page, PROT_NONE, MAP_PRIVATE, 0));
	EXPECT_EQ(0, try_map(self->fd, self->page, PROT_NONE, MAP_SHARED, 0));
}

/* Also where the array has something. No other mapping is beside it. */
TEST_F(mmap, offset)
{
	size_t page = self->page;

	ASSERT_EQ(0, munmap(self->words, page));
	self->words = NULL;
	ASSERT_EQ(0, try_size(self->fd, 3 * page));
	EXPECT_EQ(-EINVAL, try_map(self->fd, page, RW, MAP_SHARED, page));
	EXPECT_EQ(-EINVAL, try_map(self->fd, page, RW, MAP_SHARED, 2 * page));
	EXPECT_EQ(-EINVAL, try_map(self->fd, page, RW, MAP_SHARED, 1000 * page));
	EXPECT_EQ(-EINVAL, try_map(self->fd, page, RW, MAP_SHARED, 8));
}

TEST_F(mmap, size)
{
	size_t all = max_timeouts(self->fd) * sizeof(__u64);

	ASSERT_NE(0, all);
	all = (all + self->page - 1) / self->page * self->page;
	EXPECT_EQ(-EINVAL, try_size(self->fd, 0));
	EXPECT_EQ(0, try_size(self->fd, 1));
	EXPECT_EQ(0, try_size(self->fd, self->page + 1));
	EXPECT_EQ(0, try_size(self->fd, all));
	EXPECT_EQ(0, try_size(self->fd, all - self->page + 1));
	EXPECT_EQ(-EINVAL, try_size(self->fd, all + 1));
	EXPECT_EQ(-EINVAL, try_size(self->fd, all + self->page));
	EXPECT_EQ(-EINVAL, try_size(self->fd, 1 << 30));
}

/* So many words as the file may hold time-outs, in whole pages */
TEST_F(mmap, size_follows_max_timeouts)
{
	const struct {
		size_t	max;
		size_t	pages;
	} cases[] = {
		{ 1, 1 }, { self->per_page - 1, 1 }, { self->per_page, 1 },
		{ self->per_page + 1, 2 }, { 200000, (200000 - 1) / self->per_page + 1 },
	};
	size_t i;
	int fd;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		fd = open_with(cases[i].max);
		ASSERT_LE(0, fd);
		EXPECT_EQ(-EINVAL, try_size(fd, (cases[i].pages + 1) * self->page));
		EXPECT_EQ(-EINVAL, try_size(fd, cases[i].pages * self->page + 1));
		EXPECT_EQ(0, try_size(fd, cases[i].pages * self->page));
		EXPECT_EQ(cases[i].max, max_timeouts(fd));
		EXPECT_EQ(0, close(fd));
	}
}

/* All there are, each of its own */
TEST_F(mmap, largest)
{
	size_t max = max_timeouts(self->fd), i, wrong = 0;
	__u64 *words = map_words(self->fd, max * sizeof(*words));

	ASSERT_NE(NULL, words);
	EXPECT_TRUE(all_zero(words, max));
	for (i = 0; i < max; i++)
		words[i] = i;
	for (i = 0; i < max; i++)
		wrong += words[i] != i;
	EXPECT_EQ(0, wrong);
	EXPECT_EQ(self->per_page - 1, self->words[self->per_page - 1]);
	EXPECT_EQ(0, munmap(words, max * sizeof(*words)));
}

/* A file that was mapped is not new any more, and one for which that was refused is. */
TEST_F(mmap, config_after_it)
{
	static const struct hwheel_config changes[] = {
		{ .max_timeouts = 10, .clock = CLOCK_MONOTONIC },
		{ .kind = HWHEEL_KIND_HASHED, .tick_ns = MSEC, .clock = CLOCK_MONOTONIC },
		{ .kind = HWHEEL_KIND_SIMPLE, .clock = CLOCK_MONOTONIC },
		{ .kind = HWHEEL_KIND_HASHED, .clock = CLOCK_BOOTTIME },
	};
	int fd = open_device(O_NONBLOCK);
	struct hwheel_info before, after;
	size_t i;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, get_info(self->fd, &before));
	for (i = 0; i < ARRAY_SIZE(changes); i++) {
		EXPECT_EQ(-EBUSY, configure(self->fd, &changes[i]));
		EXPECT_EQ(-EINVAL, try_map(fd, self->page, RW, MAP_PRIVATE, 0));
		EXPECT_EQ(-EINVAL, try_map(fd, self->page, RW, MAP_SHARED, self->page));
		EXPECT_EQ(-EINVAL, try_size(fd, 1 << 30));
	}
	ASSERT_EQ(0, get_info(self->fd, &after));
	EXPECT_EQ(0, memcmp(&before, &after, sizeof(after)));
	EXPECT_EQ(0, configure(fd, &changes[0]));
	EXPECT_EQ(0, configure(fd, &changes[1]));
	EXPECT_EQ(0, try_size(fd, 1));
	EXPECT_EQ(0, close(fd));
}

/* Nor when the mapping is gone, as its pages are not */
TEST_F(mmap, config_after_munmap)
{
	ASSERT_EQ(0, munmap(self->words, self->page));
	self->words = NULL;
	EXPECT_EQ(-EBUSY, configure_file(self->fd, (struct hwheel_config){
		.max_timeouts = 1, .clock = CLOCK_MONOTONIC,
	}));
}

TEST_F(mmap, read_only_file)
{
	int fd = open(DEVICE, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	__u64 *words;

	ASSERT_LE(0, fd);
	EXPECT_EQ(-EACCES, try_map(fd, self->page, RW, MAP_SHARED, 0));
	EXPECT_EQ(-EACCES, try_map(fd, self->page, PROT_WRITE, MAP_SHARED, 0));
	EXPECT_EQ(-EINVAL, try_map(fd, self->page, PROT_READ, MAP_PRIVATE, 0));
	words = mmap(NULL, self->page, PROT_READ, MAP_SHARED, fd, 0);
	ASSERT_NE(MAP_FAILED, words);
	EXPECT_EQ(-EBADF, arm(fd, HOUR, 0, NULL));
	EXPECT_EQ(0, load(words, 0));
	EXPECT_EQ(-1, mprotect(words, self->page, RW));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(0, munmap(words, self->page));
	EXPECT_EQ(0, close(fd));
}

TEST_F(mmap, write_only_file)
{
	int fd = open(DEVICE, O_WRONLY | O_CLOEXEC);

	ASSERT_LE(0, fd);
	EXPECT_EQ(-EACCES, try_size(fd, self->page));
	EXPECT_EQ(-EACCES, try_map(fd, self->page, PROT_WRITE, MAP_SHARED, 0));
	EXPECT_EQ(0, close(fd));
}

TEST_F(mmap, read_only_mapping)
{
	__u64 *words = mmap(NULL, self->page, PROT_READ, MAP_SHARED, self->fd, 0), id;

	ASSERT_NE(MAP_FAILED, words);
	ASSERT_EQ(0, arm(self->fd, HOUR, 0, &id));
	EXPECT_EQ(load(self->words, id), load(words, id));
	/* A system call does not write it either. */
	EXPECT_EQ(-EFAULT, call(self->fd, HWHEEL_IOC_INFO, words));
	EXPECT_EQ(deadline_of(self->fd, id), load(words, id));
	EXPECT_EQ(0, mprotect(words, self->page, RW));
	store(words, id, 1);
	EXPECT_EQ(1, load(self->words, id));
	EXPECT_EQ(0, munmap(words, self->page));
}

TEST_F(mmap, stopped_file)
{
	__u64 *words, id;

	ASSERT_EQ(0, arm(self->fd, HOUR, 0, &id));
	ASSERT_EQ(1, stop(self->fd));
	words = map_words(self->fd, 2 * self->page);
	ASSERT_NE(NULL, words);
	EXPECT_TRUE(all_zero(words, 2 * self->per_page));
	memset(words, 0xff, 2 * self->page);
	EXPECT_EQ(0, stop(self->fd));
	EXPECT_EQ(0, munmap(words, 2 * self->page));
}

/* Life */

/* What was armed before there was a word for it has one then, in whatever page it is. */
TEST_F(mmap, words_of_earlier_ones)
{
	size_t n = 2 * self->per_page + 10, i, wrong = 0;
	__u64 deadline = now_ns() + HOUR, *words;
	__u64 ids[n];

	ASSERT_EQ(0, arm_many(self->fd, n, deadline, ids));
	ASSERT_EQ(0, cancel(self->fd, ids[n - 1]));
	ASSERT_EQ(0, cancel(self->fd, ids[3]));
	store(self->words, ids[5], 1234);
	words = map_words(self->fd, 3 * self->page);
	ASSERT_NE(NULL, words);
	for (i = 0; i < n; i++)
		wrong += load(words, ids[i]) != round_up_8(deadline);
	EXPECT_EQ(3, wrong);
	EXPECT_EQ(0, load(words, ids[n - 1]));
	EXPECT_EQ(0, load(words, ids[3]));
	EXPECT_EQ(1234, load(words, ids[5]));
	EXPECT_TRUE(all_zero(words + n, 3 * self->per_page - n));
	EXPECT_EQ(0, munmap(words, 3 * self->page));
}

TEST_F(mmap, mapped_twice)
{
	__u64 *second = map_words(self->fd, self->page), id;

	ASSERT_NE(NULL, second);
	ASSERT_EQ(0, arm(self->fd, HOUR, 0, &id));
	store(second, id, 1234);
	EXPECT_EQ(1234, load(self->words, id));
	EXPECT_EQ(0, extends(self->fd, second));
	EXPECT_EQ(0, extends(self->fd, self->words));
	EXPECT_EQ(0, munmap(second, self->page));
	EXPECT_EQ(0, extends(self->fd, self->words));
}

/* One page of three; the others go on. */
TEST_F(mmap, munmap_of_a_part)
{
	__u64 *words = map_words(self->fd, 3 * self->page);
	size_t n = 2 * self->per_page, i;
	__u64 ids[n];

	ASSERT_NE(NULL, words);
	ASSERT_EQ(0, munmap((char *)words + self->page, self->page));
	EXPECT_EQ(SIGSEGV, signal_at(words + self->per_page));
	EXPECT_EQ(0, signal_at(words));
	ASSERT_EQ(0, arm_many(self->fd, n, now_ns() + HOUR, ids));
	EXPECT_EQ(0, extends(self->fd, words));
	for (i = 0; i < n; i++)
		ASSERT_EQ(0, cancel(self->fd, ids[i]));
	EXPECT_EQ(0, munmap(words, self->page));
	EXPECT_EQ(0, munmap((char *)words + 2 * self->page, self->page));
}

/* What is beyond what mmap() asked for is not there, until another asks for it. */
TEST_F(mmap, mremap_larger)
{
	size_t all = 129 * self->page;
	__u64 *words;

	words = mremap(self->words, self->page, all, MREMAP_MAYMOVE);
	self->words = NULL;
	ASSERT_NE(MAP_FAILED, words);
	EXPECT_EQ(0, signal_at(words));
	EXPECT_EQ(SIGBUS, signal_at(words + self->per_page));
	EXPECT_EQ(SIGBUS, signal_at(words + all / sizeof(*words) - 1));
	EXPECT_EQ(-EFAULT, call(self->fd, HWHEEL_IOC_INFO, words + self->per_page));
	EXPECT_EQ(0, extends(self->fd, words));
	ASSERT_EQ(0, try_size(self->fd, 2 * self->page));
	EXPECT_EQ(0, signal_at(words + self->per_page));
	EXPECT_EQ(SIGBUS, signal_at(words + 2 * self->per_page));
	EXPECT_EQ(SIGBUS, signal_at(words + all / sizeof(*words) - 1));
	EXPECT_EQ(0, munmap(words, all));
}

TEST_F(mmap, mremap_smaller)
{
	size_t all = 4 * self->page;
	__u64 *words = map_words(self->fd, all), *same;

	ASSERT_NE(NULL, words);
	same = mremap(words, all, self->page, 0);
	EXPECT_EQ(words, same);
	EXPECT_EQ(SIGSEGV, signal_at(words + self->per_page));
	EXPECT_EQ(0, extends(self->fd, words));
	EXPECT_EQ(0, munmap(words, self->page));
}

TEST_F(mmap, mremap_moves)
{
	void *to = mmap(NULL, self->page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	__u64 *before = self->words, id;

	ASSERT_NE(MAP_FAILED, to);
	ASSERT_EQ(0, arm(self->fd, HOUR, 0, &id));
	self->words = mremap(before, self->page, self->page, MREMAP_MAYMOVE | MREMAP_FIXED, to);
	ASSERT_EQ(to, self->words);
	EXPECT_EQ(SIGSEGV, signal_at(before));
	EXPECT_EQ(deadline_of(self->fd, id), load(self->words, id));
	EXPECT_EQ(0, extends(self->fd, self->words));
}

/* Of no pages makes another mapping of the same ones. */
TEST_F(mmap, mremap_copies)
{
	__u64 *copy = mremap(self->words, 0, self->page, MREMAP_MAYMOVE);

	ASSERT_NE(MAP_FAILED, copy);
	EXPECT_EQ(0, extends(self->fd, copy));
	EXPECT_EQ(0, extends(self->fd, self->words));
	EXPECT_EQ(0, munmap(copy, self->page));
}

/* Where one goes on, the kernel does not ask, and makes that larger, as mremap() does. */
TEST_F(mmap, goes_on)
{
	size_t page = self->page;
	char *room = mmap(NULL, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	__u64 *words = (__u64 *)room;

	ASSERT_NE(MAP_FAILED, (void *)room);
	ASSERT_EQ(room, mmap(room, page, RW, MAP_SHARED | MAP_FIXED, self->fd, 0));
	ASSERT_EQ(room + page,
		  mmap(room + page, 2 * page, RW, MAP_SHARED | MAP_FIXED, self->fd, page));
	EXPECT_EQ(SIGBUS, signal_at(words + self->per_page));
	EXPECT_EQ(SIGBUS, signal_at(words + 3 * self->per_page - 1));
	EXPECT_EQ(0, extends(self->fd, words));
	ASSERT_EQ(0, try_size(self->fd, 2 * page));
	EXPECT_EQ(0, signal_at(words + self->per_page));
	EXPECT_EQ(SIGBUS, signal_at(words + 2 * self->per_page));
	EXPECT_EQ(0, munmap(room, 3 * page));
}

static void store_in_child(__u64 *words, __u64 id, __u64 ns)
{
	pid_t pid = fork();

	if (!pid) {
		store(words, id, ns);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

TEST_F(mmap, child_stores)
{
	const struct mapped m = { self->fd, CLOCK_MONOTONIC, self->words };

	EXPECT_EQ(0, extends_by(&m, store_in_child));
	EXPECT_EQ(0, extends(self->fd, self->words));
}

/* The child arms and reads, the parent stores, in a mapping that it had before. */
static int armed_by_child(int fd, __u64 *words, int go)
{
	const struct mapped m = { fd, CLOCK_MONOTONIC, words };
	__u64 id, later = now_ns() + 400 * MSEC;

	if (arm(fd, 200 * MSEC, 0, &id))
		return -EPROTO;
	if (write(go, &later, sizeof(later)) != sizeof(later) ||
	    await_word(words, id, later) || now_ns() > later - 200 * MSEC)
		return -EAGAIN;
	return expect_event(&m, id, later);
}

TEST_F(mmap, parent_stores)
{
	int ends[2], ret, tries = 0;
	__u64 later;
	pid_t pid;

	ASSERT_EQ(0, pipe(ends));
	do {
		/* What was too late is in the file still. */
		struct hwheel_event ev;

		while (tries && read_raw(self->fd, &ev, 1) == 1)
			;
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid)
			_exit(-armed_by_child(self->fd, self->words, ends[1]));
		ASSERT_EQ(sizeof(later), read(ends[0], &later, sizeof(later)));
		/* It is the only one. */
		store(self->words, tries, later);
		ret = reap(pid);
	} while (ret == -EAGAIN && ++tries < 20);
	EXPECT_EQ(0, ret);
	EXPECT_EQ(0, close(ends[0]) | close(ends[1]));
}

/* Both have it, and whoever of them goes takes nothing away. */
TEST_F(mmap, child_unmaps)
{
	pid_t pid = fork();

	ASSERT_LE(0, pid);
	if (!pid)
		_exit(munmap(self->words, self->page) || close(self->fd));
	ASSERT_EQ(0, reap(pid));
	EXPECT_EQ(0, extends(self->fd, self->words));
}

/* The mapping alone keeps the file, and its time-outs go on. */
TEST_F(mmap, close_keeps_it)
{
	long users = users_of_module();
	__u64 delay, at, later, id;

	for (delay = 50 * MSEC; delay < WAIT_MS * MSEC; delay *= 2) {
		int fd = open_device(O_NONBLOCK);
		__u64 *words;

		ASSERT_LE(0, fd);
		words = map_words(fd, self->page);
		ASSERT_NE(NULL, words);
		at = now_ns() + delay;
		later = at + 100 * MSEC;
		ASSERT_EQ(0, arm_at(fd, at, 0, &id));
		ASSERT_EQ(0, close(fd));
		store(words, id, later);
		if (now_ns() >= at) {
			ASSERT_EQ(0, munmap(words, self->page));
			continue;
		}
		if (users >= 0)
			EXPECT_EQ(users + 1, users_of_module());
		/* When it has expired. */
		EXPECT_EQ(0, await_word(words, id, 0));
		EXPECT_LE(later, now_ns());
		EXPECT_EQ(0, munmap(words, self->page));
		break;
	}
	if (users >= 0)
		EXPECT_EQ(0, await_users(users));
}

/* With much that is pending, and put off as far as can be */
TEST_F(mmap, munmap_after_close)
{
	long users = users_of_module();

	ASSERT_EQ(1000, arm_batches(self->fd, 1000));
	ASSERT_EQ(0, arm_many(self->fd, 100, now_ns() + 30 * MSEC, NULL));
	memset(self->words, 0xff, self->page);
	ASSERT_EQ(0, close(self->fd));
	self->fd = -1;
	EXPECT_EQ(self->words[0], UINT64_MAX);
	ASSERT_EQ(0, munmap(self->words, self->page));
	self->words = NULL;
	if (users >= 0)
		EXPECT_EQ(0, await_users(users - 1));
}

TEST_F(mmap, close_after_munmap)
{
	long users = users_of_module();

	ASSERT_EQ(1000, arm_batches(self->fd, 1000));
	memset(self->words, 0xff, self->page);
	ASSERT_EQ(0, munmap(self->words, self->page));
	self->words = NULL;
	EXPECT_EQ(1000, stop(self->fd));
	ASSERT_EQ(0, close(self->fd));
	self->fd = -1;
	if (users >= 0)
		EXPECT_EQ(0, await_users(users - 1));
}

/* A file of a child's own, which it has mapped and closed, with something pending */
static int map_alone(size_t page)
{
	int fd = open_device(0);

	if (fd < 0 || !map_words(fd, page) || arm(fd, HOUR, 0, NULL))
		return -EPROTO;
	return close(fd) ? -errno : 0;
}

/*
 * Runs a child that maps alone and then does @then, which tells so by the pipe when it has
 * done that; 0 if the file is gone thereafter though the child is there.
 */
static int gone_with(size_t page, void (*then)(int in))
{
	long users = users_of_module();
	int up[2], down[2], ret;
	char byte = 0;
	pid_t pid;

	if (pipe(up) || pipe(down))
		return -errno;
	pid = fork();
	if (!pid) {
		close(down[1]);
		if (map_alone(page) || write(up[1], &byte, 1) != 1)
			_exit(EPROTO);
		then(down[0]);
		_exit(EPROTO);
	}
	ret = read(up[0], &byte, 1) == 1 ? 0 : -EPROTO;
	ret = ret ?: await_users(users);
	close(down[1]);
	ret = reap(pid) ?: ret;
	close(up[0]);
	close(up[1]);
	close(down[0]);
	return ret;
}

static void exec_shell(int in)
{
	if (dup2(in, 0) == 0)
		execl("/bin/sh", "sh", "-c", "read x; exit 0", NULL);
}

TEST_F(mmap, exec_unmaps)
{
	if (users_of_module() < 0)
		SKIP(return, "the module is built in");
	EXPECT_EQ(0, gone_with(self->page, exec_shell));
}

static void kill_self(int in)
{
	raise(SIGKILL);
}

TEST_F(mmap, killed_unmaps)
{
	if (users_of_module() < 0)
		SKIP(return, "the module is built in");
	EXPECT_EQ(-EINTR, gone_with(self->page, kill_self));
}

/* What is advised changes nothing of what is in the words. */
TEST_F(mmap, madvise)
{
	__u64 id;

	ASSERT_EQ(0, arm(self->fd, HOUR, 0, &id));
	store(self->words, id, 1234);
	ASSERT_EQ(0, madvise(self->words, self->page, MADV_DONTNEED));
	EXPECT_EQ(1234, load(self->words, id));
	madvise(self->words, self->page, MADV_REMOVE);
	madvise(self->words, self->page, MADV_FREE);
	madvise(self->words, self->page, MADV_COLD);
	madvise(self->words, self->page, MADV_PAGEOUT);
	EXPECT_EQ(1234, load(self->words, id));
	ASSERT_EQ(0, madvise(self->words, self->page, MADV_DONTNEED));
	ASSERT_EQ(0, cancel(self->fd, id));
	EXPECT_EQ(0, load(self->words, id));
	EXPECT_EQ(0, extends(self->fd, self->words));
}

TEST_F(mmap, mlock)
{
	ASSERT_EQ(0, mlock(self->words, self->page));
	EXPECT_EQ(0, extends(self->fd, self->words));
	ASSERT_EQ(0, munlock(self->words, self->page));
	EXPECT_EQ(0, mlockall(MCL_CURRENT | MCL_FUTURE));
	EXPECT_EQ(0, try_size(self->fd, 4 * self->page));
	EXPECT_EQ(0, munlockall());
	EXPECT_EQ(0, extends(self->fd, self->words));
}

/* As a debugger does it */
static void store_by_proc(__u64 *words, __u64 id, __u64 ns)
{
	int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);

	if (pwrite(fd, &ns, sizeof(ns), (uintptr_t)&words[HWHEEL_INDEX(id)]) != sizeof(ns))
		store(words, id, 0);
	close(fd);
}

TEST_F(mmap, store_by_proc)
{
	const struct mapped m = { self->fd, CLOCK_MONOTONIC, self->words };

	EXPECT_EQ(0, extends_by(&m, store_by_proc));
}

/* As the memory of our own calls, which faults it in */

/* The page is not there when the call comes. */
static int drop_page(__u64 *words)
{
	return madvise(words, page_size(), MADV_DONTNEED);
}

TEST_F(mmap, events_into_it)
{
	struct hwheel_event *ev = (void *)(self->words + 100);
	int i;

	ASSERT_EQ(0, fire(self->fd, 3));
	ASSERT_EQ(0, drop_page(self->words));
	ASSERT_EQ(3 * sizeof(*ev), read(self->fd, ev, 5 * sizeof(*ev)));
	for (i = 0; i < 3; i++)
		EXPECT_TRUE(event_is_sound(&ev[i]));
	EXPECT_EQ(0, ev[3].id);
	EXPECT_EQ(0, stays_quiet(self->fd, now_ns()));
}

/* Over the words of pending ones, which are late then, but not more than that. */
TEST_F(mmap, events_over_words)
{
	struct hwheel_event *ev = (void *)self->words;
	__u64 deadline = now_ns() + HOUR, ids[5];
	int i;

	ASSERT_EQ(0, arm_many(self->fd, 5, deadline, ids));
	ASSERT_EQ(0, fire(self->fd, 1));
	ASSERT_EQ(0, drop_page(self->words));
	ASSERT_EQ(sizeof(*ev), read(self->fd, ev, sizeof(*ev)));
	EXPECT_TRUE(event_is_sound(ev));
	for (i = 0; i < 5; i++) {
		EXPECT_LE(deadline, deadline_of(self->fd, ids[i]));
		EXPECT_GE(round_up_8(deadline) + HWHEEL_STORE_MAX_NS,
			  deadline_of(self->fd, ids[i]));
	}
	EXPECT_EQ(0, cancel_many(self->fd, ids, 5));
}

TEST_F(mmap, operation_in_it)
{
	struct hwheel_op *op = (void *)(self->words + 100);
	__u64 deadline = now_ns() + HOUR;

	op->flags = HWHEEL_ABSOLUTE;
	op->cookie = 7;
	op->time_ns = deadline;
	ASSERT_EQ(0, drop_page(self->words));
	ASSERT_EQ(0, call(self->fd, HWHEEL_IOC_ARM, op));
	EXPECT_EQ(round_up_8(deadline), load(self->words, op->id));
	op->time_ns = 0;
	op->cookie = 0;
	ASSERT_EQ(0, drop_page(self->words));
	ASSERT_EQ(HWHEEL_STATE_PENDING, call(self->fd, HWHEEL_IOC_QUERY, op));
	EXPECT_EQ(round_up_8(deadline), op->time_ns);
	EXPECT_EQ(7, op->cookie);
	op->flags = 0;
	op->time_ns = 0;
	op->cookie = 0;
	ASSERT_EQ(0, drop_page(self->words));
	EXPECT_EQ(0, call(self->fd, HWHEEL_IOC_CANCEL, op));
	EXPECT_EQ(0, load(self->words, op->id));
}

static void fill_ops(struct hwheel_op *ops, int n, __u64 deadline)
{
	while (n--)
		ops[n] = (struct hwheel_op){
			.op = HWHEEL_OP_ARM,
			.flags = HWHEEL_ABSOLUTE,
			.cookie = n,
			.time_ns = deadline,
		};
}

TEST_F(mmap, batch_in_it)
{
	struct hwheel_op *ops = (void *)(self->words + 100);
	__u64 deadline = now_ns() + HOUR;
	int i;

	fill_ops(ops, 20, deadline);
	ASSERT_EQ(0, drop_page(self->words));
	ASSERT_EQ(20, submit(self->fd, ops, 20));
	for (i = 0; i < 20; i++) {
		EXPECT_EQ(0, ops[i].result);
		EXPECT_EQ(round_up_8(deadline), load(self->words, ops[i].id));
		ops[i] = (struct hwheel_op){ .op = HWHEEL_OP_CANCEL, .id = ops[i].id };
	}
	ASSERT_EQ(20, submit(self->fd, ops, 20));
	for (i = 0; i < 20; i++)
		EXPECT_EQ(0, load(self->words, ops[i].id));
}

/* Their words are among the operations, which is as if garbage were stored. */
TEST_F(mmap, batch_over_its_words)
{
	unsigned int seen[20] = { 0 };
	struct hwheel_op *ops = (void *)self->words;

	fill_ops(ops, 20, now_ns());
	ops[19].op = HWHEEL_OP_CANCEL + 100;
	ASSERT_EQ(0, drop_page(self->words));
	ASSERT_EQ(20, submit(self->fd, ops, 20));
	memset(self->words, 0, self->page);
	EXPECT_EQ(0, collect(self->fd, seen, 20, 19));
	EXPECT_TRUE(each_once(seen, 19));
	EXPECT_EQ(0, stays_quiet(self->fd, now_ns()));
}

TEST_F(mmap, info_into_it)
{
	struct hwheel_file_stats *stats = (void *)(self->words + 200);
	struct hwheel_info *info = (void *)(self->words + 100);

	ASSERT_EQ(0, drop_page(self->words));
	ASSERT_EQ(0, call(self->fd, HWHEEL_IOC_INFO, info));
	ASSERT_EQ(0, drop_page(self->words));
	ASSERT_EQ(0, call(self->fd, HWHEEL_IOC_STATS, stats));
	EXPECT_EQ(max_timeouts(self->fd), info->max_timeouts);
	EXPECT_EQ(0, stats->armed);
}

/* While it grows */

#define RACE_PAGES	64

struct race {
	int	fd;
	size_t	page;
	int	ret;
};

static void *map_more_and_more(void *data)
{
	struct race *race = data;
	size_t pages;

	for (pages = 1; !race->ret && pages <= RACE_PAGES; pages++)
		race->ret = try_size(race->fd, pages * race->page);
	return NULL;
}

/* Whoever is first, the one that is armed or its word, they find each other. */
TEST_F(mmap, arm_while_it_grows)
{
	struct race races[2] = { { self->fd, self->page, 0 }, { self->fd, self->page, 0 } };
	size_t n = RACE_PAGES * self->per_page / 4, i, wrong = 0;
	__u64 deadline = now_ns() + HOUR, *ids = calloc(n, sizeof(*ids)), *words;
	pthread_t threads[2];

	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, map_more_and_more, &races[i]));
	EXPECT_EQ(0, arm_many(self->fd, n, deadline, ids));
	for (i = 0; i < n; i += 3)
		EXPECT_EQ(0, refresh_at(self->fd, ids[i], deadline + SEC));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, pthread_join(threads[i], NULL));
		EXPECT_EQ(0, races[i].ret);
	}
	words = map_words(self->fd, RACE_PAGES * self->page);
	ASSERT_NE(NULL, words);
	for (i = 0; i < n; i++)
		wrong += load(words, ids[i]) != round_up_8(deadline + (i % 3 ? 0 : SEC));
	EXPECT_EQ(0, wrong);
	EXPECT_EQ(0, munmap(words, RACE_PAGES * self->page));
	free(ids);
}

/* On the clock of who opened the file */

static int extends_there(size_t page, __u64 outside)
{
	int fd = open_device(O_NONBLOCK);
	__u64 *words = map_words(fd, page), id, at = now_ns() + HOUR;

	if (!words || arm_at(fd, at, 0, &id))
		return -EPROTO;
	/* By a day, or it is the same clock. */
	if (now_ns() < outside + 12 * HOUR || load(words, id) < at ||
	    load(words, id) > at + 16 || deadline_of(fd, id) != load(words, id))
		return -ERANGE;
	return cancel(fd, id) ?: extends(fd, words);
}

static int write_offset(void)
{
	static const char text[] = "monotonic 86400 0\n";
	int fd = open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC), ret;

	if (fd < 0)
		return -errno;
	ret = write(fd, text, sizeof(text) - 1) < 0 ? -errno : 0;
	close(fd);
	return ret;
}

TEST_F(mmap, time_namespace)
{
	__u64 outside = now_ns();
	pid_t pid;

	if (unshare(CLONE_NEWTIME))
		SKIP(return, "no time namespaces");
	ASSERT_EQ(0, write_offset());
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(-extends_there(self->page, outside));
	EXPECT_EQ(0, reap(pid));
}

TEST_HARNESS_MAIN
