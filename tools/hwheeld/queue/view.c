// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "clock/now.h"
#include "hwheelctl/array.h"
#include "hwheelctl/json.h"
#include "queue/view.h"
#include "text.h"

/* Between nodes: when a lease ends, in nanoseconds of the service's time */
#define VIEW_LEASE_END	"end_ns"

void view_seconds(struct json_object *object, const char *name, uint64_t ns)
{
	char text[48];

	snprintf(text, sizeof(text), "%llu.%06llu", (unsigned long long)(ns / NS_PER_S),
		 (unsigned long long)(ns % NS_PER_S / 1000));
	json_object_object_add(object, name, json_object_new_double_s((double)ns / 1e9, text));
}

/* Rounded up to milliseconds: it is not due before what it says. */
static void view_date(struct json_object *object, const char *name, uint64_t wall_ns)
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

static struct json_object *view_names(const struct timeout *timeout)
{
	struct json_object *object = json_object_new_object();

	json_add_bytes(object, "key", timeout->key, timeout->by_key.keylen);
	json_add_text(object, "queue", timeout->queue->name);
	return object;
}

static const char *const view_states[] = {
	[TIMEOUT_PENDING] = "pending", [TIMEOUT_DUE] = "due", [TIMEOUT_LEASED] = "leased",
};

const char *view_state(const struct timeout *timeout)
{
	return view_states[timeout->state] ?: "";
}

bool view_is_state(const char *text)
{
	for (size_t i = TIMEOUT_PENDING; i < ARRAY_SIZE(view_states); i++)
		if (!strcmp(text, view_states[i]))
			return true;
	return false;
}

struct json_object *view_timeout(const struct timeout *timeout, bool payload)
{
	struct json_object *object = view_names(timeout);
	uint64_t end = timeout->deadline_ns, wall = timeout->deadline_ns, now = now_ns();

	if (timeout->absolute)
		end = now_from_wall(wall);
	else
		wall = now_on_wall(end);
	json_add_text(object, "state", view_state(timeout));
	json_add_text(object, "kind", timeout->absolute ? "deadline" : "delay");
	view_date(object, "deadline", wall);
	view_seconds(object, "remaining", end > now ? end - now : 0);
	json_add_number(object, "deliveries", timeout->deliveries);
	if (payload)
		json_add_bytes(object, "payload", timeout->payload ?: "", timeout->payload_length);
	return object;
}

/* How much of it is left by now */
static void view_lease_left(struct json_object *object, uint64_t end_ns)
{
	uint64_t begin = now_after(0);

	view_seconds(object, "lease", end_ns > begin ? end_ns - begin : 0);
}

struct json_object *view_lease(const struct timeout *timeout, bool for_node)
{
	struct json_object *object = view_names(timeout);
	uint64_t now = now_ns();
	char token[TEXT_TOKEN];

	text_token(timeout->lease->token, token);
	json_add_text(object, "token", token);
	view_lease_left(object, timeout->lease->end_ns);
	if (for_node)
		json_add_number(object, VIEW_LEASE_END, timeout->lease->end_ns);
	view_seconds(object, "late", now > timeout->due_ns ? now - timeout->due_ns : 0);
	json_add_number(object, "deliveries", timeout->deliveries);
	json_add_bytes(object, "payload", timeout->payload ?: "", timeout->payload_length);
	return object;
}

uint64_t view_pass_lease(struct json_object *object)
{
	struct json_object *end;
	uint64_t end_ns;

	if (!json_object_object_get_ex(object, VIEW_LEASE_END, &end))
		return 0;
	end_ns = json_object_get_uint64(end);
	json_object_object_del(object, VIEW_LEASE_END);
	view_lease_left(object, end_ns);
	return end_ns;
}
