/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_FUZZER_MODEL_H
#define _HWHEEL_FUZZER_MODEL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>
#include <linux/hwheel.h>

#include "random.h"

#define MSEC	1000000ULL
#define SEC	(1000 * MSEC)

/* The latest deadline that there is; a later one means this one */
#define LATEST	((1ULL << 63) - 8)

/* How many ids a model can learn */
#define MODEL_IDS	6000

enum ending {
	GOES_ON,
	CANCELLED,
	WITHDRAWN,
	EXPIRED,
	STOPPED,
};

/**
 * struct span - when something is, was or will be
 * @lo: at the earliest
 * @hi: at the latest
 */
struct span {
	__u64	lo;
	__u64	hi;
};

/**
 * struct fate - what is known of a timeout
 * @id:       its id; 0: this place is free
 * @cookie:   as armed, or as told by its event before ARM has returned
 * @due:      its deadline
 * @deadline: as told by its event
 * @armed:    ARM has returned its id
 * @replaced: SET has armed another one in its place: it had ended, or its event was withdrawn
 * @ending:   how it ended
 */
struct fate {
	__u64		id;
	__u64		cookie;
	struct span	due;
	__u64		deadline;
	bool		armed;
	bool		replaced;
	enum ending	ending;
};

/**
 * struct model - what a file should hold, as far as we can know
 * @lock:      protects it
 * @fates:     a hash table by id
 * @ids:       the same ids, in the order in which they were learned
 * @nr_ids:    how many
 * @reserved:  how many more may be learned by calls that are under way
 * @shared:    several threads use the file
 * @clock:     of its wheel
 * @own_wheel: CONFIG has made a wheel for it
 * @tried:     there was an ARM that may have made an id
 * @mapping:   there was a MAP that may have succeeded
 * @layout:    as the last MAP has told; no records: it is not mapped
 * @scribbled: a thread writes into the mapped memory
 * @used:      its only thread arms mapped timeouts, which are not counted in @armed
 * @simple:    CONFIG has asked for a simple wheel
 * @limited:   the wheel has a limit for all its files
 * @short_of_memory: the account may hold no more than its files might want
 * @max:       how many timeouts the file may hold
 * @stopping:  STOP was called
 * @stopped:   STOP has returned
 * @ended:     read() has returned 0
 * @armed:     timeouts armed; so for the next ones
 * @refreshed: refreshes
 * @cancelled: timeouts cancelled
 * @withdrawn: timeouts that WITHDRAW or SET has ended, pending or as events
 * @expired:   "expired" events read
 * @stops:     "stopped" events read
 * @told:      timeouts that STOP said it has stopped
 */
struct model {
	pthread_mutex_t	lock;
	struct fate	*fates;
	__u64		*ids;
	unsigned int	nr_ids;
	unsigned int	reserved;
	bool		shared;
	clockid_t	clock;
	bool		own_wheel;
	bool		tried;
	bool		mapping;
	struct hwheel_map layout;
	bool		scribbled;
	bool		used;
	bool		simple;
	bool		limited;
	bool		short_of_memory;
	__u64		max;
	bool		stopping;
	bool		stopped;
	bool		ended;
	__u64		armed;
	__u64		refreshed;
	__u64		cancelled;
	__u64		withdrawn;
	__u64		expired;
	__u64		stops;
	__u64		told;
};

/**
 * struct facts - what was certain before a call
 * @armed:    its id is that of a timeout that was armed
 * @ending:   how that ended
 * @held:     it has not ended, or its event was not read, and nobody else can read it
 * @pending:  it is pending, and will be for long
 * @stopped:  STOP had returned
 * @ended:    read() had returned 0
 * @mapped:   MAP had succeeded
 */
struct facts {
	bool		armed;
	enum ending	ending;
	bool		held;
	bool		pending;
	bool		stopped;
	bool		ended;
	bool		mapped;
};

__u64 model_now(const struct model *model);
__u64 deadline_after(__u64 now, const struct hwheel_op *op);

int model_init(struct model *model, const struct hwheel_info *info, bool shared);
void model_free(struct model *model);

bool model_reserve(struct model *model, unsigned int n);
void model_unreserve(struct model *model, unsigned int n);
__u64 model_id(struct model *model, struct random *rnd, bool recent);
struct facts model_facts(struct model *model, __u64 id);

/* Before a call: what it may do from now on */
void model_may_arm(struct model *model);
void model_may_configure(struct model *model, const struct hwheel_config *config);
void model_may_refresh(struct model *model, __u64 id, __u64 deadline);
void model_may_stop(struct model *model);
void model_may_map(struct model *model);
void model_scribbled(struct model *model);
void model_uses_records(struct model *model);

/* After it: what it did */
void model_armed(struct model *model, __u64 id, __u64 cookie, struct span due);
void model_refreshed(struct model *model, __u64 id, struct span due);
void model_cancelled(struct model *model, __u64 id);
void model_withdrawn(struct model *model, __u64 id);
void model_replaced(struct model *model, __u64 id);
void model_queried(struct model *model, const struct facts *before, const struct hwheel_op *op,
		   int state, struct span when);
void model_refused(struct model *model, int err, unsigned int arms);
void model_event(struct model *model, const struct hwheel_event *event);
void model_ended(struct model *model);
void model_configured(struct model *model, const struct hwheel_config *config);
void model_not_configured(struct model *model, int err);
void model_mapped(struct model *model, const struct hwheel_map *in,
		  const struct hwheel_map *out);
void model_not_mapped(struct model *model, const struct hwheel_map *in, int err);
void model_mapped_event(struct model *model, bool stopped);
void model_kicked(struct model *model, const struct facts *before, int err);
void model_told_mapped(struct model *model, const char *call);
void model_info(struct model *model, const struct hwheel_info *info);
void model_stopped(struct model *model, __u64 told);
void model_stats(struct model *model, const struct hwheel_file_stats *stats);
void model_all_over(struct model *model, const struct hwheel_file_stats *stats);

#endif /* _HWHEEL_FUZZER_MODEL_H */
