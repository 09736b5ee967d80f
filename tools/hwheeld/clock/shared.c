// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock/alarm.h"
#include "clock/now.h"
#include "clock/reckoning.h"
#include "clock/shared.h"
#include "consensus/ensemble.h"
#include "consensus/tree.h"
#include "nodes/members.h"
#include "say.h"

#define SHARED_BEAT_NS	NS_PER_S

/* Of a session, which heartbeats have go on; see shared_heard_ns() */
#define SHARED_BEATS	4

/* So many samples are taken before the service begins. */
#define SHARED_FIRST_SAMPLES	8

/* How long one attempt to connect waits */
#define SHARED_PATIENCE_MS	10000

/* How long a node that begins waits for others to correct the clock, and between two looks */
#define SHARED_OTHERS_MS	15000
#define SHARED_LOOK_MS		100

/* After so many heartbeats one of the nodes writes the correction again, for its mtime. */
#define SHARED_REFRESH_BEATS	16

#define SHARED_TEXT	48

static struct {
	struct service *service;
	const char *node;
	char path[TREE_PATH];		/* of the correction */
	char own[TREE_PATH];		/* what this node changes */
	struct reckoning reckoning;
	struct sample sample;
	struct reading reading;
	struct correction wanted;	/* on its way */
	struct ensemble_call call;
	bool is_busy;			/* with the call */
	struct alarm *alarm;
	uint64_t before_ns;
	uint64_t heard_ns;		/* before_ns of the last one that was answered */
	unsigned int beats;
	unsigned int waited_ms;		/* for others, before the service begins */
} shared;

static void shared_write_text(char text[SHARED_TEXT], const struct correction *correction)
{
	snprintf(text, SHARED_TEXT, "%lld %lld", (long long)correction->ns,
		 (long long)correction->epoch);
}

/* Takes the reading. Returns false if the znode has no correction. */
static bool shared_read(const char *text, const struct Stat *stat)
{
	long long ns, epoch;
	char more;

	shared.reading.mtime_ns = (uint64_t)stat->mtime * NS_PER_MS;
	shared.reading.zxid = stat->mzxid;
	shared.reading.version = stat->version;
	if (sscanf(text, "%lld %lld%c", &ns, &epoch, &more) != 2)
		return false;
	shared.reading.correction.ns = ns;
	shared.reading.correction.epoch = epoch;
	return true;
}

static void shared_follow(void)
{
	uint64_t boot = now_clock_ns(CLOCK_BOOTTIME);
	struct line line = reckoning_line(&shared.reckoning, boot);

	now_follow(line.offset_ns, line.bound_ns, line.boot_ns);
	shared.service->metrics.clock_epoch = (uint64_t)shared.reckoning.correction.epoch;
}

/* The heartbeat: its calls come one after the other. */

static void shared_beat(void);

static void shared_ring(void *owner, uint64_t at_ns)
{
	shared_beat();
}

static void shared_rest(void)
{
	uint64_t part = shared.service->settings.session / SHARED_BEATS;

	shared.is_busy = false;
	alarm_set(&shared.alarm, now_ns() + (part < SHARED_BEAT_NS ? part : SHARED_BEAT_NS),
		  shared_ring, NULL);
}

/* Another node was faster if it has not been written: the next heartbeat reads what that wrote. */
static void shared_corrected(struct ensemble_call *call)
{
	if (!call->error) {
		reckoning_correct(&shared.reckoning, &shared.sample, &shared.wanted,
				  now_clock_ns(CLOCK_BOOTTIME));
		shared.service->metrics.clock_corrections++;
		say(LOG_NOTICE, "cluster: the leader has another clock: %+.3f s now",
		    (double)shared.wanted.ns / 1e9);
		shared_follow();
	}
	shared_rest();
}

static void shared_refreshed(struct ensemble_call *call)
{
	shared_rest();
}

static void shared_write(const struct correction *correction,
			 void (*done)(struct ensemble_call *call))
{
	char text[SHARED_TEXT];

	shared_write_text(text, correction);
	shared.call.done = done;
	ensemble_set(&shared.call, shared.path, text, shared.reading.version);
}

static void shared_hear(void)
{
	const struct correction *read = &shared.reading.correction;
	bool is_new = read->ns != shared.reckoning.correction.ns ||
		      read->epoch != shared.reckoning.correction.epoch;
	bool is_wrong = reckoning_hear(&shared.reckoning, &shared.sample, &shared.reading,
				       now_clock_ns(CLOCK_BOOTTIME), &shared.wanted);

	shared.service->metrics.clock_corrections += is_new;
	shared_follow();
	if (is_wrong)
		shared_write(&shared.wanted, shared_corrected);
	else if (++shared.beats % SHARED_REFRESH_BEATS == 0 && members_count() &&
		 members_is_here(0))
		shared_write(read, shared_refreshed);
	else
		shared_rest();
}

static void shared_looked(struct ensemble_call *call)
{
	bool is_text = !call->error && call->value && shared_read(call->value, &call->stat);

	if (!call->error && !is_text)
		say(LOG_ERR, "cluster: %s has no correction", shared.path);
	free(call->value);
	if (is_text)
		shared_hear();
	else
		shared_rest();
}

static void shared_beaten(struct ensemble_call *call)
{
	if (call->error) {
		shared_rest();
		return;
	}
	shared.heard_ns = shared.before_ns;
	sample_take(&shared.sample, shared.before_ns, call->ended_ns, call->stat.mtime,
		    call->stat.mzxid);
	call->done = shared_looked;
	ensemble_get(call, shared.path);
}

static void shared_beat(void)
{
	if (shared.is_busy)
		return;
	shared.is_busy = true;
	shared.call.done = shared_beaten;
	shared.before_ns = now_clock_ns(CLOCK_BOOTTIME);
	ensemble_set(&shared.call, shared.own, "", -1);
}

void shared_connected(void)
{
	shared_beat();
}

uint64_t shared_heard_ns(void)
{
	return shared.heard_ns;
}

void shared_expired(void)
{
	reckoning_doubt(&shared.reckoning, now_clock_ns(CLOCK_BOOTTIME));
}

/* Before the loop, calls wait. */

static int shared_take_first_sample(void)
{
	uint64_t before = now_clock_ns(CLOCK_BOOTTIME);
	struct Stat stat;
	int error = zoo_set2(ensemble_handle(), shared.own, "", 0, -1, &stat);

	if (error)
		return error;
	shared.heard_ns = before;
	sample_take(&shared.sample, before, now_clock_ns(CLOCK_BOOTTIME), stat.mtime, stat.mzxid);
	return ZOK;
}

/* Another node may have been faster: what is there then is read again. */
static int shared_write_first(const struct correction *correction)
{
	char text[SHARED_TEXT];
	int error;

	shared_write_text(text, correction);
	error = zoo_set(ensemble_handle(), shared.path, text, (int)strlen(text),
			shared.reading.version);
	return error == ZBADVERSION ? ZOK : error;
}

/*
 * No node knows the time of this leader yet. Nodes that can correct the clock, beside what is left
 * of this one, have time for it.
 */
static int shared_wait_or_resume(void)
{
	struct String_vector names = { 0 };
	struct correction correction;
	char path[TREE_PATH];
	bool are_there = false;
	int error;

	tree_path(path, "/members");
	error = zoo_get_children(ensemble_handle(), path, 0, &names);
	for (int i = 0; !error && i < names.count; i++)
		are_there |= strcmp(names.data[i], shared.node) != 0;
	deallocate_String_vector(&names);
	if (error)
		return error;
	if (are_there && shared.waited_ms < SHARED_OTHERS_MS) {
		poll(NULL, 0, SHARED_LOOK_MS);
		shared.waited_ms += SHARED_LOOK_MS;
		return ZOK;
	}
	correction = reckoning_resume(&shared.sample, &shared.reading);
	return shared_write_first(&correction);
}

static int shared_step_first(void)
{
	struct correction unused, none = { 0 };
	char text[SHARED_TEXT] = "";
	int length = SHARED_TEXT - 1;
	struct Stat stat;
	int error = shared_take_first_sample() ?:
		    zoo_get(ensemble_handle(), shared.path, 0, text, &length, &stat);
	bool is_text;

	if (error)
		return error;
	text[length > 0 ? length : 0] = 0;
	is_text = shared_read(text, &stat);
	none.epoch = RECKONING_EPOCH(shared.sample.zxid);
	if (!*text)
		return shared_write_first(&none);
	if (!is_text)
		return ZMARSHALLINGERROR;
	if (shared.reading.correction.epoch < none.epoch)
		return shared_wait_or_resume();
	if (reckoning_hear(&shared.reckoning, &shared.sample, &shared.reading,
			   now_clock_ns(CLOCK_BOOTTIME), &unused))
		shared_expired();
	return ZOK;
}

static int shared_reckon_first(void)
{
	int error = zoo_create(ensemble_handle(), shared.own, "", 0, ensemble_acl(),
			       ZOO_PERSISTENT, NULL, 0);

	if (error == ZNODEEXISTS)
		error = ZOK;
	shared.waited_ms = 0;
	shared_expired();
	while (!error && shared.reckoning.count < SHARED_FIRST_SAMPLES)
		error = shared_step_first();
	return error;
}

int shared_begin(struct service *service, const char *node)
{
	int error;

	shared.service = service;
	shared.node = node;
	tree_path(shared.path, "/clock");
	tree_path(shared.own, "/clock/%s", node);
	do {
		error = shared_reckon_first();
	} while (ensemble_is_lost(error) && ensemble_wait(SHARED_PATIENCE_MS));
	if (error) {
		say(LOG_ERR, "cluster: %s: %s", shared.path, zerror(error));
		return -EIO;
	}
	shared_follow();
	return 0;
}
