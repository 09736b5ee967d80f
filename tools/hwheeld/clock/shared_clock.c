// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock/alarm.h"
#include "clock/now.h"
#include "clock/reckoning.h"
#include "clock/shared_clock.h"
#include "consensus/ensemble.h"
#include "consensus/tree.h"
#include "nodes/members.h"
#include "say.h"

#define BEAT_NS		NS_PER_S

/* Of a session, which heartbeats tell to go on; see shared_clock_heard_ns() */
#define BEATS		4

/* So many samples are taken before the service begins. */
#define FIRST_SAMPLES	8

/* How long one attempt to connect waits */
#define PATIENCE_MS	10000

/* How long a node that begins waits for others to correct the clock, and between two looks */
#define OTHERS_MS	15000
#define LOOK_MS		100

/* After so many heartbeats one of the nodes writes the correction again, for its mtime. */
#define REFRESH_BEATS	16

#define TEXT		48

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
} state;

static void write_text(char text[TEXT], const struct correction *correction)
{
	snprintf(text, TEXT, "%lld %lld", (long long)correction->ns,
		 (long long)correction->epoch);
}

static bool read_text(const char *text, struct reading *reading)
{
	long long ns, epoch;
	char more;

	if (sscanf(text, "%lld %lld%c", &ns, &epoch, &more) != 2)
		return false;
	reading->correction.ns = ns;
	reading->correction.epoch = epoch;
	return true;
}

static void read_stat(const struct Stat *stat, struct reading *reading)
{
	reading->mtime_ns = (uint64_t)stat->mtime * NS_PER_MS;
	reading->zxid = stat->mzxid;
	reading->version = stat->version;
}

static void follow(void)
{
	uint64_t boot = now_clock_ns(CLOCK_BOOTTIME);
	struct line line = reckoning_line(&state.reckoning, boot);

	now_follow(line.offset_ns, line.bound_ns, line.boot_ns);
	state.service->metrics.clock_epoch = (uint64_t)state.reckoning.correction.epoch;
}

/* The heartbeat: its calls come one after the other. */

static void beat(void);

static void ring(void *owner, uint64_t at_ns)
{
	(void)owner;
	(void)at_ns;
	beat();
}

static void rest(void)
{
	uint64_t part = state.service->settings.session / BEATS;

	state.is_busy = false;
	alarm_set(&state.alarm, now_ns() + (part < BEAT_NS ? part : BEAT_NS), ring, NULL);
}

/* Another node was faster if it has not been written: the next heartbeat reads what that wrote. */
static void corrected(struct ensemble_call *call)
{
	if (!call->error) {
		reckoning_correct(&state.reckoning, &state.sample, &state.wanted,
				  now_clock_ns(CLOCK_BOOTTIME));
		state.service->metrics.clock_corrections++;
		say(LOG_NOTICE, "cluster: the leader has another clock: %+.3f s now",
		    (double)state.wanted.ns / 1e9);
		follow();
	}
	rest();
}

static void refreshed(struct ensemble_call *call)
{
	(void)call;
	rest();
}

static void write_correction(const struct correction *correction,
			     void (*done)(struct ensemble_call *call))
{
	char text[TEXT];

	write_text(text, correction);
	state.call.done = done;
	ensemble_set(&state.call, state.path, text, state.reading.version);
}

static void hear(void)
{
	const struct correction *read = &state.reading.correction;
	bool is_new = read->ns != state.reckoning.correction.ns ||
		      read->epoch != state.reckoning.correction.epoch;
	bool is_wrong = reckoning_hear(&state.reckoning, &state.sample, &state.reading,
				       now_clock_ns(CLOCK_BOOTTIME), &state.wanted);

	state.service->metrics.clock_corrections += is_new;
	follow();
	if (is_wrong)
		write_correction(&state.wanted, corrected);
	else if (++state.beats % REFRESH_BEATS == 0 && members_is_first())
		write_correction(read, refreshed);
	else
		rest();
}

static void looked(struct ensemble_call *call)
{
	bool is_text = !call->error && call->value && read_text(call->value, &state.reading);

	if (!call->error && !is_text)
		say(LOG_ERR, "cluster: %s has no correction", state.path);
	free(call->value);
	if (!is_text) {
		rest();
		return;
	}
	read_stat(&call->stat, &state.reading);
	hear();
}

static void beaten(struct ensemble_call *call)
{
	if (call->error) {
		rest();
		return;
	}
	state.heard_ns = state.before_ns;
	sample_take(&state.sample, state.before_ns, call->ended_ns, call->stat.mtime,
		    call->stat.mzxid);
	call->done = looked;
	ensemble_get(call, state.path);
}

static void beat(void)
{
	if (state.is_busy)
		return;
	state.is_busy = true;
	state.call.done = beaten;
	state.before_ns = now_clock_ns(CLOCK_BOOTTIME);
	ensemble_set(&state.call, state.own, "", -1);
}

void shared_clock_connected(void)
{
	beat();
}

uint64_t shared_clock_heard_ns(void)
{
	return state.heard_ns;
}

void shared_clock_expired(void)
{
	reckoning_doubt(&state.reckoning, now_clock_ns(CLOCK_BOOTTIME));
}

/* Before the loop, calls wait. */

static int take_first_sample(void)
{
	uint64_t before = now_clock_ns(CLOCK_BOOTTIME);
	struct Stat stat;
	int error = zoo_set2(ensemble_handle(), state.own, "", 0, -1, &stat);

	state.heard_ns = error ? state.heard_ns : before;
	if (!error)
		sample_take(&state.sample, before, now_clock_ns(CLOCK_BOOTTIME), stat.mtime,
			    stat.mzxid);
	return error;
}

static int look_first(char text[TEXT])
{
	int length = TEXT - 1, error;
	struct Stat stat;

	error = zoo_get(ensemble_handle(), state.path, 0, text, &length, &stat);
	if (error)
		return error;
	text[length > 0 ? length : 0] = 0;
	read_stat(&stat, &state.reading);
	return ZOK;
}

/* Another node may have been faster: what is there then is read again. */
static int write_first(const struct correction *correction)
{
	char text[TEXT];
	int error;

	write_text(text, correction);
	error = zoo_set(ensemble_handle(), state.path, text, (int)strlen(text),
			state.reading.version);
	return error == ZBADVERSION ? ZOK : error;
}

/* Are there nodes that can correct the clock, beside what is left of this one? */
static int count_others(bool *are_there)
{
	struct String_vector names = { 0 };
	char path[TREE_PATH];
	int error;

	tree_path(path, "/members");
	error = zoo_get_children(ensemble_handle(), path, 0, &names);
	*are_there = false;
	for (int i = 0; !error && i < names.count; i++)
		*are_there |= strcmp(names.data[i], state.node) != 0;
	deallocate_String_vector(&names);
	return error;
}

/* No node knows the time of this leader yet. */
static int wait_or_resume(unsigned int *waited_ms)
{
	struct correction correction;
	bool are_there;
	int error = count_others(&are_there);

	if (error)
		return error;
	if (are_there && *waited_ms < OTHERS_MS) {
		poll(NULL, 0, LOOK_MS);
		*waited_ms += LOOK_MS;
		return ZOK;
	}
	correction = reckoning_resume(&state.sample, &state.reading);
	return write_first(&correction);
}

static int step_first(unsigned int *waited_ms)
{
	struct correction unused, none = { 0 };
	char text[TEXT] = "";
	int error = take_first_sample() ?: look_first(text);

	if (error)
		return error;
	none.epoch = RECKONING_EPOCH(state.sample.zxid);
	if (!*text)
		return write_first(&none);
	if (!read_text(text, &state.reading))
		return ZMARSHALLINGERROR;
	if (state.reading.correction.epoch < none.epoch)
		return wait_or_resume(waited_ms);
	if (reckoning_hear(&state.reckoning, &state.sample, &state.reading,
			   now_clock_ns(CLOCK_BOOTTIME), &unused))
		reckoning_doubt(&state.reckoning, now_clock_ns(CLOCK_BOOTTIME));
	return ZOK;
}

static int create_own(void)
{
	int error = zoo_create(ensemble_handle(), state.own, "", 0, ensemble_acl(), ZOO_PERSISTENT,
			       NULL, 0);

	return error == ZNODEEXISTS ? ZOK : error;
}

static int reckon_first(void)
{
	unsigned int waited_ms = 0;
	int error = create_own();

	reckoning_doubt(&state.reckoning, now_clock_ns(CLOCK_BOOTTIME));
	while (!error && state.reckoning.count < FIRST_SAMPLES)
		error = step_first(&waited_ms);
	return error;
}

int shared_clock_begin(struct service *service, const char *node)
{
	int error;

	state.service = service;
	state.node = node;
	tree_path(state.path, "/clock");
	tree_path(state.own, "/clock/%s", node);
	do {
		error = reckon_first();
	} while (ensemble_is_lost(error) && ensemble_wait(PATIENCE_MS));
	if (error) {
		say(LOG_ERR, "cluster: %s: %s", state.path, zerror(error));
		return -EIO;
	}
	follow();
	return 0;
}
