// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which call ended how, and whether it may. The table is what the device's header says of
 * each, and of read() and poll() the manual.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tally.h"

#define MAX_SAID	10
#define MAX_ERRNOS	9

/* Of an offset beyond 4 GiB, on 32 bits; 0 ends the errnos */
#define TOO_FAR		(sizeof(long) == 4 ? EOVERFLOW : 0)

static const struct row {
	const char	*name;
	int		errnos[MAX_ERRNOS];
} rows[NR_CALLS] = {
	[CALL_INFO]    = { "INFO",    { EFAULT } },
	[CALL_ARM]     = { "ARM",     { EFAULT, EINVAL, ENOSPC, ENOMEM, EDQUOT, ERANGE,
					ESHUTDOWN, EOPNOTSUPP } },
	[CALL_REFRESH] = { "REFRESH", { EFAULT, EINVAL, ENOENT, ERANGE } },
	[CALL_CANCEL]  = { "CANCEL",  { EFAULT, EINVAL, ENOENT } },
	[CALL_QUERY]   = { "QUERY",   { EFAULT, EINVAL, ENOENT } },
	[CALL_SET]     = { "SET",     { EFAULT, EINVAL, ENOSPC, ENOMEM, EDQUOT, ERANGE,
					ESHUTDOWN, EOPNOTSUPP } },
	[CALL_WITHDRAW] = { "WITHDRAW", { EFAULT, EINVAL, ENOENT } },
	[CALL_SUBMIT]  = { "SUBMIT",  { EFAULT, EINVAL, ENOMEM } },
	[CALL_CONFIG]  = { "CONFIG",  { EFAULT, EINVAL, EBUSY, EPERM, ENOSPC, ESHUTDOWN,
					ENOMEM, EINTR } },
	[CALL_STOP]    = { "STOP",    { EINTR } },
	[CALL_STATS]   = { "STATS",   { EFAULT } },
	[CALL_MAP]     = { "MAP",     { EFAULT, EINVAL, EBUSY, ENOSPC, EDQUOT, EOPNOTSUPP,
					ESHUTDOWN, ENOMEM, EINTR } },
	[CALL_KICK]    = { "KICK",    { EINVAL } },
	[CALL_UNKNOWN] = { "unknown", { ENOTTY } },
	[CALL_READ]    = { "read",    { EFAULT, EINVAL, EAGAIN, EINTR, EOPNOTSUPP } },
	[CALL_READV]   = { "readv",   { EFAULT, EINVAL, EAGAIN, EOPNOTSUPP } },
	[CALL_POLL]    = { "poll",    { EINTR } },
	[CALL_EPOLL]   = { "epoll",   { } },
	[CALL_OPEN]    = { "open",    { ENOMEM } },
	[CALL_MMAP]    = { "mmap",    { EINVAL, ENOMEM, TOO_FAR } },
	[CALL_BATCHED_ARM]     = { "batched ARM",     { EINVAL, ENOSPC, ENOMEM, EDQUOT, ERANGE,
							ESHUTDOWN, EOPNOTSUPP } },
	[CALL_BATCHED_REFRESH] = { "batched REFRESH", { EINVAL, ENOENT, ERANGE } },
	[CALL_BATCHED_CANCEL]  = { "batched CANCEL",  { EINVAL, ENOENT } },
	[CALL_BATCHED_QUERY]   = { "batched QUERY",   { EINVAL, ENOENT } },
	[CALL_BATCHED_SET]     = { "batched SET",     { EINVAL, ENOSPC, ENOMEM, EDQUOT, ERANGE,
							ESHUTDOWN, EOPNOTSUPP } },
	[CALL_BATCHED_WITHDRAW] = { "batched WITHDRAW", { EINVAL, ENOENT } },
	[CALL_BATCHED_UNKNOWN] = { "batched unknown", { EINVAL } },
	[CALL_MAPPED_ARM]      = { "mapped arm",      { EBUSY, ESHUTDOWN } },
	[CALL_MAPPED_REFRESH]  = { "mapped refresh",  { ENOENT } },
	[CALL_MAPPED_CANCEL]   = { "mapped cancel",   { ENOENT } },
	[CALL_MAPPED_WITHDRAW] = { "mapped withdraw", { ENOENT } },
	[CALL_MAPPED_REAP]     = { "mapped reap",     { } },
};

static bool is_allowed(enum call call, int err)
{
	const int *errnos = rows[call].errnos;
	unsigned int i;

	for (i = 0; i < MAX_ERRNOS && errnos[i]; i++)
		if (errnos[i] == err)
			return true;
	return !err && call != CALL_UNKNOWN && call != CALL_BATCHED_UNKNOWN;
}

/*
 * A process that is killed does not see EINTR, and memory is short only where somebody
 * sees to it. A batch has to meet a MAP for an ARM or SET in it to find that the file is mapped.
 */
static bool is_reachable(enum call call, int err, const struct reach *reach)
{
	switch (err) {
	case ENOMEM:
		return false;
	case EINTR:
		return call != CALL_CONFIG && call != CALL_STOP && call != CALL_MAP;
	case EOPNOTSUPP:
		return call != CALL_BATCHED_ARM && call != CALL_BATCHED_SET;
	case EDQUOT:
		return reach->max_pending;
	case ENOSPC:
		return reach->max_wheels || call != CALL_CONFIG;
	case EPERM:
		return reach->unprivileged;
	default:
		return true;
	}
}

void tally_note(struct tally *tally, enum call call, long ret)
{
	int err = ret < 0 ? -ret : 0;

	if (err >= TALLY_ERRNOS || !is_allowed(call, err)) {
		contradict("%s: %s, which it is not said to do", rows[call].name, strerror(err));
		return;
	}
	tally->counts[call][err]++;
	tally->calls += call < CALL_BATCHED_ARM;
}

void tally_add(struct tally *to, const struct tally *tally)
{
	enum call call;
	int err;

	to->calls += tally->calls;
	for (call = 0; call < NR_CALLS; call++)
		for (err = 0; err < TALLY_ERRNOS; err++)
			to->counts[call][err] += tally->counts[call][err];
}

/* Of the ioctls and reads: poll() and the like always succeed. */
unsigned int tally_success_percent(const struct tally *tally)
{
	unsigned long successes = 0, sum = 0;
	enum call call;
	int err;

	for (call = 0; call < CALL_POLL; call++) {
		successes += tally->counts[call][0];
		for (err = 0; err < TALLY_ERRNOS; err++)
			sum += tally->counts[call][err];
	}
	return sum ? 100 * successes / sum : 0;
}

void tally_print(const struct tally *tally)
{
	enum call call;
	int err;

	for (call = 0; call < NR_CALLS; call++) {
		printf("# %-15s ok %lu", rows[call].name, tally->counts[call][0]);
		for (err = 1; err < TALLY_ERRNOS; err++)
			if (tally->counts[call][err])
				printf(", %s %lu", strerrorname_np(err), tally->counts[call][err]);
		printf("\n");
	}
}

/* Did each happen that can? Names those that did not. */
bool tally_covers(const struct tally *tally, const struct reach *reach)
{
	bool all = true;
	enum call call;
	int err;

	for (call = 0; call < NR_CALLS; call++) {
		for (err = 0; err < TALLY_ERRNOS; err++) {
			if (!is_allowed(call, err) || tally->counts[call][err] ||
			    !is_reachable(call, err, reach))
				continue;
			printf("# %s: never %s\n", rows[call].name,
			       err ? strerrorname_np(err) : "ok");
			all = false;
		}
	}
	return all;
}

static unsigned int said;

void contradict(const char *format, ...)
{
	char text[300];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	/* Later contradictions are mostly consequences of the first one. */
	if (__atomic_fetch_add(&said, 1, __ATOMIC_RELAXED) < MAX_SAID)
		printf("# contradiction: %s\n", text);
}

bool contradicted(void)
{
	return __atomic_load_n(&said, __ATOMIC_RELAXED);
}
