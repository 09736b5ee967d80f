// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>
#include <utlist.h>

#include "clock/alarm.h"
#include "clock/now.h"
#include "hash.h"
#include "log/record.h"
#include "memory.h"
#include "nodes/feed.h"
#include "nodes/members.h"
#include "nodes/peer.h"
#include "nodes/refund.h"
#include "nodes/takings.h"
#include "queue/take.h"
#include "settings.h"

/* A node that does not answer is asked again after so long. */
#define PAUSE_NS	(200 * NS_PER_MS)

/*
 * Standing polls outlive the client by so long: the answer to a poll that is cancelled is lost.
 * Leases are longer by as much, so that a client that comes meanwhile has the whole of its own.
 */
#define LINGER_NS	(200 * NS_PER_MS)

/* While more polls than this stand, each is short: queues take turns with the connections. */
#define LONG_MOST	64
#define SHORT_NS	NS_PER_S

/* A long poll ends by itself; if it does not, so much later. */
#define PATIENCE_MS	5000

/* The standing poll of a queue at one node */
struct feed {
	struct peer_call call;
	struct feed *prev, *next;
	struct line *line;
	struct alarm *pause;
	bool stands;
	struct taking taking;
	char address[];
};

/* A queue that clients wait for */
struct line {
	UT_hash_handle by_name;
	struct alarm *idle;		/* nobody waits any more */
	struct feed *feeds;
	char name[QUEUE_MAX + 1];
};

static struct line *lines;
static size_t standing;

static struct line *find(const char *queue)
{
	struct line *line;

	HASH_FIND(by_name, lines, queue, strlen(queue), line);
	return line;
}

static void start_all(struct line *line);

static void go_on(void *owner, uint64_t at_ns)
{
	struct line *line = owner;

	(void)at_ns;
	start_all(line);
}

static void rest(struct feed *feed)
{
	alarm_set(&feed->pause, now_ns() + PAUSE_NS, go_on, feed->line);
}

static void done(struct peer_call *call)
{
	struct feed *feed = (struct feed *)call;
	struct json_object *timeouts = takings_read(call, &feed->taking.end_ns);
	char *address = memory_copy(feed->address, strlen(feed->address));
	char name[QUEUE_MAX + 1];

	memcpy(name, feed->line->name, sizeof(name));
	feed->stands = false;
	standing--;
	if (call->status != MHD_HTTP_OK)
		rest(feed);
	if (timeouts && !take_deliver(name, &feed->taking, timeouts)) {
		refund(address, timeouts);
		json_object_put(timeouts);
	}
	free(address);
	if (find(name))
		start_all(find(name));
}

static uint64_t lease_for(uint64_t lease_ns)
{
	uint64_t longer = lease_ns + LINGER_NS;

	return longer < settings.lease_most ? longer : settings.lease_most;
}

static void start(struct feed *feed)
{
	uint64_t max, wait_ns;
	char path[TAKINGS_PATH];

	if (feed->stands || feed->pause ||
	    !take_first(feed->line->name, &max, &wait_ns, &feed->taking.lease_ns))
		return;
	feed->taking.asked_ns = now_clock_ns(CLOCK_BOOTTIME);
	if (standing >= LONG_MOST && wait_ns > SHORT_NS)
		wait_ns = SHORT_NS;
	takings_path(path, feed->line->name, max, wait_ns, lease_for(feed->taking.lease_ns));
	feed->stands = true;
	standing++;
	peer_request(&feed->call, feed->address, "POST", path, "", NULL,
		     (long)(wait_ns / NS_PER_MS) + PATIENCE_MS);
}

static void remove_feed(struct feed *feed)
{
	if (feed->stands) {
		peer_cancel(&feed->call);
		standing--;
	}
	alarm_clear(&feed->pause);
	DL_DELETE(feed->line->feeds, feed);
	free(feed);
}

static struct feed *find_feed(const struct line *line, const char *address)
{
	struct feed *feed;

	DL_FOREACH(line->feeds, feed)
		if (!strcmp(feed->address, address))
			return feed;
	return NULL;
}

static struct feed *new_feed(struct line *line, const char *address)
{
	struct feed *feed = memory_get(1, sizeof(*feed) + strlen(address) + 1);

	feed->call.done = done;
	feed->call.sort = PEER_POLL;
	feed->line = line;
	memcpy(feed->address, address, strlen(address));
	DL_APPEND(line->feeds, feed);
	return feed;
}

static void start_all(struct line *line)
{
	for (size_t i = 0; i < members_count(); i++) {
		const char *address = members_address(i);

		if (address)
			start(find_feed(line, address) ?: new_feed(line, address));
	}
}

static bool is_member(const char *address)
{
	for (size_t i = 0; i < members_count(); i++)
		if (members_address(i) && !strcmp(members_address(i), address))
			return true;
	return false;
}

static void remove_strangers(struct line *line)
{
	struct feed *feed, *next;

	DL_FOREACH_SAFE(line->feeds, feed, next)
		if (!is_member(feed->address))
			remove_feed(feed);
}

void feed_members_changed(void)
{
	for (struct line *line = lines; line; line = line->by_name.next) {
		remove_strangers(line);
		start_all(line);
	}
}

void feed_wait(const char *queue)
{
	struct line *line = find(queue);

	if (!line) {
		line = memory_get(1, sizeof(*line));
		memcpy(line->name, queue, strlen(queue));
		HASH_ADD(by_name, lines, name[0], (unsigned int)strlen(queue), line);
	}
	alarm_clear(&line->idle);
	start_all(line);
}

static void end_line(struct line *line)
{
	struct feed *feed, *next;

	HASH_DELETE(by_name, lines, line);
	alarm_clear(&line->idle);
	DL_FOREACH_SAFE(line->feeds, feed, next)
		remove_feed(feed);
	free(line);
}

static bool is_answered(const struct line *line)
{
	const struct feed *feed;

	DL_FOREACH(line->feeds, feed)
		if (feed->stands && feed->call.length)
			return true;
	return false;
}

static void linger(struct line *line);

static void end_of_linger(void *owner, uint64_t at_ns)
{
	struct line *line = owner;

	(void)at_ns;
	if (is_answered(line))
		linger(line);
	else
		end_line(line);
}

static void linger(struct line *line)
{
	alarm_set(&line->idle, now_ns() + LINGER_NS, end_of_linger, line);
}

void feed_stop(const char *queue)
{
	struct line *line = find(queue);

	if (line)
		linger(line);
}

void feed_end(void)
{
	while (lines)
		end_line(lines);
}
