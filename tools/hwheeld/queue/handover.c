// SPDX-License-Identifier: GPL-2.0-only
#include <utlist.h>

#include "log/replay.h"
#include "queue/change.h"
#include "queue/handover.h"
#include "queue/life.h"
#include "queue/timeout.h"

/* They come at the end of the list, with those of other parts that are being loaded. */
static void gained(uint64_t seq, bool (*is_in)(const char *key, size_t length))
{
	struct timeout *oldest = timeout_oldest();
	struct timeout *timeout = oldest ? oldest->older : NULL;

	for (; timeout && timeout->seq >= seq; timeout = timeout->older) {
		if (is_in(timeout->key, timeout->key_length)) {
			timeout->busy = false;
			life_arm(timeout);
		}
		if (timeout == oldest)
			break;
	}
}

static void lost(bool (*is_in)(const char *key, size_t length))
{
	struct timeout *timeout, *next;

	DL_FOREACH_SAFE2(timeout_oldest(), timeout, next, newer) {
		if (!is_in(timeout->key, timeout->key_length))
			continue;
		change_fail_waiters(timeout);
		timeout_remove(timeout);
	}
}

const struct store_moves handover_moves = {
	.load = replay_record,
	.gained = gained,
	.lost = lost,
};
