// SPDX-License-Identifier: GPL-2.0-only
#include <json-c/json.h>
#include <string.h>
#include <utlist.h>

#include "clock/alarm.h"
#include "clock/now.h"
#include "hash.h"
#include "memory.h"
#include "nodes/feed.h"
#include "nodes/members.h"
#include "nodes/takings.h"
#include "queue/take.h"

/* A node that does not answer is asked again after so long. */
#define FEED_PAUSE_NS	(200 * NS_PER_MS)

/*
 * Standing polls outlive the client by so long: the answer to a poll that is cancelled is lost.
 * Leases are longer by as much, so that a client that comes meanwhile has the whole of its own.
 */
#define FEED_LINGER_NS	(200 * NS_PER_MS)

/* While more polls than this stand, each is short: queues take turns with the connections. */
#define FEED_LONG_MOST	64
#define FEED_SHORT_NS	NS_PER_S

/* A long poll ends by itself; if it does not, so much later. */
#define FEED_PATIENCE_MS	5000

/* The standing poll of a queue at one node */
struct feed {
	struct peer_call call;
	struct feed *prev, *next;
	struct feed_line *line;
	struct alarm *pause;
	bool stands;
	struct taking taking;
	char address[];
};

/* A queue that clients wait for */
struct feed_line {
	UT_hash_handle by_name;
	struct alarm *idle;		/* nobody waits */
	struct feed *feeds;
	char name[QUEUE_MAX + 1];
};

static struct {
	struct service *service;
	struct feed_line *lines;
	size_t standing;
} feeds;

static void feed_start_all(struct feed_line *line);

static struct feed_line *feed_find_line(const char *queue)
{
	struct feed_line *line;

	HASH_FIND(by_name, feeds.lines, queue, strlen(queue), line);
	return line;
}

static void feed_go_on(void *owner, uint64_t at_ns)
{
	feed_start_all(owner);
}

static void feed_done(struct peer_call *call)
{
	struct feed *feed = (struct feed *)call;
	struct json_object *timeouts = takings_read(call, &feed->taking.end_ns);
	char *address = memory_copy(feed->address, strlen(feed->address));
	struct feed_line *line = feed->line;
	char name[QUEUE_MAX + 1];

	memcpy(name, line->name, sizeof(name));
	feed->stands = false;
	feeds.standing--;
	if (call->status != MHD_HTTP_OK)
		alarm_set(&feed->pause, now_ns() + FEED_PAUSE_NS, feed_go_on, line);
	/* What a client gets may end the line, and the feed with it. */
	if (timeouts && !take_deliver(feeds.service, name, &feed->taking, timeouts))
		takings_return(address, timeouts);
	free(address);
	line = feed_find_line(name);
	if (line)
		feed_start_all(line);
}

static void feed_start(struct feed *feed)
{
	uint64_t max, wait_ns, lease_ns, most = feeds.service->settings.lease_most;
	const char *queue = feed->line->name;
	char path[TAKINGS_PATH];

	if (feed->stands || feed->pause ||
	    !take_first(feeds.service, queue, &max, &wait_ns, &feed->taking.lease_ns))
		return;
	feed->taking.asked_ns = now_clock_ns(CLOCK_BOOTTIME);
	if (feeds.standing >= FEED_LONG_MOST && wait_ns > FEED_SHORT_NS)
		wait_ns = FEED_SHORT_NS;
	lease_ns = feed->taking.lease_ns + FEED_LINGER_NS;
	takings_path(path, queue, max, wait_ns, lease_ns < most ? lease_ns : most);
	feed->stands = true;
	feeds.standing++;
	peer_request(&feed->call, feed->address, "POST", path, "", NULL,
		     (long)(wait_ns / NS_PER_MS) + FEED_PATIENCE_MS);
}

static void feed_remove(struct feed *feed)
{
	if (feed->stands)
		peer_cancel(&feed->call);
	feeds.standing -= feed->stands;
	alarm_clear(&feed->pause);
	DL_DELETE(feed->line->feeds, feed);
	free(feed);
}

static struct feed *feed_get(struct feed_line *line, const char *address)
{
	struct feed *feed;

	DL_FOREACH(line->feeds, feed)
		if (!strcmp(feed->address, address))
			return feed;
	feed = memory_get(1, sizeof(*feed) + strlen(address) + 1);
	feed->call.done = feed_done;
	feed->call.sort = PEER_POLL;
	feed->line = line;
	memcpy(feed->address, address, strlen(address));
	DL_APPEND(line->feeds, feed);
	return feed;
}

static void feed_start_all(struct feed_line *line)
{
	for (size_t i = 0; i < members_count(); i++)
		if (members_address(i))
			feed_start(feed_get(line, members_address(i)));
}

void feed_members_changed(void)
{
	struct feed *feed, *next;

	for (struct feed_line *line = feeds.lines; line; line = line->by_name.next) {
		DL_FOREACH_SAFE(line->feeds, feed, next)
			if (!members_have(feed->address))
				feed_remove(feed);
		feed_start_all(line);
	}
}

void feed_wait(const char *queue)
{
	struct feed_line *line = feed_find_line(queue);

	if (!line) {
		line = memory_get(1, sizeof(*line));
		memcpy(line->name, queue, strlen(queue));
		HASH_ADD(by_name, feeds.lines, name[0], (unsigned int)strlen(queue), line);
	}
	alarm_clear(&line->idle);
	feed_start_all(line);
}

static void feed_end_line(struct feed_line *line)
{
	struct feed *feed, *next;

	HASH_DELETE(by_name, feeds.lines, line);
	alarm_clear(&line->idle);
	DL_FOREACH_SAFE(line->feeds, feed, next)
		feed_remove(feed);
	free(line);
}

/* A poll whose answer has begun to come is waited for. */
static void feed_end_of_linger(void *owner, uint64_t at_ns)
{
	struct feed_line *line = owner;
	const struct feed *feed;

	DL_FOREACH(line->feeds, feed)
		if (feed->stands && feed->call.length)
			break;
	if (feed)
		alarm_set(&line->idle, now_ns() + FEED_LINGER_NS, feed_end_of_linger, line);
	else
		feed_end_line(line);
}

void feed_stop(const char *queue)
{
	struct feed_line *line = feed_find_line(queue);

	if (line)
		alarm_set(&line->idle, now_ns() + FEED_LINGER_NS, feed_end_of_linger, line);
}

void feed_begin(struct service *service)
{
	feeds.service = service;
}

void feed_end(void)
{
	while (feeds.lines)
		feed_end_line(feeds.lines);
}
