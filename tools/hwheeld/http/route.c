// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>

#include "hash.h"
#include "http/answer.h"
#include "http/list.h"
#include "http/route.h"
#include "http/show.h"
#include "hwheelctl/array.h"
#include "nodes/nodes.h"
#include "queue/cancel.h"
#include "queue/put.h"
#include "queue/take.h"
#include "store/store.h"
#include "text.h"

/*
 * A path is @prefix, a name and @suffix; with no suffix the name is a key, which may be encoded.
 * Of a page for people or machines queries and bodies are ignored; all else is refused that is not
 * here.
 */
static const struct route {
	const char *method;
	const char *prefix;
	const char *suffix;
	void (*decide)(struct request *request);
	const char *queries;		/* their names, each between spaces; NULL: a page */
	bool has_body;
} routes[] = {
	{ "PUT",    "/timeouts/", NULL,      put,            "", true },
	{ "GET",    "/timeouts/", NULL,      show_one,       "", false },
	{ "DELETE", "/timeouts/", NULL,      cancel_timeout, "", false },
	{ "POST",   "/timeouts",  "",        put,            "", true },
	{ "GET",    "/timeouts",  "",        list,
	  " queue prefix state after limit payload ", false },
	{ "POST",   "/queues/",   "/take",   take,           " max wait lease ", false },
	{ "DELETE", "/leases/",   "",        end_lease,      "", false },
	{ "POST",   "/leases/",   "/return", end_lease,      "", false },
	{ "GET",    "/queues",    "",        show_queues,    "", false },
	{ "GET",    "/health",    "",        show_health,    NULL, false },
	{ "GET",    "/health/accept", "",    show_health,    NULL, false },
	{ "GET",    "/metrics",   "",        show_metrics,   NULL, false },
	{ "GET",    "/cluster",   "",        show_cluster,   NULL, false },
	{ "POST",   "/cluster/shards/", "/accept", show_accept_missing, "", false },
	{ "GET",    "/openapi.json", "",     show_openapi,   NULL, false },
	{ "GET",    "/peer/time", "",        show_for_nodes, NULL, false },
	{ "POST",   "/peer/tails", "",       show_for_nodes, NULL, true },
	{ "POST",   "/peer/requests", "",    show_for_nodes, NULL, true },
};

/* Returns the length of the name, or -1 if it is another path. */
static ptrdiff_t route_match(const struct route *route, const char *path)
{
	size_t prefix = strlen(route->prefix), length;

	if (strncmp(path, route->prefix, prefix))
		return -1;
	path += prefix;
	length = !route->suffix ? strlen(path) : path[-1] == '/' ? strcspn(path, "/") : 0;
	return route->suffix && strcmp(path + length, route->suffix) ? -1 : (ptrdiff_t)length;
}

/* Returns false if the name is no key; names that are too long become empty. */
static bool route_name(struct request *request, const struct route *route, size_t length)
{
	const char *name = request->path + strlen(route->prefix);

	if (!route->suffix)
		return text_decode(name, request->name, KEY_MAX, &request->name_length) &&
		       request->name_length;
	if (length <= KEY_MAX) {
		memcpy(request->name, name, length);
		request->name_length = length;
	}
	return true;
}

static void route_refuse_key(struct request *request)
{
	answer_error(request, MHD_HTTP_BAD_REQUEST,
		     "key: 1 to 256 bytes of UTF-8, with %XX where needed, are expected");
}

static void route_refuse_method(struct request *request)
{
	bool is_part = request->take_answer;
	char allowed[64] = "";

	for (const struct route *it = routes; it < routes + ARRAY_SIZE(routes); it++) {
		size_t length = strlen(allowed);

		if (route_match(it, request->path) >= 0)
			snprintf(allowed + length, sizeof(allowed) - length, "%s%s%s",
				 length ? ", " : "", it->method,
				 strcmp(it->method, "GET") ? "" : ", HEAD");
	}
	answer_error(request, MHD_HTTP_METHOD_NOT_ALLOWED, "not this method");
	if (!is_part)
		MHD_add_response_header(request->response, MHD_HTTP_HEADER_ALLOW, allowed);
}

/* A check of a request's queries, headers and body */
struct route_check {
	struct request *request;
	const struct route *route;
	const char *what;		/* is wrong; NULL: nothing yet */
	struct text_wrong wrong;
};

static enum MHD_Result route_refuse(struct route_check *check, const char *name, const char *what)
{
	check->what = what;
	check->wrong = (struct text_wrong) {
		.status = MHD_HTTP_BAD_REQUEST, .name = name, .length = strlen(name),
	};
	return MHD_NO;
}

static enum MHD_Result route_check_query(void *data, enum MHD_ValueKind kind, const char *name,
					 const char *value)
{
	struct route_check *check = data;
	char word[32];

	/* libmicrohttpd takes + for a space. */
	snprintf(word, sizeof(word), " %s ", name);
	if (strlen(name) > sizeof(word) - 3 || strchr(name, ' ') ||
	    !strstr(check->route->queries, word))
		return route_refuse(check, name, "an unknown query");
	if (!value)
		return route_refuse(check, name, "a query needs a value");
	if (request_parameter(check->request, name) != value)
		return route_refuse(check, name, "the query is there twice");
	return MHD_YES;
}

/* Those of a GET would change nothing but its answer, and may be ignored. */
static enum MHD_Result route_check_header(void *data, enum MHD_ValueKind kind, const char *name,
					  const char *value)
{
	struct route_check *check = data;

	if (!strcasecmp(name, "If-None-Match")) {
		if (check->route->decide != put)
			return route_refuse(check, "If-None-Match", "only a put has this");
		if (!value || strcmp(value, "*"))
			return route_refuse(check, "If-None-Match", "* is expected");
	}
	if (!strcasecmp(name, "If-Match"))
		return route_refuse(check, "If-Match", "there is no such condition");
	if (!strcasecmp(name, "If-Unmodified-Since"))
		return route_refuse(check, "If-Unmodified-Since", "there is no such condition");
	return MHD_YES;
}

/* A page in a browser can send forms anywhere, but not to a Unix socket. */
static bool route_has_json(const struct request *request)
{
	static const char json[] = "application/json", form[] = "application/x-www-form-urlencoded";
	const char *type = request_header(request, "Content-Type");
	size_t length = type ? strcspn(type, "; \t") : 0;

	return !request->length || !type ||
	       (length == strlen(json) && !strncasecmp(type, json, length)) ||
	       (length == strlen(form) && !strncasecmp(type, form, length) &&
		!request->client->is_by_tcp);
}

/* Returns true if it is answered. Another node may be of another version. */
static bool route_refuse_unknown(struct request *request, const struct route *route)
{
	struct route_check check = { .request = request, .route = route };

	if (!route->queries || request->is_by_node)
		return false;
	MHD_get_connection_values(request->connection, MHD_GET_ARGUMENT_KIND, route_check_query,
				  &check);
	if (!check.what && strcmp(request->method, "GET"))
		MHD_get_connection_values(request->connection, MHD_HEADER_KIND, route_check_header,
					  &check);
	if (!check.what && request->length && !route->has_body)
		route_refuse(&check, "body", "none is expected");
	if (check.what)
		answer_wrong(request, check.what, &check.wrong);
	else if (!route_has_json(request))
		answer_error(request, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE,
			     "Content-Type: application/json is expected");
	return request->response;
}

/* A path that is wrong is refused before a method that is. */
void route(struct request *request)
{
	const struct route *it = routes, *found = NULL;
	ptrdiff_t length = -1;

	for (; !request->decide && it < routes + ARRAY_SIZE(routes); it++) {
		ptrdiff_t matched = route_match(it, request->path);

		if (matched < 0)
			continue;
		found = it;
		length = matched;
		if (!strcmp(it->method, request->method))
			request->decide = it->decide;
	}
	if (!found) {
		answer_error(request, MHD_HTTP_NOT_FOUND, "there is no such path");
		return;
	}
	if (!route_name(request, found, (size_t)length))
		request->decide = route_refuse_key;
	else if (!request->decide)
		request->decide = route_refuse_method;
	else if (!found->suffix)
		request->key = hash_key(request->name, request->name_length,
					request->service->shards);
	if (request->decide == found->decide && route_refuse_unknown(request, found))
		return;
	if (found->queries && request->service->store->is_damaged &&
	    request->decide != show_accept_missing) {
		answer_error(request, MHD_HTTP_SERVICE_UNAVAILABLE, SHOW_DAMAGED);
		return;
	}
	if (found->queries)
		nodes_decide(request);
	else
		request->decide(request);
}
