/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_FUZZER_TALLY_H
#define _HWHEEL_FUZZER_TALLY_H

#include <stdbool.h>

#include "kselftest.h"

/* The calls. Those of a batch are not calls of their own, nor are operations on records. */
enum call {
	CALL_INFO,
	CALL_ARM,
	CALL_REFRESH,
	CALL_CANCEL,
	CALL_QUERY,
	CALL_SET,
	CALL_WITHDRAW,
	CALL_SUBMIT,
	CALL_CONFIG,
	CALL_STOP,
	CALL_STATS,
	CALL_MAP,
	CALL_KICK,
	CALL_UNKNOWN,
	CALL_READ,
	CALL_READV,
	CALL_POLL,
	CALL_EPOLL,
	CALL_OPEN,
	CALL_MMAP,
	CALL_BATCHED_ARM,
	CALL_BATCHED_REFRESH,
	CALL_BATCHED_CANCEL,
	CALL_BATCHED_QUERY,
	CALL_BATCHED_SET,
	CALL_BATCHED_WITHDRAW,
	CALL_BATCHED_UNKNOWN,
	CALL_MAPPED_ARM,
	CALL_MAPPED_REFRESH,
	CALL_MAPPED_CANCEL,
	CALL_MAPPED_WITHDRAW,
	CALL_MAPPED_REAP,
	NR_CALLS,
};

#define TALLY_ERRNOS	160

/**
 * struct tally - how often each call ended how
 * @calls:  how many there were, without those of batches
 * @counts: by errno; 0 is success
 */
struct tally {
	unsigned long	calls;
	unsigned long	counts[NR_CALLS][TALLY_ERRNOS];
};

/* What a machine is like tells which errors there can be. */
struct reach {
	bool	max_pending;
	bool	max_wheels;
	bool	unprivileged;
};

void tally_note(struct tally *tally, enum call call, long ret);
void tally_add(struct tally *to, const struct tally *tally);
void tally_print(const struct tally *tally);
unsigned int tally_success_percent(const struct tally *tally);
bool tally_covers(const struct tally *tally, const struct reach *reach);

/* Says what contradicts the device's description; the run has failed. */
void contradict(const char *format, ...) __printf(1, 2);
bool contradicted(void);

#endif /* _HWHEEL_FUZZER_TALLY_H */
