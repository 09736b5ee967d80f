/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Loading the module, and the life of a wheel that another module makes, as
 * timeout_operations.h has operations on timeouts.
 */
#ifndef _HWHEEL_FAULT_MODULE_OPERATIONS_H
#define _HWHEEL_FAULT_MODULE_OPERATIONS_H

#include "site.h"
#include "state.h"

#include <sys/syscall.h>

#define LIFE		"/sys/module/hwheel_fault/parameters/life"

static inline int load_file(int fd)
{
	return syscall(SYS_finit_module, fd, "", 0) ? -errno : 0;
}

static inline int load_module(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), ret;

	if (fd < 0)
		return -errno;
	ret = load_file(fd);
	close(fd);
	return ret;
}

static inline int remove_module(const char *name)
{
	return syscall(SYS_delete_module, name, O_NONBLOCK) ? -errno : 0;
}

/* Not opened by what is made to fail */
static inline int prepare_load(struct state *state)
{
	int ret = 0;

	if (!access(MODULE, F_OK)) {
		if (!nr_symbols)
			note_symbols();
		ret = remove_module("hwheel");
	}
	if (ret)
		return ret;
	state->fd = open("hwheel.ko", O_RDONLY | O_CLOEXEC);
	return state->fd < 0 ? -errno : 0;
}

static inline int act_load(struct state *state)
{
	return load_file(state->fd);
}

/* How many there are to fail before a module's init is called, in the trace; 0: it is not */
static inline unsigned int count_before_init(void)
{
	FILE *trace = fopen(TRACING "trace", "re");
	char line[512], thread[16];
	unsigned int n = 0;
	bool found = false;

	snprintf(thread, sizeof(thread), "-%d ", getpid());
	while (trace && !found && fgets(line, sizeof(line), trace)) {
		if (!strstr(line, thread))
			continue;
		found = strstr(line, " init: ");
		n += !!strstr(line, " any: ");
	}
	if (trace)
		fclose(trace);
	return found ? n : 0;
}

/*
 * Of all that the kernel does with a module it warns where it has no memory to tell how
 * the module's events are traced. After that it makes its files in sysfs, then it calls its
 * init. How many there are before varies by some, so it starts a little earlier.
 */
#define EARLIER		20

static inline unsigned int first_in_init(void)
{
	struct state state = { .fd = -1 };
	unsigned int n;
	int ret;

	if (prepare_load(&state))
		return 0;
	clear_trace();
	ret = put(PROBES "any/enable", "1") ?: act_load(&state) ?: put(PROBES "any/enable", "0");
	close(state.fd);
	n = count_before_init();
	return ret || n <= EARLIER ? 0 : n - EARLIER;
}

#define WORKERS		"hwheel/*"

/* What a wheel and its module are seen by */
static inline bool is_gone(void)
{
	static const char * const paths[] = {
		MODULE, DEVICE, "/sys/class/misc/hwheel", DEBUGFS "hwheel",
		TRACING "events/hwheel", NULL,
	};
	const char * const *path;

	for (path = paths; *path; path++) {
		if (access(*path, F_OK))
			continue;
		printf("# %s is there\n", *path);
		return false;
	}
	return true;
}

/* If it failed, nothing is left of it. */
static inline int judge_load(struct state *state, int ret)
{
	close(state->fd);
	state->fd = -1;
	if (ret)
		return is_gone() ? await_threads(WORKERS, 0) : -EPROTO;
	if (count_threads("/proc", WORKERS) <= 0)
		return -EPROTO;
	return open_file(state) ?: judge_usable(state, 0);
}

/* In the kernel a wheel is created, used and destroyed. */
static inline int prepare_life(struct state *state)
{
	int ret = access(LIFE, F_OK) ? load_module("hwheel_fault.ko") : 0;

	if (ret)
		return ret;
	state->fd = open(LIFE, O_WRONLY | O_CLOEXEC);
	return state->fd < 0 ? -errno : 0;
}

/* If it failed, it can be tried again. */
static inline int live(const struct state *state, int ret, const char *kind)
{
	return ret ? put_to(state->fd, kind) : 0;
}

#define LIVE(kind)							\
static inline int act_live_ ## kind(struct state *state)			\
{									\
	return put_to(state->fd, #kind);				\
}									\
									\
static inline int judge_live_ ## kind(struct state *state, int ret)		\
{									\
	return live(state, ret, #kind);					\
}

LIVE(plain)
LIVE(levels)
LIVE(large)
LIVE(percpu)

#endif /* _HWHEEL_FAULT_MODULE_OPERATIONS_H */
