// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <utlist.h>

#include "clock/alarm.h"
#include "clock/now.h"
#include "hash.h"
#include "memory.h"
#include "nodes/feed.h"
#include "nodes/members.h"
#include "nodes/relay.h"
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
#define FEED_PATIENCE_NS	(5 * NS_PER_S)

/* The standing poll of a queue at one node, or a pause after one that failed */
struct feed {
	struct request *part;		/* NULL: it pauses */
	struct feed *prev, *next;
	struct feed_line *line;
	struct alarm *pause;
	struct taking taking;
	char address[];
};

/* A queue that clients wait for */
struct feed_line {
	UT_hash_handle by_name;
	struct service *service;
	struct alarm *idle;		/* nobody waits */
	struct feed *feeds;
	char name[QUEUE_MAX + 1];
};

static struct {
	struct feed_line *lines;
	size_t standing;
} feeds;

static void feed_start_all(struct feed_line *line);

static struct feed_line *feed_find_line(const struct queue *queue)
{
	struct feed_line *line;

	HASH_FIND(by_name, feeds.lines, queue->name, strlen(queue->name), line);
	return line;
}

/* It has ended, or its pause has. */
static void feed_go_on(void *owner, uint64_t at_ns)
{
	struct feed *feed = owner;
	struct feed_line *line = feed->line;

	DL_DELETE(line->feeds, feed);
	free(feed);
	feed_start_all(line);
}

static void feed_take(struct request *part, unsigned int status, struct json_object *said)
{
	struct feed *feed = part->part_of;
	struct feed_line *line = feed->line;
	struct json_object *timeouts = takings_read(status, said, &feed->taking.end_ns);

	request_free(part);
	feed->part = NULL;
	feeds.standing--;
	if (timeouts && !take_deliver(line->service, line->name, &feed->taking, timeouts))
		takings_return(line->service, timeouts);
	if (status == MHD_HTTP_OK)
		feed_go_on(feed, 0);
	else
		alarm_set(&feed->pause, now_ns() + FEED_PAUSE_NS, feed_go_on, feed);
}

static void feed_start(struct feed_line *line, const char *address)
{
	struct service *service = line->service;
	struct request_take take = { 0 };
	char path[QUEUE_MAX + 16];
	struct feed *feed;

	DL_FOREACH(line->feeds, feed)
		if (!strcmp(feed->address, address))
			return;
	if (!take_first(service, line->name, &take))
		return;
	feed = memory_get(1, sizeof(*feed) + strlen(address) + 1);
	feed->line = line;
	memcpy(feed->address, address, strlen(address));
	DL_APPEND(line->feeds, feed);
	feed->taking.asked_ns = now_clock_ns(CLOCK_BOOTTIME);
	feed->taking.lease_ns = take.lease_ns;
	if (feeds.standing >= FEED_LONG_MOST && take.wait_ns > FEED_SHORT_NS)
		take.wait_ns = FEED_SHORT_NS;
	take.lease_ns += FEED_LINGER_NS;
	if (take.lease_ns > service->settings.lease_most)
		take.lease_ns = service->settings.lease_most;
	snprintf(path, sizeof(path), "/queues/%s/take", line->name);
	feed->part = request_new(service, NULL, NULL, "POST", path);
	feed->part->take = take;
	feed->part->part_of = feed;
	feed->part->take_answer = feed_take;
	feeds.standing++;
	relay(feed->part, address, take.wait_ns + FEED_PATIENCE_NS);
}

static void feed_start_all(struct feed_line *line)
{
	for (size_t i = 0; i < members_count(); i++)
		if (members_address(i))
			feed_start(line, members_address(i));
}

/* A poll at a node that is none now ends by itself, and is not begun again. */
void feed_members_changed(void)
{
	for (struct feed_line *line = feeds.lines; line; line = line->by_name.next)
		feed_start_all(line);
}

void feed_wait(const struct queue *queue)
{
	struct feed_line *line = feed_find_line(queue);

	if (!line) {
		line = memory_get(1, sizeof(*line));
		line->service = queue->service;
		memcpy(line->name, queue->name, sizeof(line->name));
		HASH_ADD(by_name, feeds.lines, name[0], (unsigned int)strlen(line->name), line);
	}
	alarm_clear(&line->idle);
	feed_start_all(line);
}

static void feed_end_line(struct feed_line *line)
{
	struct feed *feed, *next;

	HASH_DELETE(by_name, feeds.lines, line);
	alarm_clear(&line->idle);
	DL_FOREACH_SAFE(line->feeds, feed, next) {
		if (feed->part)
			relay_cancel(feed->part);
		feeds.standing -= !!feed->part;
		alarm_clear(&feed->pause);
		free(feed);
	}
	free(line);
}

/* A poll whose answer has begun to come is waited for. */
static void feed_end_of_linger(void *owner, uint64_t at_ns)
{
	struct feed_line *line = owner;
	const struct feed *feed;

	DL_FOREACH(line->feeds, feed)
		if (feed->part && relay_has_begun(feed->part))
			break;
	if (feed)
		alarm_set(&line->idle, now_ns() + FEED_LINGER_NS, feed_end_of_linger, line);
	else
		feed_end_line(line);
}

void feed_stop(const struct queue *queue)
{
	struct feed_line *line = feed_find_line(queue);

	if (line)
		alarm_set(&line->idle, now_ns() + FEED_LINGER_NS, feed_end_of_linger, line);
}

void feed_end(void)
{
	while (feeds.lines)
		feed_end_line(feeds.lines);
}
