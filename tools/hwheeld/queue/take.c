// SPDX-License-Identifier: GPL-2.0-only
/*
 * A lease is committed before the client learns of it. If the client hangs up meanwhile, the
 * timeout is due again at once, and the log is told so.
 */
#include <sys/random.h>
#include <utlist.h>

#include "clock/alarm.h"
#include "clock/now.h"
#include "http/client.h"
#include "http/metrics.h"
#include "http/percent.h"
#include "http/show.h"
#include "memory.h"
#include "nodes/nodes.h"
#include "queue/change.h"
#include "queue/life.h"
#include "queue/take.h"
#include "settings.h"

/* An answer has so many bytes of payloads, or a single timeout. */
#define ANSWER_MAX	1048576

/* One that waits */
struct poll {
	struct poll *prev, *next;
	struct queue *queue;
	struct exchange *exchange;
	struct alarm *alarm;
	uint64_t began_ns;		/* on CLOCK_BOOTTIME */
	uint64_t end_ns;
	uint64_t max;
	uint64_t lease_ns;
	uint64_t lease_until_ns;	/* a lease that began with the poll */
};

void take_answer(struct exchange *exchange, struct json_object *timeouts)
{
	struct json_object *object = json_object_new_object();

	json_object_object_add(object, "timeouts", timeouts ?: json_object_new_array());
	exchange_answer(exchange, MHD_HTTP_OK, object);
}

static void answer(struct exchange *exchange, struct change *change)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; change && i < change->count; i++)
		json_object_array_add(array, show_lease(change->timeouts[i], exchange->by_node));
	take_answer(exchange, array);
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
	if (nodes)
		nodes->mark(record->token, timeout->key, timeout->key_length);
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

/* Those of clients also wait for what other nodes have. */
static void note_client(const struct poll *poll, bool waits)
{
	struct queue *queue = poll->queue;

	if (!nodes || poll->exchange->by_node)
		return;
	queue->clients += waits ? 1 : -1UL;
	if (waits)
		nodes->wait(queue->name);
	else if (!queue->clients)
		nodes->stop_waiting(queue->name);
}

static struct queue *leave(struct poll *poll)
{
	struct queue *queue = poll->queue;

	alarm_clear(&poll->alarm);
	DL_DELETE(queue->polls, poll);
	queue->polls_count--;
	note_client(poll, false);
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
	poll->began_ns = now_clock_ns(CLOCK_BOOTTIME);
	poll->end_ns = now_ns() + wait_ns;
	poll->lease_until_ns = now_after(poll->lease_ns);
	note_client(poll, true);
	alarm_set(&poll->alarm, poll->end_ns, ring, poll);
}

static void serve(struct poll *poll)
{
	struct exchange *exchange = poll->exchange;

	exchange->client->poll = NULL;
	submit(poll);
	leave(poll);
}

/* What other nodes have */

static struct poll *first_client(const struct queue *queue)
{
	struct poll *poll = queue->polls;

	while (poll && poll->exchange->by_node)
		poll = poll->next;
	return poll;
}

bool take_first(const char *name, uint64_t *max, uint64_t *wait_ns, uint64_t *lease_ns)
{
	const struct queue *queue = queue_find(name, strlen(name));
	const struct poll *poll = queue ? first_client(queue) : NULL;
	uint64_t now = now_ns();

	if (!poll)
		return false;
	*max = poll->max;
	*wait_ns = poll->end_ns > now ? poll->end_ns - now : 0;
	*lease_ns = poll->lease_ns;
	return true;
}

/*
 * A client that came before this node asked has the whole lease. For a client that came later the
 * clocks tell; they are not exact, so a lease may go back in vain.
 */
static bool lasts(const struct poll *poll, const struct taking *taking)
{
	return poll->began_ns <= taking->asked_ns || poll->lease_until_ns <= taking->end_ns;
}

static bool fits(const struct poll *poll, const struct taking *taking, size_t count)
{
	return !poll->exchange->by_node && poll->lease_ns == taking->lease_ns &&
	       poll->max >= count && lasts(poll, taking) && !exchange_is_gone(poll->exchange);
}

bool take_deliver(const char *name, const struct taking *taking, struct json_object *timeouts)
{
	struct queue *queue = queue_find(name, strlen(name));
	struct poll *poll = queue && !now_has_come(taking->end_ns) ? queue->polls : NULL;
	size_t count = json_object_array_length(timeouts);
	struct exchange *exchange;

	while (poll && !fits(poll, taking, count))
		poll = poll->next;
	if (!poll)
		return false;
	exchange = poll->exchange;
	exchange->client->poll = NULL;
	queue_put(leave(poll));
	take_answer(exchange, timeouts);
	return true;
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

static bool has_due(const struct poll *poll)
{
	return poll->queue && poll->queue->due && !poll->queue->polls;
}

static bool may_serve(const struct poll *poll)
{
	return has_due(poll) && !(nodes && nodes->is_their_turn(poll->exchange));
}

static void wait_in_queue(struct poll *poll, const char *name, uint64_t wait_ns)
{
	if (exchange_is_stopping()) {
		answer(poll->exchange, NULL);
		return;
	}
	poll->queue = queue_get(name, strlen(name), settings.queues);
	if (!poll->queue || poll->queue->polls_count >= settings.queue_polls) {
		exchange_error(poll->exchange, MHD_HTTP_TOO_MANY_REQUESTS,
			       "as many clients wait as allowed, or there are as many queues");
		if (poll->queue)
			queue_put(poll->queue);
	} else {
		client_watch(poll->exchange);
		wait_for_some(poll, wait_ns);
	}
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
	poll.queue = queue_find(name, strlen(name));
	if (may_serve(&poll)) {
		client_watch(exchange);
		submit(&poll);
	} else if ((!wait_ns || has_due(&poll)) && nodes &&
		   nodes->sweep(exchange, name, poll.max, poll.lease_ns)) {
		return;
	} else if (!wait_ns) {
		answer(exchange, NULL);
	} else {
		wait_in_queue(&poll, name, wait_ns);
	}
}
