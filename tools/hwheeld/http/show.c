// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <unistd.h>

#include "clock/alarm.h"
#include "clock/now.h"
#include "http/metrics.h"
#include "http/percent.h"
#include "http/show.h"
#include "hwheelctl/json.h"
#include "nodes/nodes.h"
#include "settings.h"

/* How many a list has at most, and without a parameter */
#define LIST_MOST	1000
#define LIST_SOME	100

/* Between nodes: when a lease ends, in nanoseconds of the service's time */
#define LEASE_END	"end_ns"

void show_token(const unsigned char token[TOKEN_SIZE], char text[TOKEN_TEXT])
{
	for (size_t i = 0; i < TOKEN_SIZE; i++)
		sprintf(text + 2 * i, "%02x", token[i]);
}

static int digit(char text)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = text ? strchr(digits, text) : NULL;

	return at ? (int)(at - digits) : -1;
}

bool show_parse_token(const char *text, unsigned char token[TOKEN_SIZE])
{
	if (strlen(text) != TOKEN_TEXT - 1)
		return false;
	for (size_t i = 0; i < TOKEN_SIZE; i++) {
		int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		token[i] = (unsigned char)(high << 4 | low);
	}
	return true;
}

/* Rounded up to milliseconds: it is not due before what it says. */
static void add_date(struct json_object *object, const char *name, uint64_t wall_ns)
{
	uint64_t ms = (wall_ns + NS_PER_MS - 1) / NS_PER_MS;
	time_t seconds = (time_t)(ms / 1000);
	char date[48], text[64];
	struct tm parts;

	gmtime_r(&seconds, &parts);
	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &parts);
	snprintf(text, sizeof(text), "%s.%03uZ", date, (unsigned int)(ms % 1000));
	json_add_text(object, name, text);
}

static void add_seconds(struct json_object *object, const char *name, uint64_t ns)
{
	char text[48];

	snprintf(text, sizeof(text), "%llu.%06llu", (unsigned long long)(ns / NS_PER_S),
		 (unsigned long long)(ns % NS_PER_S / 1000));
	json_object_object_add(object, name, json_object_new_double_s((double)ns / 1e9, text));
}

static void add_name(struct json_object *object, const struct timeout *timeout)
{
	json_object_object_add(object, "key",
			       json_object_new_string_len(timeout->key, timeout->key_length));
	json_add_text(object, "queue", timeout->queue->name);
}

static void add_payload(struct json_object *object, const struct timeout *timeout)
{
	json_object_object_add(object, "payload",
			       json_object_new_string_len(timeout->payload ?: "",
							  (int)timeout->payload_length));
}

static void add_deadline(struct json_object *object, const struct timeout *timeout)
{
	uint64_t now = now_ns();
	uint64_t end = timeout->absolute ? now_from_wall(timeout->deadline_ns) :
					   timeout->deadline_ns;

	add_date(object, "deadline", timeout->absolute ? timeout->deadline_ns :
					      now_on_wall(timeout->deadline_ns));
	add_seconds(object, "remaining", end > now ? end - now : 0);
}

static const char *name_of_state(const struct timeout *timeout)
{
	switch (timeout->state) {
	case TIMEOUT_DUE:
		return "due";
	case TIMEOUT_LEASED:
		return "leased";
	}
	return "pending";
}

struct json_object *show_timeout(const struct timeout *timeout, bool payload)
{
	struct json_object *object = json_object_new_object();

	add_name(object, timeout);
	json_add_text(object, "state", name_of_state(timeout));
	json_add_text(object, "kind", timeout->absolute ? "deadline" : "delay");
	add_deadline(object, timeout);
	json_add_number(object, "deliveries", timeout->deliveries);
	if (payload)
		add_payload(object, timeout);
	return object;
}

/* How much of it is left by now */
static void add_lease(struct json_object *object, uint64_t end_ns)
{
	uint64_t begin = now_after(0);

	add_seconds(object, "lease", end_ns > begin ? end_ns - begin : 0);
}

struct json_object *show_lease(const struct timeout *timeout, bool for_node)
{
	struct json_object *object = json_object_new_object();
	uint64_t now = now_ns();
	char token[TOKEN_TEXT];

	show_token(timeout->lease->token, token);
	add_name(object, timeout);
	json_add_text(object, "token", token);
	add_lease(object, timeout->lease->end_ns);
	if (for_node)
		json_add_number(object, LEASE_END, timeout->lease->end_ns);
	add_seconds(object, "late", now > timeout->due_ns ? now - timeout->due_ns : 0);
	json_add_number(object, "deliveries", timeout->deliveries);
	add_payload(object, timeout);
	return object;
}

uint64_t show_pass_lease(struct json_object *object)
{
	struct json_object *end;
	uint64_t end_ns;

	if (!json_object_object_get_ex(object, LEASE_END, &end))
		return 0;
	end_ns = json_object_get_uint64(end);
	json_object_object_del(object, LEASE_END);
	add_lease(object, end_ns);
	return end_ns;
}

static bool is_visible(const struct timeout *timeout)
{
	return timeout && timeout->state != TIMEOUT_NEW;
}

void show_one(struct exchange *exchange, const char *key, size_t length)
{
	const struct timeout *timeout = timeout_find(key, length);

	if (is_visible(timeout))
		exchange_answer(exchange, MHD_HTTP_OK, show_timeout(timeout, true));
	else
		exchange_error(exchange, MHD_HTTP_NOT_FOUND, "there is no such timeout");
}

/*
 * Where the list begins: behind a record's number, as timeouts are in the order of their records.
 * One that is restarted between two pages gets a larger number: it may be on both.
 */
static const struct timeout *find_start(uint64_t after)
{
	const struct timeout *timeout = timeout_oldest();

	while (timeout && timeout->seq <= after)
		timeout = timeout->newer;
	return timeout;
}

static void add_next(struct json_object *object, const struct timeout *last)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)last->seq);
	json_add_text(object, "next", text);
}

void show_list(struct exchange *exchange)
{
	const char *queue = exchange_parameter(exchange, "queue");
	const char *most = exchange_parameter(exchange, "max");
	const char *behind = exchange_parameter(exchange, "after");
	struct json_object *object, *array;
	const struct timeout *timeout;
	uint64_t max = LIST_SOME, after = 0;

	if (most && !percent_number(most, LIST_MOST, &max)) {
		exchange_error(exchange, MHD_HTTP_BAD_REQUEST, "max: 1 to 1000 is expected");
		return;
	}
	if (behind && !percent_number(behind, UINT64_MAX, &after)) {
		exchange_error(exchange, MHD_HTTP_BAD_REQUEST, "after: what next said is expected");
		return;
	}
	timeout = find_start(after);
	object = json_object_new_object();
	array = json_object_new_array();
	for (uint64_t i = 0; timeout && i < max; timeout = timeout->newer, i++)
		if (!queue || !strcmp(queue, timeout->queue->name))
			json_object_array_add(array, show_timeout(timeout, false));
	json_object_object_add(object, "timeouts", array);
	if (timeout)
		add_next(object, timeout->older);
	exchange_answer(exchange, MHD_HTTP_OK, object);
}

void show_queues(struct exchange *exchange)
{
	struct json_object *object = json_object_new_object();
	struct json_object *array = json_object_new_array();
	struct queue *queue = queue_first();

	for (size_t i = 0; queue && i < LIST_MOST; queue = queue->by_name.next, i++) {
		struct json_object *one = json_object_new_object();

		json_add_text(one, "queue", queue->name);
		json_add_number(one, "timeouts", queue->timeouts);
		json_add_number(one, "due", queue->due_count);
		json_add_number(one, "polls", queue->polls_count);
		json_object_array_add(array, one);
	}
	json_object_object_add(object, "queues", array);
	exchange_answer(exchange, MHD_HTTP_OK, object);
}

/* In a cluster a node is ready when it has loaded all that it should have. */
static bool is_loading(const struct store *store)
{
	return store->ops->is_settled && !store->ops->is_settled(store);
}

static const char *state_of(const struct store *store)
{
	if (store->ops->is_lost(store))
		return "the store is lost";
	return is_loading(store) ? "loading" : "ready";
}

void show_health(struct exchange *exchange, struct store *store)
{
	struct json_object *object = json_object_new_object();
	bool lost = store->ops->is_lost(store) || is_loading(store);

	json_add_text(object, "state", state_of(store));
	json_add_text(object, "version", HWHEEL_VERSION);
	json_add_number(object, "timeouts", timeout_count());
	json_add_number(object, "queues", queue_count());
	add_seconds(object, "tick", alarm_tick_ns());
	exchange_answer(exchange, lost ? MHD_HTTP_SERVICE_UNAVAILABLE : MHD_HTTP_OK, object);
}

/* A store on one machine has one node, which owns all timeouts. */
static void show_nodes(struct json_object *object, struct json_object *node,
		       const struct store *store)
{
	struct json_object *array;

	json_add_text(object, "store", store->ops->show ? "zookeeper" : "sqlite");
	if (store->ops->show) {
		store->ops->show(store, object);
		json_object_object_add(object, "here", node);
	} else {
		array = json_object_new_array();
		json_object_array_add(array, node);
		json_object_object_add(object, "nodes", array);
	}
}

static void show_clock(struct json_object *node)
{
	add_seconds(node, "bound", now_bound_ns());
	json_object_object_add(node, "offset", json_object_new_double(now_offset_of_wall()));
	json_add_number(node, "epoch", metrics.clock_epoch);
}

void show_cluster(struct exchange *exchange, struct store *store)
{
	struct json_object *object = json_object_new_object();
	struct json_object *node = json_object_new_object();
	char name[256] = "";

	gethostname(name, sizeof(name) - 1);
	json_add_text(node, "name", settings.node ?: name);
	json_add_text(node, "state", state_of(store));
	json_add_number(node, "timeouts", timeout_count());
	if (now_is_shared())
		show_clock(node);
	show_nodes(object, node, store);
	if (!nodes || !nodes->survey(exchange, object))
		exchange_answer(exchange, MHD_HTTP_OK, object);
}
