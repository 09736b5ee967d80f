/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests that involve several processes, threads or ways to wait share, beyond
 * common.h: the same rules.
 */
#ifndef _HWHEEL_SELFTESTS_SHARE_H
#define _HWHEEL_SELFTESTS_SHARE_H

#include "common.h"

#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>

/* HWHEEL_STATE_*, or a negative errno. */
static inline int state_of(int fd, __u64 id)
{
	struct hwheel_op op;

	return query(fd, id, 0, &op);
}

static inline int configure_file(int fd, struct hwheel_config config)
{
	return configure(fd, &config);
}

static inline int set_blocking_file(int fd)
{
	return fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK) ? -errno : 0;
}

/* How many hold the module; -1 if it is built in. */
static inline long users_of_module(void)
{
	FILE *file = fopen("/sys/module/hwheel/refcnt", "r");
	long users = -1;

	if (!file)
		return -1;
	if (fscanf(file, "%ld", &users) != 1)
		users = -1;
	fclose(file);
	return users;
}

/* The holder of a file may let go of it a little later than the call says that it is done. */
static inline int await_users(long users)
{
	return AWAIT(users_of_module() == users);
}

/* All that poll() tells of the file at this moment */
static inline int poll_all(int fd)
{
	struct pollfd pfd = {
		.fd = fd,
		.events = POLLIN | POLLOUT | POLLPRI | POLLRDNORM | POLLWRNORM | POLLRDHUP,
	};

	return poll(&pfd, 1, 0) < 0 ? -errno : pfd.revents;
}

/* An epoll that waits for @events of the file */
static inline int watch(int fd, __u32 events)
{
	struct epoll_event event = { .events = events, .data.u64 = POISON64 };
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event))
		return -errno;
	return epoll;
}

/* The events reported within @timeout_ms, 0 if there are none. */
static inline int watched(int epoll, int timeout_ms)
{
	struct epoll_event event[2];
	int n = epoll_wait(epoll, event, 2, timeout_ms);

	if (n < 0 || n > 1)
		return n < 0 ? -errno : -EPROTO;
	return n ? (int)event[0].events : 0;
}

/* Memory that children share, or NULL */
static inline void *map_shared(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			    -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

/* Waits until a process or thread is blocked in a system call, as far as one can see. */
static inline int await_sleep(pid_t tid)
{
	__u64 bound = now_ns() + WAIT_MS * MSEC;
	char path[64], state;
	FILE *stat;
	int got;

	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	while (now_ns() < bound) {
		stat = fopen(path, "r");
		if (!stat)
			return -errno;
		got = fscanf(stat, "%*d (%*[^)]) %c", &state);
		fclose(stat);
		if (got == 1 && state == 'S')
			return 0;
		sched_yield();
	}
	return -ETIMEDOUT;
}

/* Returns when the thread waits, which puts its id at @tid first. */
static inline int start_waiting(pthread_t *thread, pid_t *tid, void *(*wait)(void *), void *data)
{
	int ret;

	*tid = 0;
	ret = -pthread_create(thread, NULL, wait, data);
	while (!ret && !__atomic_load_n(tid, __ATOMIC_ACQUIRE))
		sched_yield();
	return ret ?: await_sleep(*tid);
}

union control {
	char		buffer[CMSG_SPACE(sizeof(int))];
	struct cmsghdr	align;
};

static inline int send_file(int socket, int fd)
{
	union control control = { 0 };
	char byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.buffer,
		.msg_controllen = sizeof(control.buffer),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
	return sendmsg(socket, &msg, 0) == 1 ? 0 : -errno;
}

/* Returns the file, or a negative errno. */
static inline int receive_file(int socket)
{
	union control control = { 0 };
	char byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.buffer,
		.msg_controllen = sizeof(control.buffer),
	};
	struct cmsghdr *cmsg;
	int fd;

	if (recvmsg(socket, &msg, MSG_CMSG_CLOEXEC) != 1)
		return -errno;
	cmsg = CMSG_FIRSTHDR(&msg);
	if (!cmsg || cmsg->cmsg_type != SCM_RIGHTS)
		return -EPROTO;
	memcpy(&fd, CMSG_DATA(cmsg), sizeof(fd));
	return fd;
}

#endif /* _HWHEEL_SELFTESTS_SHARE_H */
