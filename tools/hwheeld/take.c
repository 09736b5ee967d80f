// SPDX-License-Identifier: GPL-2.0-only
/*
 * A lease is committed before the client learns of it. If the client hangs up meanwhile, the
 * timeout is due again at once, and the log is told so.
 */
#include <sys/random.h>
#include <utlist.h>

#include "alarm.h"
#include "change.h"
#include "client.h"
#include "life.h"
#include "memory.h"
#include "metrics.h"
#include "now.h"
#include "percent.h"
#include "settings.h"
#include "show.h"
#include "take.h"

/* An answer has so many bytes of payloads, or a single timeout. */
#define ANSWER_MAX	1048576

/* One that waits */
struct poll {
	struct poll *prev, *next;
	struct queue *queue;
	struct exchange *exchange;
	struct alarm *alarm;
	uint64_t max;
	uint64_t lease_ns;
};

static void answer(struct exchange *exchange, struct change *change)
{
	struct json_object *object = json_object_new_object();
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; change && i < change->count; i++)
		json_object_array_add(array, show_lease(change->timeouts[i]));
	json_object_object_add(object, "timeouts", array);
	exchange_answer(exchange, MHD_HTTP_OK, object);
}

static void lease(struct timeout *timeout, const struct record *record)
{
	uint64_t now = now_ns();

	timeout_lease(timeout, record->token, record->lease_ns);
	timeout->state = TIMEOUT_LEASED;
	timeout->deliveries = record->deliveries;
	metrics_count_delivery(now > timeout->due_ns ? now - timeout->due_ns : 0);
	life_arm(timeout);
}

/* Records that tell of them anew, without a lease */
static void apply_return(struct change *change)
{
	for (size_t i = 0; i < change->count; i++)
		timeout_logged(change->timeouts[i], change->request.seq + i);
}

/* They stay due; if this is refused, they are leased until the lease ends after a restart. */
static void give_back(const struct change *taken)
{
	struct change *change = change_new(NULL, taken->count);

	for (size_t i = 0; i < taken->count; i++) {
		change->timeouts[i] = taken->timeouts[i];
		timeout_describe(change->timeouts[i], &change->records[i]);
	}
	change->apply = apply_return;
	change_submit(change);
	metrics.leases_returned += taken->count;
}

/* Without a client nobody has the leases. */
static void apply(struct change *change)
{
	struct exchange *exchange = change->exchange;
	bool gone = !exchange || exchange_is_gone(exchange);

	for (size_t i = 0; !gone && i < change->count; i++)
		lease(change->timeouts[i], &change->records[i]);
	if (gone)
		give_back(change);
	if (exchange)
		answer(exchange, gone ? NULL : change);
}

static void undo(struct change *change)
{
	(void)change;
}

static void describe(const struct timeout *timeout, const struct poll *poll, struct record *record)
{
	*record = (struct record) {
		.type = RECORD_LEASE,
		.key = timeout->key,
		.key_length = timeout->key_length,
		.deliveries = timeout->deliveries + 1,
		.lease_ns = now_after(poll->lease_ns),
	};
	if (getrandom(record->token, TOKEN_SIZE, 0) != TOKEN_SIZE)
		abort();
}

static size_t count_for(const struct poll *poll)
{
	const struct timeout *timeout;
	size_t bytes = 0, count = 0;

	DL_FOREACH2(poll->queue->due, timeout, next_due) {
		bytes += timeout->payload_length;
		if (count == poll->max || (count && bytes > ANSWER_MAX))
			break;
		count++;
	}
	return count;
}

static void submit(struct poll *poll)
{
	struct change *change = change_new(poll->exchange, count_for(poll));
	struct timeout *timeout = poll->queue->due;

	for (size_t i = 0; i < change->count; i++, timeout = timeout->next_due) {
		change->timeouts[i] = timeout;
		describe(timeout, poll, &change->records[i]);
	}
	change->apply = apply;
	change->undo = undo;
	change_submit(change);
}

/* Waiting */

static struct queue *leave(struct poll *poll)
{
	struct queue *queue = poll->queue;

	alarm_clear(&poll->alarm);
	DL_DELETE(queue->polls, poll);
	queue->polls_count--;
	free(poll);
	return queue;
}

static void end(struct poll *poll)
{
	struct exchange *exchange = poll->exchange;

	exchange->client->poll = NULL;
	queue_put(leave(poll));
	answer(exchange, NULL);
}

static void ring(void *owner, uint64_t at_ns)
{
	(void)at_ns;
	end(owner);
}

void take_give_up(struct exchange *exchange)
{
	if (exchange->client->poll)
		end(exchange->client->poll);
}

static void wait_for_some(const struct poll *wanted, uint64_t wait_ns)
{
	struct poll *poll = memory_get(1, sizeof(*poll));

	*poll = *wanted;
	exchange_suspend(poll->exchange);
	poll->exchange->client->poll = poll;
	DL_APPEND(poll->queue->polls, poll);
	poll->queue->polls_count++;
	if (alarm_set(&poll->alarm, now_ns() + wait_ns, ring, poll))
		end(poll);
}

static void serve(struct poll *poll)
{
	struct exchange *exchange = poll->exchange;

	exchange->client->poll = NULL;
	submit(poll);
	leave(poll);
}

void take_serve(void)
{
	struct queue *queue;

	while ((queue = queue_next_ready())) {
		while (queue->polls && queue->due)
			serve(queue->polls);
		queue_put(queue);
	}
}

void take_end(void)
{
	struct queue *queue = queue_first(), *next;

	for (; queue; queue = next) {
		next = queue->by_name.next;
		queue->timeouts++;
		while (queue->polls)
			end(queue->polls);
		queue->timeouts--;
		queue_put(queue);
	}
}

/* Parameters */

static bool read_duration(const struct exchange *exchange, const char *name, uint64_t most,
			  uint64_t *ns)
{
	const char *text = exchange_parameter(exchange, name);

	return !text || (!wish_read_duration(text, ns) && *ns <= most);
}

static const char *read_parameters(struct poll *poll, uint64_t *wait_ns)
{
	const char *max = exchange_parameter(poll->exchange, "max");

	poll->max = 1;
	poll->lease_ns = settings.lease;
	*wait_ns = 0;
	if (max && !percent_number(max, settings.take, &poll->max))
		return "max: a number is expected, within what this server allows";
	if (!read_duration(poll->exchange, "wait", settings.wait, wait_ns))
		return "wait: seconds are expected, within what this server allows";
	if (!read_duration(poll->exchange, "lease", settings.lease_most, &poll->lease_ns) ||
	    !poll->lease_ns)
		return "lease: seconds are expected, within what this server allows";
	return NULL;
}

void take(struct exchange *exchange, const char *name)
{
	struct poll poll = { .exchange = exchange };
	const char *wrong;
	uint64_t wait_ns;

	wrong = wish_is_queue(name, strlen(name)) ? read_parameters(&poll, &wait_ns) :
		"queue: 1 to 64 letters, digits, dots, dashes or underscores are expected";
	if (wrong) {
		exchange_error(exchange, MHD_HTTP_BAD_REQUEST, wrong);
		return;
	}
	poll.queue = wait_ns ? queue_get(name, strlen(name), settings.queues) :
			       queue_find(name, strlen(name));
	if (poll.queue && poll.queue->due && !poll.queue->polls) {
		client_watch(exchange);
		submit(&poll);
	} else if (!wait_ns) {
		answer(exchange, NULL);
	} else if (!poll.queue || poll.queue->polls_count >= settings.queue_polls) {
		exchange_error(exchange, MHD_HTTP_TOO_MANY_REQUESTS,
			       "as many clients wait as allowed, or there are as many queues");
		if (poll.queue)
			queue_put(poll.queue);
	} else {
		client_watch(exchange);
		wait_for_some(&poll, wait_ns);
	}
}
