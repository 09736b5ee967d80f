// SPDX-License-Identifier: GPL-2.0-only
/*
 * A lease is committed before the client gets it. If the client hangs up meanwhile, the timeout is
 * due again at once, and the log has it so.
 */
#include <json-c/json.h>
#include <sys/random.h>
#include <utlist.h>

#include "clock/now.h"
#include "http/answer.h"
#include "memory.h"
#include "nodes/nodes.h"
#include "queue/change.h"
#include "queue/life.h"
#include "queue/room.h"
#include "queue/take.h"
#include "queue/view.h"
#include "text.h"

/* An answer has so many bytes of payloads, or a single timeout; that, too, without memory. */
#define TAKE_ANSWER_MAX	1048576

/* A commit has so many bytes of leases, which each store holds; and of each one, beside its key */
#define TAKE_COMMIT_MAX	524288
#define TAKE_RECORD	128

void take_answer(struct request *request, struct json_object *timeouts)
{
	struct json_object *object = json_object_new_object();

	json_object_object_add(object, "timeouts", timeouts ?: json_object_new_array());
	answer(request, MHD_HTTP_OK, object);
}

/* Committing */

/*
 * Nobody has the leases: the timeouts stay due, by records that have them anew. If these are
 * refused, or there is no room, they are leased until the lease ends after a restart.
 */
static void take_give_back(const struct change *taken)
{
	struct change *change;

	if (room_is_full(taken->service))
		return;
	change = change_new(taken->service, NULL, taken->commit.count);
	for (size_t i = 0; i < taken->commit.count; i++) {
		change->timeouts[i] = taken->timeouts[i];
		timeout_describe(change->timeouts[i], &change->commit.records[i]);
	}
	change_submit(change);
	taken->service->metrics.leases_returned += taken->commit.count;
}

static void take_apply(struct change *change)
{
	struct metrics *metrics = &change->service->metrics;
	struct request *request = change->request;
	struct json_object *array;
	uint64_t now = now_ns();

	if (!request || request_is_gone(request)) {
		take_give_back(change);
		if (request)
			take_answer(request, NULL);
		return;
	}
	array = json_object_new_array();
	for (size_t i = 0; i < change->commit.count; i++) {
		struct timeout *timeout = change->timeouts[i];
		const struct record *record = &change->commit.records[i];

		timeout_lease(timeout, record->token, record->lease_ns);
		timeout->state = TIMEOUT_LEASED;
		timeout->deliveries = record->deliveries;
		metrics->leased++;
		metrics_add(&metrics->delivery, now > timeout->due_ns ? now - timeout->due_ns : 0);
		life_arm(timeout);
		json_object_array_add(array, view_lease(timeout, request->is_by_node));
	}
	take_answer(request, array);
}

static void take_draw_token(struct service *service, unsigned char token[TOKEN_SIZE])
{
	if (service->random_left < TOKEN_SIZE) {
		service->random_left = sizeof(service->random);
		/* It gives as much at once, and fails only as it is interrupted. */
		while (getrandom(service->random, service->random_left, 0) !=
		       (ssize_t)service->random_left)
			;
	}
	service->random_left -= TOKEN_SIZE;
	memcpy(token, service->random + service->random_left, TOKEN_SIZE);
}

static size_t take_count(const struct request *request, const struct queue *queue)
{
	const struct timeout *timeout;
	size_t bytes = 0, log = 0, count = 0;

	DL_FOREACH2(queue->due, timeout, next_due) {
		bytes += timeout->payload_length;
		log += TAKE_RECORD + timeout->by_key.keylen;
		if (count == request->take.max ||
		    (count && (bytes > TAKE_ANSWER_MAX || log > TAKE_COMMIT_MAX)))
			break;
		count++;
	}
	return count > 1 && !memory_offers(count * VIEW_BYTES + VIEW_PAYLOAD(bytes)) ? 1 : count;
}

/* For an answer with the first one that is due */
static bool take_has_memory(const struct queue *queue)
{
	return memory_offers(VIEW_BYTES + VIEW_PAYLOAD(queue->due->payload_length));
}

static void take_submit(struct request *request, const struct queue *queue)
{
	struct service *service = request->service;
	struct change *change = change_new(service, request, take_count(request, queue));
	struct timeout *timeout = queue->due;

	for (size_t i = 0; i < change->commit.count; i++, timeout = timeout->next_due) {
		struct record *record = &change->commit.records[i];

		change->timeouts[i] = timeout;
		*record = (struct record) {
			.type = RECORD_LEASE,
			.key = timeout_key(timeout),
			.deliveries = timeout->deliveries + 1,
			.lease_ns = now_after(request->take.lease_ns),
		};
		take_draw_token(service, record->token);
		if (service->nodes)
			service->nodes->mark(record->token, timeout->shard);
	}
	change->apply = take_apply;
	change_submit(change);
}

/* Waiting */

/* The caller puts the queue. */
static void take_leave(struct request *request, struct queue *queue)
{
	const struct nodes_ops *nodes = request->service->nodes;

	DL_DELETE(queue->polls, request);
	queue->polls_count--;
	request->take.end_ns = 0;
	if (nodes && !request->is_by_node && !--queue->clients)
		nodes->stop_waiting(queue);
}

static void take_end_wait(struct request *request, struct json_object *timeouts)
{
	struct queue *queue = request->waits_for;

	take_leave(request, queue);
	queue_put(queue);
	take_answer(request, timeouts);
}

/* The wait is over, or its client is. */
static void take_give_up(struct request *request, enum request_end why)
{
	take_end_wait(request, NULL);
}

/* A client also waits for what other nodes have. */
static void take_wait(struct request *request, struct queue *queue)
{
	const struct nodes_ops *nodes = request->service->nodes;
	struct request_take *take = &request->take;

	request_watch(request);
	request_wait(request, queue, take_give_up);
	DL_APPEND(queue->polls, request);
	queue->polls_count++;
	take->began_ns = now_clock_ns(CLOCK_BOOTTIME);
	take->end_ns = now_ns() + take->wait_ns;
	take->lease_until_ns = now_after(take->lease_ns);
	if (nodes && !request->is_by_node) {
		queue->clients++;
		nodes->wait(queue);
	}
	request_limit_time(request->client, take->wait_ns);
}

void take_serve(struct service *service)
{
	struct request *request;
	struct queue *queue;

	while (!room_is_full(service) && (queue = service->ready)) {
		DL_DELETE2(service->ready, queue, prev_ready, next_ready);
		queue->prev_ready = NULL;
		while (queue->polls && queue->due && !room_is_full(service)) {
			request = queue->polls;
			take_submit(request, queue);
			take_leave(request, queue);
			request_limit_time(request->client, service->settings.request_time);
		}
		queue_make_ready(queue);
		queue_put(queue);
	}
}

/* What other nodes have */

bool take_first(const struct service *service, const char *name, struct request_take *take)
{
	const struct queue *queue = queue_find(service, name, strlen(name));
	const struct request *request = queue ? queue->polls : NULL;
	uint64_t now = now_ns();

	while (request && request->is_by_node)
		request = request->next;
	if (!request)
		return false;
	take->max = request->take.max;
	take->wait_ns = request->take.end_ns > now ? request->take.end_ns - now : 0;
	take->lease_ns = request->take.lease_ns;
	return true;
}

/*
 * A client that came before this node asked has the whole lease. For a client that came later the
 * clocks decide; they are not exact, so a lease may go back in vain.
 */
static bool take_fits(const struct request *request, const struct taking *taking, size_t count)
{
	const struct request_take *take = &request->take;

	return !request->is_by_node && take->lease_ns == taking->lease_ns && take->max >= count &&
	       (take->began_ns <= taking->asked_ns || take->lease_until_ns <= taking->end_ns) &&
	       !request_is_gone(request);
}

bool take_deliver(const struct service *service, const char *name, const struct taking *taking,
		  struct json_object *timeouts)
{
	struct queue *queue = queue_find(service, name, strlen(name));
	struct request *request = queue && !now_has_come(taking->end_ns) ? queue->polls : NULL;
	size_t count = json_object_array_length(timeouts);

	while (request && !take_fits(request, taking, count))
		request = request->next;
	if (request)
		take_end_wait(request, timeouts);
	return request;
}

/* Deciding */

static bool take_read_duration(const struct request *request, const char *name, uint64_t most,
			       uint64_t *ns)
{
	const char *text = request_parameter(request, name);

	return !text || (!text_duration(text, ns) && *ns <= most);
}

static const char *take_read(struct request *request)
{
	const struct settings *settings = &request->service->settings;
	const char *max = request_parameter(request, "max");

	request->take.max = 1;
	request->take.lease_ns = settings->lease;
	if (!text_is_queue(request->name, request->name_length))
		return "queue: 1 to 64 letters, digits, dots, dashes or underscores are expected";
	if (max && !text_count(max, settings->take, &request->take.max))
		return "max: a number is expected, within what this server allows";
	if (!take_read_duration(request, "wait", settings->wait, &request->take.wait_ns))
		return "wait: seconds are expected, within what this server allows";
	if (!take_read_duration(request, "lease", settings->lease_most, &request->take.lease_ns) ||
	    !request->take.lease_ns)
		return "lease: seconds are expected, within what this server allows";
	return NULL;
}

/* A request for which other nodes have nothing comes again, and is read by then. */
void take(struct request *request)
{
	struct service *service = request->service;
	const struct nodes_ops *nodes = service->nodes;
	const char *wrong = request->take.max ? NULL : take_read(request);
	struct queue *queue;
	bool is_due;

	if (wrong) {
		answer_error(request, MHD_HTTP_BAD_REQUEST, wrong);
		return;
	}
	queue = queue_find(service, request->name, request->name_length);
	is_due = queue && queue->due && !queue->polls;
	if ((!request->take.wait_ns || is_due) && nodes && nodes->sweep(request, is_due))
		return;
	if (is_due && !take_has_memory(queue)) {
		answer_error(request, MHD_HTTP_SERVICE_UNAVAILABLE, ANSWER_NO_MEMORY);
		return;
	}
	if (is_due) {
		if (!room_wait(request, 0))
			take_submit(request, queue);
		return;
	}
	if (!request->take.wait_ns || service->is_stopping) {
		take_answer(request, NULL);
		return;
	}
	queue = queue_get(service, request->name, request->name_length, service->settings.queues);
	if (queue && queue->polls_count < service->settings.queue_polls) {
		take_wait(request, queue);
		return;
	}
	answer_error(request, MHD_HTTP_TOO_MANY_REQUESTS,
		     "as many clients wait as allowed, or there are as many queues");
	if (queue)
		queue_put(queue);
}
