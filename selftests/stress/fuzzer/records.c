// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mapped timeouts of a file that one thread has for itself: arm, cancel, refresh, withdraw and reap
 * at random, in the memory that the thread shares with the worker. All is known exactly, but for
 * whether the worker has seen yet that a timeout is due.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdlib.h>
#include <sys/mman.h>

#include "call.h"
#include "records.h"

/* Most operations meet one of these records. */
#define FEW		12
#define MOST_EVENTS	64

/* The mapping */

static void unmap(struct records *r)
{
	if (r->map.base && munmap(r->map.base, r->map.layout.size))
		contradict("munmap of the records: %d", errno);
	r->map.base = NULL;
}

void records_free(struct records *r)
{
	unmap(r);
	free(r->fates);
}

/* Maps what there is, all anew if it has grown. Fates are for as many as there can ever be. */
static bool update(struct file *file)
{
	struct records *r = &file->records;
	struct hwheel_map *layout = &file->model.layout;
	char *base;

	if (r->map.base && r->map.layout.records == layout->records)
		return true;
	unmap(r);
	if (!r->fates)
		r->fates = calloc(layout->ring_size, sizeof(*r->fates));
	base = mmap(NULL, layout->size, PROT_READ | PROT_WRITE, MAP_SHARED, file->fd, 0);
	if (!r->fates || base == MAP_FAILED) {
		contradict("mmap of all records: %d", errno);
		return false;
	}
	r->map = (struct map){ .fd = file->fd, .clock = file->model.clock, .layout = *layout };
	map_place(&r->map, base);
	return true;
}

/* A thread that scribbles makes of them what it likes. */
static bool are_known(const struct file *file)
{
	return !file->model.shared && file->model.layout.records && !file->model.scribbled;
}

/* The operations */

/* Has the worker, or STOP, perhaps ended it? */
static bool may_have_ended(const struct file *file, const struct record_fate *fate)
{
	return fate->deadline <= model_now(&file->model) || file->model.stopping;
}

static int wanted_of_arm(const struct file *file, const struct record_fate *fate)
{
	if (fate->live)
		return -EBUSY;
	return file->model.stopped ? -ESHUTDOWN : 0;
}

static void set_live(struct records *r, struct record_fate *fate, bool live)
{
	r->live += live - fate->live;
	fate->live = live;
	fate->withdrawn = false;
}

/* The program's own fields are those of the live timeout, if there is one. */
static void prepare(struct caller *c, struct records *r, __u32 i)
{
	struct record_fate *fate = &r->fates[i];

	if (fate->live)
		return;
	fate->cookie = random_next(&c->rnd);
	fate->generation++;
	r->map.records[i].cookie = fate->cookie;
	r->map.records[i].generation = fate->generation;
}

static void arm_record(struct caller *c, struct file *file, unsigned int list, __u32 i)
{
	__u64 deadline = random_deadline(&c->rnd, model_now(&file->model));
	struct records *r = &file->records;
	struct record_fate *fate = &r->fates[i];
	int wanted = wanted_of_arm(file, fate), ret;

	prepare(c, r, i);
	ret = map_arm(&r->map, list, i, deadline);
	tally_note(&c->tally, CALL_MAPPED_ARM, ret);
	if (ret != wanted)
		contradict("arm of record %u: %d, not %d", i, ret, wanted);
	if (ret)
		return;
	fate->deadline = map_deadline(map_word(deadline));
	set_live(r, fate, true);
}

/* Of a cancel or a refresh */
static void judge(const struct file *file, __u32 i, int ret, const char *name)
{
	const struct record_fate *fate = &file->records.fates[i];

	if (!ret && !fate->live)
		contradict("%s of record %u, which was not armed", name, i);
	if (ret && fate->live && !may_have_ended(file, fate))
		contradict("%s of record %u, which is pending: %d", name, i, ret);
}

static void cancel(struct caller *c, struct file *file, unsigned int list, __u32 i)
{
	int ret = map_cancel(&file->records.map, list, i);

	tally_note(&c->tally, CALL_MAPPED_CANCEL, ret);
	judge(file, i, ret, "cancel");
	if (!ret)
		set_live(&file->records, &file->records.fates[i], false);
}

/* An expiry: the record is live until its entry was claimed. */
static void withdraw(struct caller *c, struct file *file, __u32 i)
{
	struct record_fate *fate = &file->records.fates[i];
	int ret = map_withdraw(&file->records.map, i);

	tally_note(&c->tally, CALL_MAPPED_WITHDRAW, ret);
	if (ret)
		return;
	if (!fate->live || fate->withdrawn || !may_have_ended(file, fate))
		contradict("record %u was withdrawn, and had not expired", i);
	fate->withdrawn = true;
}

static void refresh(struct caller *c, struct file *file, unsigned int list, __u32 i)
{
	__u64 deadline = random_deadline(&c->rnd, model_now(&file->model));
	int ret = map_refresh(&file->records.map, list, i, deadline);

	tally_note(&c->tally, CALL_MAPPED_REFRESH, ret);
	judge(file, i, ret, "refresh");
	if (!ret)
		file->records.fates[i].deadline = map_deadline(map_word(deadline));
}

static void check_event(const struct file *file, const struct map_event *event)
{
	const struct record_fate *fate = &file->records.fates[event->index];

	if (!fate->live)
		contradict("record %u has ended, but was not armed", event->index);
	else if (event->withdrawn != fate->withdrawn)
		contradict("record %u has an event, or none, as if it was withdrawn", event->index);
	else if (event->deadline_ns != fate->deadline || event->cookie != fate->cookie ||
		 event->generation != fate->generation)
		contradict("record %u was due at %llu, not %llu", event->index, fate->deadline,
			   event->deadline_ns);
	if (event->stopped ? !file->model.stopping : event->fired_ns < event->deadline_ns)
		contradict("record %u, due at %llu, ended at %llu", event->index,
			   event->deadline_ns, event->fired_ns);
}

/* The ring keeps the order of expiry. */
static void check_order(const struct file *file, const struct map_event *event)
{
	if (event->fired_ns < file->records.fired || event->fired_ns > model_now(&file->model))
		contradict("record %u ended at %llu, after one at %llu", event->index,
			   event->fired_ns, file->records.fired);
}

static int reap(struct caller *c, struct file *file)
{
	struct map_event events[MOST_EVENTS];
	struct records *r = &file->records;
	int n = map_reap_all(&r->map, events, 1 + random_below(&c->rnd, MOST_EVENTS)), i;

	tally_note(&c->tally, CALL_MAPPED_REAP, n);
	for (i = 0; i < n; i++) {
		check_event(file, &events[i]);
		check_order(file, &events[i]);
		model_mapped_event(&file->model, events[i].stopped);
		set_live(r, &r->fates[events[i].index], false);
		r->fired = events[i].fired_ns;
	}
	return n;
}

static __u32 random_record(struct random *rnd, const struct hwheel_map *layout)
{
	if (random_chance(rnd, 16))
		return random_below(rnd, layout->records);
	return random_below(rnd, FEW);
}

static void one(struct caller *c, struct file *file)
{
	const struct hwheel_map *layout = &file->records.map.layout;
	unsigned int list = random_below(&c->rnd, layout->lists);
	__u32 i = random_record(&c->rnd, layout);

	switch (random_below(&c->rnd, 9)) {
	case 8:
		withdraw(c, file, i);
		break;
	case 0:
		reap(c, file);
		break;
	case 1:
		cancel(c, file, list, i);
		break;
	case 2:
	case 3:
		refresh(c, file, list, i);
		break;
	default:
		arm_record(c, file, list, i);
	}
}

void call_records(struct caller *c, struct file *file)
{
	unsigned int n = 1 + random_below(&c->rnd, 40);

	if (!are_known(file) || !update(file))
		return;
	model_uses_records(&file->model);
	while (n--)
		one(c, file);
}

void records_to_the_end(struct caller *c, struct file *file)
{
	if (!file->model.used || !are_known(file))
		return;
	while (reap(c, file) > 0)
		;
	if (file->records.live)
		contradict("%u mapped timeouts have no event", file->records.live);
}
