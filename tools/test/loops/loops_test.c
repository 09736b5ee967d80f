// SPDX-License-Identifier: GPL-2.0-only
/* A wheel inside the loops of libuv, libev and libevent, as each is on this machine */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "loop.h"

#define MSEC	1000000ULL	/* ns */
#define SEC	1000000000ULL
#define MANY	5000
#define FEW	3

/* How often the loop has waited. The shared libraries call these in place of libc's. */
static unsigned int waits;

int epoll_pwait(int epoll, struct epoll_event *events, int most, int ms, const sigset_t *mask)
{
	waits++;
	return (int)syscall(SYS_epoll_pwait, epoll, events, most, ms, mask, 8);
}

int epoll_wait(int epoll, struct epoll_event *events, int most, int ms)
{
	return epoll_pwait(epoll, events, most, ms, NULL);
}

/* A clock of the kernel's ticks is old by up to a tick. */
static uint64_t coarse_lag;

int clock_gettime(clockid_t clock, struct timespec *time)
{
	const uint64_t lag = clock == CLOCK_MONOTONIC_COARSE ? coarse_lag : 0;
	uint64_t ns;

	if (syscall(SYS_clock_gettime, lag ? CLOCK_MONOTONIC : clock, time))
		return -1;
	ns = (uint64_t)time->tv_sec * SEC + (uint64_t)time->tv_nsec - lag;
	time->tv_sec = (time_t)(ns / SEC);
	time->tv_nsec = (long)(ns % SEC);
	return 0;
}

struct timeout {
	struct hwheel_local_timeout	timeout;
	uint64_t			earliest;	/* by the clock */
	unsigned int			calls;
};

static struct timeout timeouts[MANY];
static unsigned int early, readable_calls;
static int pipe_fds[2], timer_fd;

FIXTURE(loops)
{
	struct hwheel_local *wheel;
};

FIXTURE_VARIANT(loops)
{
	const struct loop *loop;
};

FIXTURE_VARIANT_ADD(loops, libuv) { .loop = &loop_of_uv };
FIXTURE_VARIANT_ADD(loops, libev) { .loop = &loop_of_ev };
FIXTURE_VARIANT_ADD(loops, libevent) { .loop = &loop_of_event };

/* For callbacks */
static const struct loop *loop;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * SEC + (uint64_t)now.tv_nsec;
}

static void expire(struct hwheel_local *of, struct hwheel_local_timeout *timeout)
{
	struct timeout *mine = (struct timeout *)timeout;

	(void)of;
	mine->calls++;
	early += now_ns() < mine->earliest;
}

/* Reads the time, which the loop may not have done before. */
static void arm(struct timeout *mine, hwheel_local_fn *callback, uint64_t delay_ns)
{
	mine->earliest = now_ns() + delay_ns;
	mine->calls = 0;
	hwheel_local_timeout_init(&mine->timeout, callback);
	loop->update();
	loop->set(&mine->timeout, delay_ns);
}

FIXTURE_SETUP(loops)
{
	loop = variant->loop;
	self->wheel = loop->open();
	early = 0;
	readable_calls = 0;
	timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	ASSERT_LE(0, timer_fd);
	ASSERT_EQ(0, pipe(pipe_fds));
}

FIXTURE_TEARDOWN(loops)
{
	loop->close();
	EXPECT_EQ(0, early);
}

TEST_F(loops, a_loop_without_timeouts_ends)
{
	loop->run();
	arm(&timeouts[0], expire, 1000 * SEC);
	hwheel_local_cancel(&timeouts[0].timeout);
	loop->update();
	loop->run();
	EXPECT_EQ(0, timeouts[0].calls);
}

TEST_F(loops, each_expires_once_and_none_early)
{
	for (unsigned int i = 0; i < MANY; i++)
		arm(&timeouts[i], expire, i * 7919 % 150 * MSEC + i * 104729 % MSEC);
	/* Some are moved to later, or to earlier, or are cancelled. */
	for (unsigned int i = 0; i < MANY; i += 5) {
		timeouts[i].earliest = now_ns() + (i % 100) * MSEC;
		loop->update();
		loop->set(&timeouts[i].timeout, (i % 100) * MSEC);
	}
	for (unsigned int i = 1; i < MANY; i += 5)
		EXPECT_TRUE(hwheel_local_cancel(&timeouts[i].timeout));
	loop->run();
	for (unsigned int i = 0; i < MANY; i++)
		ASSERT_EQ(i % 5 != 1, timeouts[i].calls);
}

/* One wait for it, and some more where the loop's clock is coarse or old, but not thousands */
TEST_F(loops, a_loop_waits_and_does_not_spin)
{
	for (unsigned int i = 0; i < 20; i++) {
		arm(&timeouts[0], expire, 10 * MSEC + i * 104729);
		waits = 0;
		loop->run();
		EXPECT_EQ(1, timeouts[0].calls);
		EXPECT_LE(1, waits);
		EXPECT_GE(100, waits);
	}
}

/* Its time was old when the timeout was armed, and is not when the loop looks. */
TEST_F(loops, a_coarse_clock_that_rings_early)
{
	for (unsigned int i = 0; i < 20; i++) {
		coarse_lag = 9 * MSEC / 10;
		arm(&timeouts[0], expire, 5 * MSEC + i * 104729);
		coarse_lag = 1;
		loop->run();
		EXPECT_EQ(1, timeouts[0].calls);
	}
}

static void cancel_others(struct hwheel_local *of, struct hwheel_local_timeout *timeout)
{
	expire(of, timeout);
	for (unsigned int i = 1; i < FEW; i++)
		hwheel_local_cancel(&timeouts[i].timeout);
	loop->update();
}

TEST_F(loops, a_loop_ends_when_the_last_timeout_was_cancelled)
{
	arm(&timeouts[0], cancel_others, 5 * MSEC);
	for (unsigned int i = 1; i < FEW; i++)
		arm(&timeouts[i], expire, i * 1000 * SEC);
	loop->run();
	EXPECT_EQ(1, timeouts[0].calls);
	EXPECT_EQ(0, timeouts[1].calls);
}

static void go_on(struct hwheel_local *of, struct hwheel_local_timeout *timeout)
{
	expire(of, timeout);
	if (!readable_calls && timeouts[0].calls < 100000)
		loop->set(timeout, 0);
}

static void note_readable(void)
{
	readable_calls++;
}

TEST_F(loops, a_callback_that_arms_0_leaves_its_turn_to_others)
{
	arm(&timeouts[0], go_on, 0);
	ASSERT_EQ(1, write(pipe_fds[1], "x", 1));
	loop->watch(pipe_fds[0], note_readable);
	loop->run();
	EXPECT_EQ(1, readable_calls);
	EXPECT_GE(10, timeouts[0].calls);
}

static void arm_anew(void)
{
	readable_calls++;
	loop->set(&timeouts[0].timeout, 30 * MSEC);
}

/* The loop has waited for long, and so has the time that the wheel got last. */
TEST_F(loops, a_delay_counts_from_the_waking_up)
{
	struct itimerspec at = { .it_value.tv_nsec = 60 * MSEC };

	arm(&timeouts[0], expire, 1000 * SEC);
	timeouts[0].earliest = now_ns() + 90 * MSEC;
	ASSERT_EQ(0, timerfd_settime(timer_fd, 0, &at, NULL));
	loop->watch(timer_fd, arm_anew);
	loop->run();
	EXPECT_EQ(1, readable_calls);
	EXPECT_EQ(1, timeouts[0].calls);
}

static void take_long(void)
{
	const struct timespec time = { .tv_nsec = 20 * MSEC };

	readable_calls++;
	nanosleep(&time, NULL);
	arm(&timeouts[0], expire, 30 * MSEC);
}

/* The loop's own time is that of its waking up. */
TEST_F(loops, a_callback_that_takes_long_before_it_arms)
{
	ASSERT_EQ(1, write(pipe_fds[1], "x", 1));
	loop->watch(pipe_fds[0], take_long);
	loop->run();
	EXPECT_EQ(1, readable_calls);
	EXPECT_EQ(1, timeouts[0].calls);
}

/* Nothing was pending, and the loop goes on for what a callback has armed. */
TEST_F(loops, a_callback_that_arms_the_first_timeout)
{
	hwheel_local_timeout_init(&timeouts[0].timeout, expire);
	timeouts[0].earliest = now_ns() + 30 * MSEC;
	timeouts[0].calls = 0;
	ASSERT_EQ(1, write(pipe_fds[1], "x", 1));
	loop->watch(pipe_fds[0], arm_anew);
	loop->run();
	EXPECT_EQ(1, timeouts[0].calls);
}

/* The loop that close() runs does not wait for them. */
TEST_F(loops, a_wheel_that_is_closed_ends_all)
{
	for (unsigned int i = 0; i < FEW; i++)
		arm(&timeouts[i], expire, i * 1000 * SEC);
	loop->close();
	for (unsigned int i = 0; i < FEW; i++) {
		EXPECT_EQ(0, timeouts[i].calls);
		EXPECT_FALSE(hwheel_local_is_pending(&timeouts[i].timeout));
	}
	self->wheel = loop->open();
}

TEST_HARNESS_MAIN
