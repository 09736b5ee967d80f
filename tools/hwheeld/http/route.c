// SPDX-License-Identifier: GPL-2.0-only
#include <stddef.h>
#include <string.h>

#include "http/metrics.h"
#include "http/percent.h"
#include "http/route.h"
#include "http/show.h"
#include "hwheelctl/array.h"
#include "nodes/nodes.h"
#include "queue/cancel.h"
#include "queue/put.h"
#include "queue/take.h"

static struct store *store;

void route_begin(struct store *the_store)
{
	store = the_store;
}

static bool is_method(const struct exchange *exchange, const char *method)
{
	return !strcmp(exchange->method, method);
}

static void refuse_method(struct exchange *exchange)
{
	exchange_error(exchange, MHD_HTTP_METHOD_NOT_ALLOWED, "not this method");
}

static void act_on(struct exchange *exchange, const char *key, size_t length,
		   void (*act)(struct exchange *exchange, const char *key, size_t length))
{
	if (!nodes || !nodes->pass_timeout(exchange, key, length))
		act(exchange, key, length);
}

static void route_timeout(struct exchange *exchange, const char *text)
{
	char key[KEY_MAX + 1];
	size_t length;

	if (!percent_decode(text, key, KEY_MAX, &length) || !length)
		exchange_error(exchange, MHD_HTTP_BAD_REQUEST,
			       "key: 1 to 256 bytes of UTF-8, with %XX where needed, are expected");
	else if (is_method(exchange, "PUT"))
		act_on(exchange, key, length, put_one);
	else if (is_method(exchange, "GET"))
		act_on(exchange, key, length, show_one);
	else if (is_method(exchange, "DELETE"))
		act_on(exchange, key, length, cancel_timeout);
	else
		refuse_method(exchange);
}

static void route_timeouts(struct exchange *exchange)
{
	if (is_method(exchange, "POST"))
		put_many(exchange);
	else if (is_method(exchange, "GET"))
		show_list(exchange);
	else
		refuse_method(exchange);
}

static void route_queue(struct exchange *exchange, const char *text)
{
	const char *end = strchr(text, '/');
	char name[QUEUE_MAX + 1] = "";

	if (!end || strcmp(end, "/take"))
		exchange_error(exchange, MHD_HTTP_NOT_FOUND, "there is no such path");
	else if (!is_method(exchange, "POST"))
		refuse_method(exchange);
	else if (end - text > QUEUE_MAX)
		take(exchange, "");
	else
		take(exchange, memcpy(name, text, (size_t)(end - text)));
}

/* TOKEN, or TOKEN/return */
static void route_lease(struct exchange *exchange, const char *text)
{
	const char *end = strchr(text, '/');
	char token[TOKEN_TEXT] = "";

	if (end && strcmp(end, "/return")) {
		exchange_error(exchange, MHD_HTTP_NOT_FOUND, "there is no such path");
		return;
	}
	if (end && end - text < (ptrdiff_t)sizeof(token))
		memcpy(token, text, (size_t)(end - text));
	if (!end && is_method(exchange, "DELETE"))
		cancel_lease(exchange, text);
	else if (end && is_method(exchange, "POST"))
		return_lease(exchange, token);
	else
		refuse_method(exchange);
}

static void show_metrics(struct exchange *exchange)
{
	size_t length;
	char *text = metrics_text(store, &length);

	exchange_answer_text(exchange, MHD_HTTP_OK,
			     "application/openmetrics-text; version=1.0.0; charset=utf-8",
			     text, length);
}

static void route_page(struct exchange *exchange)
{
	const char *path = exchange->path;

	if (!is_method(exchange, "GET"))
		refuse_method(exchange);
	else if (!strcmp(path, "/health"))
		show_health(exchange, store);
	else if (!strcmp(path, "/metrics"))
		show_metrics(exchange);
	else if (!strcmp(path, "/queues"))
		show_queues(exchange);
	else
		show_cluster(exchange, store);
}

static const char *behind(const char *path, const char *prefix)
{
	return strncmp(path, prefix, strlen(prefix)) ? NULL : path + strlen(prefix);
}

static bool is_page(const char *path)
{
	return !strcmp(path, "/health") || !strcmp(path, "/metrics") ||
	       !strcmp(path, "/queues") || !strcmp(path, "/cluster");
}

static const struct {
	const char *prefix;
	void (*route)(struct exchange *exchange, const char *rest);
} prefixes[] = {
	{ "/timeouts/", route_timeout },
	{ "/queues/", route_queue },
	{ "/leases/", route_lease },
};

static bool is_about_timeouts(const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (behind(path, prefixes[i].prefix))
			return true;
	return !strcmp(path, "/timeouts");
}

void route(struct exchange *exchange)
{
	if (nodes && is_about_timeouts(exchange->path) && nodes->refuse(exchange))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		const char *rest = behind(exchange->path, prefixes[i].prefix);

		if (!rest)
			continue;
		prefixes[i].route(exchange, rest);
		return;
	}
	if (!strcmp(exchange->path, "/timeouts"))
		route_timeouts(exchange);
	else if (is_page(exchange->path))
		route_page(exchange);
	else
		exchange_error(exchange, MHD_HTTP_NOT_FOUND, "there is no such path");
}
