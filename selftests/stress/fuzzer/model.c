// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a file should hold, and what contradicts that.
 *
 * Threads that share a file learn what a call did only after others may have seen its
 * consequences. So what is known of a timeout is put together from what ARM, CANCEL and
 * read() say, in whatever order they come to say it: the thread that comes second finds the
 * contradiction. model_facts() asks before a call what must have been so before it.
 *
 * Where one thread has the file for itself, all is known exactly, but for the deadlines where
 * others store some: then they may be later.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "model.h"
#include "tally.h"

#define TABLE	8192
#define HOUR	(3600 * SEC)

/* More bytes than a machine has */
#define PLENTY	1000000000000000ULL

/* On the clock of its wheel */
__u64 model_now(const struct model *model)
{
	struct timespec ts;

	clock_gettime(model->clock, &ts);
	return ts.tv_sec * SEC + ts.tv_nsec;
}

static __u64 lesser(__u64 a, __u64 b)
{
	return a < b ? a : b;
}

/* When a timeout is due whose ioctl is made @now: stored in units of 8 ns, rounded up */
__u64 deadline_after(__u64 now, const struct hwheel_op *op)
{
	__u64 ns = lesser(op->time_ns, LATEST);

	if (!(op->flags & HWHEEL_ABSOLUTE))
		ns = lesser(now + ns, LATEST);
	return (ns + 7) & ~7ULL;
}

int model_init(struct model *model, const struct hwheel_info *info, bool shared)
{
	*model = (struct model){
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.fates = calloc(TABLE, sizeof(*model->fates)),
		.ids = calloc(MODEL_IDS, sizeof(*model->ids)),
		.shared = shared,
		.clock = info->clock,
		.limited = info->max_pending,
		.short_of_memory = info->max_user_bytes < PLENTY,
		.max = info->max_timeouts,
	};
	return model->fates && model->ids ? 0 : -1;
}

void model_free(struct model *model)
{
	free(model->fates);
	free(model->ids);
}

static void lock(struct model *model)
{
	pthread_mutex_lock(&model->lock);
}

static void unlock(struct model *model)
{
	pthread_mutex_unlock(&model->lock);
}

/* The fate of @id, or the free place where it belongs */
static struct fate *place_of(struct model *model, __u64 id)
{
	unsigned int i = (id ^ id >> 32) * 0x9e3779b1U % TABLE;

	while (model->fates[i].id && model->fates[i].id != id)
		i = (i + 1) % TABLE;
	return &model->fates[i];
}

static struct fate *find(struct model *model, __u64 id)
{
	struct fate *fate = id ? place_of(model, id) : NULL;

	return fate && fate->id ? fate : NULL;
}

/* There is room, as it was reserved. */
static struct fate *learn(struct model *model, __u64 id)
{
	struct fate *fate = place_of(model, id);

	if (fate->id)
		return fate;
	if (model->nr_ids == MODEL_IDS) {
		printf("Bail out! More ids than timeouts\n");
		exit(1);
	}
	model->ids[model->nr_ids++] = id;
	*fate = (struct fate){ .id = id, .due = { .lo = UINT64_MAX } };
	return fate;
}

/* False if the file has had so many that it has to be replaced. */
bool model_reserve(struct model *model, unsigned int n)
{
	bool room;

	lock(model);
	room = model->nr_ids + model->reserved + n <= MODEL_IDS;
	if (room)
		model->reserved += n;
	unlock(model);
	return room;
}

void model_unreserve(struct model *model, unsigned int n)
{
	lock(model);
	model->reserved -= n;
	unlock(model);
}

static __u64 pick(const struct model *model, struct random *rnd, bool recent)
{
	unsigned int n = model->nr_ids;

	if (recent)
		return model->ids[n - 1 - random_below(rnd, lesser(n, 64))];
	return model->ids[random_below(rnd, n)];
}

/* One that was learned lately, or at any time; 0 if there is none. */
__u64 model_id(struct model *model, struct random *rnd, bool recent)
{
	unsigned int tries = 4;
	__u64 id = 0;

	lock(model);
	/* Few are alive, and these are worth more than one try. */
	while (model->nr_ids && tries--) {
		id = pick(model, rnd, recent);
		if (find(model, id)->ending == GOES_ON)
			break;
	}
	unlock(model);
	return id;
}

/* Nobody else can have ended it, nor read its event. */
static bool is_held(const struct model *model, const struct fate *fate)
{
	return !model->shared && fate->armed && fate->ending == GOES_ON;
}

/* Nor has it expired meanwhile. */
static bool is_pending(const struct model *model, const struct fate *fate)
{
	return is_held(model, fate) && !model->stopping &&
	       fate->due.lo > model_now(model) + HOUR;
}

struct facts model_facts(struct model *model, __u64 id)
{
	struct facts facts = { 0 };
	struct fate *fate;

	lock(model);
	fate = find(model, id);
	if (fate) {
		facts.armed = fate->armed;
		facts.ending = fate->ending;
		facts.held = is_held(model, fate);
		facts.pending = is_pending(model, fate);
	}
	facts.stopped = model->stopped;
	facts.ended = model->ended;
	facts.mapped = model->layout.records;
	unlock(model);
	return facts;
}

void model_may_arm(struct model *model)
{
	lock(model);
	model->tried = true;
	unlock(model);
}

/* If others use the file, it may fire by the new deadline before we know that it has one. */
void model_may_refresh(struct model *model, __u64 id, __u64 deadline)
{
	struct fate *fate;

	if (!model->shared || !id)
		return;
	lock(model);
	fate = learn(model, id);
	fate->due.lo = lesser(fate->due.lo, deadline);
	unlock(model);
}

void model_may_stop(struct model *model)
{
	lock(model);
	model->stopping = true;
	unlock(model);
}

void model_may_map(struct model *model)
{
	lock(model);
	model->mapping = true;
	unlock(model);
}

void model_scribbled(struct model *model)
{
	lock(model);
	model->scribbled = true;
	unlock(model);
}

void model_uses_records(struct model *model)
{
	lock(model);
	model->used = true;
	unlock(model);
}

static void check_event(const struct model *model, const struct fate *fate)
{
	if (fate->deadline < fate->due.lo)
		contradict("%#llx was due at %llu, not at %llu", fate->id, fate->due.lo,
			   fate->deadline);
	if (!model->shared && fate->deadline > fate->due.hi)
		contradict("%#llx was due at %llu, not as late as %llu", fate->id, fate->due.hi,
			   fate->deadline);
}

void model_armed(struct model *model, __u64 id, __u64 cookie, struct span due)
{
	struct fate *fate;

	lock(model);
	fate = learn(model, id);
	if (fate->armed)
		contradict("%#llx was given to two timeouts", id);
	if (!id || (!model->shared && fate->ending))
		contradict("%#llx is the id of a new timeout", id);
	fate->armed = true;
	fate->due.lo = lesser(fate->due.lo, due.lo);
	fate->due.hi = due.hi;
	model->armed++;
	if (fate->ending == EXPIRED || fate->ending == STOPPED) {
		check_event(model, fate);
		if (fate->cookie != cookie)
			contradict("%#llx had another cookie", id);
	}
	fate->cookie = cookie;
	unlock(model);
}

void model_refreshed(struct model *model, __u64 id, struct span due)
{
	struct fate *fate;

	lock(model);
	fate = learn(model, id);
	if (!model->shared) {
		if (!fate->armed)
			contradict("%#llx was refreshed and never armed", id);
		fate->due = due;
	}
	model->refreshed++;
	unlock(model);
}

/* However many see an end of it, there is one. */
static void end(struct model *model, struct fate *fate, enum ending ending)
{
	static const char * const names[] = {
		"goes on", "was cancelled", "was withdrawn", "expired", "was stopped",
	};

	if (fate->ending)
		contradict("%#llx %s, but it %s before", fate->id, names[ending],
			   names[fate->ending]);
	if (!model->shared && !fate->armed)
		contradict("%#llx %s, but was never armed", fate->id, names[ending]);
	fate->ending = ending;
}

void model_cancelled(struct model *model, __u64 id)
{
	lock(model);
	end(model, learn(model, id), CANCELLED);
	model->cancelled++;
	unlock(model);
}

void model_withdrawn(struct model *model, __u64 id)
{
	lock(model);
	end(model, learn(model, id), WITHDRAWN);
	model->withdrawn++;
	unlock(model);
}

/*
 * SET has armed another one in place of this. Where others use the file, one of them may have its
 * event and has not told yet.
 */
void model_replaced(struct model *model, __u64 id)
{
	struct fate *fate;

	lock(model);
	fate = find(model, id);
	if (fate)
		fate->replaced = true;
	if (fate && !model->shared && fate->armed && fate->ending == GOES_ON) {
		end(model, fate, WITHDRAWN);
		model->withdrawn++;
	}
	unlock(model);
}

static void check_state(struct model *model, const struct fate *fate,
			const struct facts *before, int state, struct span when)
{
	if (before->ending == EXPIRED || before->ending == STOPPED)
		contradict("%#llx is in state %d, but its event was read", fate->id, state);
	if (before->ending == CANCELLED || before->ending == WITHDRAWN)
		contradict("%#llx is in state %d, but was cancelled", fate->id, state);
	if (before->pending && state != HWHEEL_STATE_PENDING)
		contradict("%#llx is pending, but in state %d", fate->id, state);
	if (state == HWHEEL_STATE_STOPPED && !model->stopping)
		contradict("%#llx was stopped, but nobody has", fate->id);
	if (state == HWHEEL_STATE_EXPIRED && fate->due.lo > when.hi)
		contradict("%#llx expired early", fate->id);
}

static void check_answer(const struct model *model, const struct fate *fate,
			 const struct hwheel_op *op, struct span when)
{
	__u64 lo = fate->due.lo, hi = fate->due.hi;

	if (op->cookie != fate->cookie)
		contradict("%#llx has the cookie %#llx", fate->id, op->cookie);
	if (!(op->flags & HWHEEL_ABSOLUTE)) {
		lo -= lesser(lo, when.hi);
		hi -= lesser(hi, when.lo);
	}
	if (op->time_ns < lo || (!model->shared && op->time_ns > hi))
		contradict("%#llx has %llu ns, not %llu to %llu", fate->id, op->time_ns, lo, hi);
}

/* @when: the call was made */
void model_queried(struct model *model, const struct facts *before, const struct hwheel_op *op,
		   int state, struct span when)
{
	struct fate *fate;

	lock(model);
	fate = find(model, op->id);
	if (state < 1 || state > HWHEEL_STATE_STOPPED) {
		contradict("%d is no state", state);
	} else if (fate && fate->armed) {
		check_state(model, fate, before, state, when);
		check_answer(model, fate, op, when);
	} else if (!model->shared) {
		contradict("%#llx was never armed, but is in state %d", op->id, state);
	}
	unlock(model);
}

void model_event(struct model *model, const struct hwheel_event *event)
{
	bool stopped = event->type == HWHEEL_EVENT_STOPPED;
	struct fate *fate;

	lock(model);
	fate = learn(model, event->id);
	if (stopped && !model->stopping)
		contradict("a \"stopped\" event, but nobody has");
	fate->deadline = event->deadline_ns;
	end(model, fate, stopped ? STOPPED : EXPIRED);
	if (fate->armed) {
		check_event(model, fate);
		if (event->cookie != fate->cookie)
			contradict("%#llx has the cookie %#llx", fate->id, event->cookie);
	}
	fate->cookie = event->cookie;
	model->expired += !stopped;
	model->stops += stopped;
	unlock(model);
}

/* How many can be pending where one thread has the file for itself */
static __u64 pending_at_most(const struct model *model)
{
	if (model->layout.records)
		return model->scribbled || model->used ? model->layout.records : 0;
	return model->armed - model->expired - model->stops - model->cancelled - model->withdrawn;
}

void model_ended(struct model *model)
{
	lock(model);
	if (!model->stopping)
		contradict("the end of a file that was not stopped");
	if (!model->shared && pending_at_most(model))
		contradict("the end of a file that holds timeouts");
	model->ended = true;
	unlock(model);
}

void model_stopped(struct model *model, __u64 told)
{
	lock(model);
	if (model->told && told)
		contradict("stopped twice");
	if (!model->shared && told > pending_at_most(model))
		contradict("more stopped than armed: %llu", told);
	model->stopped = true;
	model->told += told;
	unlock(model);
}

void model_may_configure(struct model *model, const struct hwheel_config *config)
{
	lock(model);
	model->simple |= config->kind == HWHEEL_KIND_SIMPLE;
	unlock(model);
}

static bool wants_wheel(const struct hwheel_config *config)
{
	return config->kind != HWHEEL_KIND_DEFAULT;
}

void model_configured(struct model *model, const struct hwheel_config *config)
{
	lock(model);
	if ((model->armed || model->layout.records) && !model->shared)
		contradict("configured after ARM or MAP");
	if (model->own_wheel && (!model->shared || wants_wheel(config)))
		contradict("configured after it had a wheel of its own");
	if (config->max_timeouts)
		model->max = config->max_timeouts;
	if (wants_wheel(config)) {
		model->own_wheel = true;
		model->limited &= model->shared;
		model->clock = config->clock;
	}
	unlock(model);
}

void model_not_configured(struct model *model, int err)
{
	lock(model);
	if (err == -ESHUTDOWN && !model->stopping)
		contradict("CONFIG: ESHUTDOWN, but nobody has stopped it");
	if (err == -EBUSY && !model->shared && !model->tried && !model->own_wheel &&
	    !model->layout.records)
		contradict("CONFIG: EBUSY, but it is as new");
	unlock(model);
}

/* A MAP that fails makes nothing. */
static bool may_be_mapped(const struct model *model)
{
	return model->shared ? model->mapping : model->layout.records;
}

/* @arms: how many ARMs the call had, all of which may hold a place until they fail */
void model_refused(struct model *model, int err, unsigned int arms)
{
	lock(model);
	if (err == -ESHUTDOWN && !model->stopping)
		contradict("ESHUTDOWN, but nobody has stopped it");
	if (err == -EDQUOT && !model->limited)
		contradict("EDQUOT on a wheel without a limit");
	if (err == -ERANGE && !model->simple)
		contradict("ERANGE on a wheel that is not simple");
	if (err == -EOPNOTSUPP && !may_be_mapped(model))
		contradict("ARM: EOPNOTSUPP, but it is not mapped");
	if (err == -ENOSPC && !model->shared && !model->short_of_memory &&
	    model->armed + arms - model->expired - model->stops <= model->max)
		contradict("ENOSPC, but there is room");
	unlock(model);
}

/* A call other than ARM said so by EOPNOTSUPP. */
void model_told_mapped(struct model *model, const char *call)
{
	lock(model);
	if (!may_be_mapped(model))
		contradict("%s: EOPNOTSUPP, but it is not mapped", call);
	unlock(model);
}

static bool has_other_lists(const struct model *model, const struct hwheel_map *in)
{
	const struct hwheel_map *layout = &model->layout;

	return layout->records ? in->lists && in->lists != layout->lists : !in->lists;
}

static bool has_no_room(const struct model *model, const struct hwheel_map *in)
{
	return in->records > model->max || model->layout.records > model->max - in->records;
}

/* The largest of what several threads were told is what there is. */
void model_mapped(struct model *model, const struct hwheel_map *in,
		  const struct hwheel_map *out)
{
	lock(model);
	if (!model->shared &&
	    (model->stopped || model->armed || has_no_room(model, in) ||
	     has_other_lists(model, in)))
		contradict("MAP of %u records, %u lists: ok, in spite of %u records, %llu armed",
			   in->records, in->lists, model->layout.records, model->armed);
	if (out->records > model->layout.records)
		model->layout = *out;
	unlock(model);
}

/* Of a file that several threads use it is not known what it had when the call came. */
static bool may_not_map(const struct model *model, const struct hwheel_map *in, int err)
{
	switch (err) {
	case -ESHUTDOWN:
		return model->stopping;
	case -EBUSY:
		return model->tried && (model->shared || !model->layout.records);
	case -EOPNOTSUPP:
		return model->simple;
	case -EDQUOT:
		return model->limited;
	case -EINVAL:
		return model->shared || has_other_lists(model, in);
	case -ENOSPC:
		return model->shared || model->short_of_memory || has_no_room(model, in);
	default:
		return true;
	}
}

/* The argument was valid by itself. */
void model_not_mapped(struct model *model, const struct hwheel_map *in, int err)
{
	lock(model);
	if (!may_not_map(model, in, err))
		contradict("MAP of %u records, %u lists: %d", in->records, in->lists, err);
	unlock(model);
}

void model_mapped_event(struct model *model, bool stopped)
{
	lock(model);
	model->expired += !stopped;
	model->stops += stopped;
	unlock(model);
}

void model_kicked(struct model *model, const struct facts *before, int err)
{
	lock(model);
	if (err ? before->mapped : !may_be_mapped(model))
		contradict("KICK: %d, but it is %smapped", err, err ? "" : "not ");
	unlock(model);
}

void model_info(struct model *model, const struct hwheel_info *info)
{
	lock(model);
	if (!model->shared &&
	    (info->max_timeouts != model->max || info->own_wheel != model->own_wheel ||
	     info->clock != model->clock))
		contradict("INFO tells of another wheel or limit");
	unlock(model);
}

static void check_count(const char *name, __u64 stats, __u64 model)
{
	if (stats != model)
		contradict("STATS: %llu %s, not %llu", stats, name, model);
}

/* Up to @more of them were withdrawn, which does not tell what they were. */
static void check_range(const char *name, __u64 stats, __u64 model, __u64 more)
{
	if (stats < model || stats > model + more)
		contradict("STATS: %llu %s, not %llu to %llu", stats, name, model, model + more);
}

/*
 * The worker goes on meanwhile, and STATS reads each count at another time: @armed may be less than
 * @expired, but each counts the timeouts that expired before the call.
 */
static void check_used_counts(const struct model *model, const struct hwheel_file_stats *stats)
{
	if (stats->armed < model->expired || stats->expired < model->expired)
		contradict("STATS: %llu drained, %llu expired, not %llu", stats->armed,
			   stats->expired, model->expired);
	if (stats->pending > stats->held)
		contradict("STATS: %llu filed of %llu", stats->pending, stats->held);
}

static void check_mapped_counts(const struct model *model,
				const struct hwheel_file_stats *stats)
{
	check_count("held", stats->held, model->layout.records);
	check_count("refreshed", stats->refreshed, 0);
	check_count("cancelled", stats->cancelled, 0);
	check_count("stopped", stats->stopped, model->told);
	if (model->scribbled)
		return;
	if (model->used) {
		check_used_counts(model, stats);
		return;
	}
	check_count("armed", stats->armed, 0);
	check_count("pending", stats->pending, 0);
	check_count("events", stats->events, 0);
	check_count("expired", stats->expired, 0);
}

static void check_counts(const struct model *model, const struct hwheel_file_stats *stats)
{
	if (model->layout.records) {
		check_mapped_counts(model, stats);
		return;
	}
	check_count("armed", stats->armed, model->armed);
	check_count("refreshed", stats->refreshed, model->refreshed);
	check_range("cancelled", stats->cancelled, model->cancelled, model->withdrawn);
	check_count("stopped", stats->stopped, model->told);
	check_count("that ended or are pending", stats->expired + stats->stopped +
		    stats->cancelled + stats->pending, model->armed);
}

/* A wheel of its own is no secret, and what is kept back is not told in part. */
static void check_wheel(const struct model *model, const struct hwheel_file_stats *stats)
{
	static const struct hwheel_file_stats zero;
	const size_t at = offsetof(struct hwheel_file_stats, wheel_pending);
	const size_t end = offsetof(struct hwheel_file_stats, account_bytes);

	if (stats->wheel > 1 || (!stats->wheel && model->own_wheel && !model->shared))
		contradict("STATS: wheel %llu", stats->wheel);
	if (!stats->wheel && memcmp((const char *)stats + at, (const char *)&zero + at,
				    end - at))
		contradict("STATS: of a wheel that it does not tell of");
}

void model_stats(struct model *model, const struct hwheel_file_stats *stats)
{
	unsigned int i;

	lock(model);
	check_wheel(model, stats);
	if (!model->shared)
		check_counts(model, stats);
	if (!may_be_mapped(model) && stats->held < stats->pending + stats->events)
		contradict("STATS: less held than is pending or an event");
	for (i = 0; i < ARRAY_SIZE(stats->reserved); i++)
		check_count("reserved", stats->reserved[i], 0);
	unlock(model);
}

static void check_end(const struct model *model, const struct hwheel_file_stats *stats)
{
	check_range("expired", stats->expired, model->expired, model->withdrawn);
	check_range("that STOP told of", model->told, model->stops, model->withdrawn);
	check_count("pending", stats->pending, 0);
	check_count("events", stats->events, 0);
	if (!model->layout.records)
		check_count("held", stats->held, 0);
}

/* Nobody else uses the file any more, it was stopped and read to its end. */
void model_all_over(struct model *model, const struct hwheel_file_stats *stats)
{
	unsigned int i;

	lock(model);
	for (i = 0; i < model->nr_ids; i++) {
		struct fate *fate = find(model, model->ids[i]);

		if (fate->replaced && fate->armed && !fate->ending)
			model->withdrawn++;
		else if (fate->armed && !fate->ending)
			contradict("the event of %#llx is lost", fate->id);
		if (!fate->armed && fate->ending)
			contradict("%#llx ended, but was never armed", fate->id);
	}
	check_counts(model, stats);
	if (!model->scribbled && !(model->shared && model->layout.records))
		check_end(model, stats);
	unlock(model);
}
