// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "hash.h"
#include "http/answer.h"
#include "http/openmetrics.h"
#include "http/route.h"
#include "http/show.h"
#include "hwheelctl/array.h"
#include "nodes/nodes.h"
#include "queue/cancel.h"
#include "queue/put.h"
#include "queue/take.h"
#include "text.h"

/* A path is @prefix, a name and @suffix; with no suffix the name is a key, which may be encoded. */
static const struct route {
	const char *method;
	const char *prefix;
	const char *suffix;
	void (*decide)(struct request *request);
	bool is_about_timeouts;
} routes[] = {
	{ "PUT",    "/timeouts/", NULL,      put_one,        true },
	{ "GET",    "/timeouts/", NULL,      show_one,       true },
	{ "DELETE", "/timeouts/", NULL,      cancel_timeout, true },
	{ "POST",   "/timeouts",  "",        put_many,       true },
	{ "GET",    "/timeouts",  "",        show_list,      true },
	{ "POST",   "/queues/",   "/take",   take,           true },
	{ "DELETE", "/leases/",   "",        cancel_lease,   true },
	{ "POST",   "/leases/",   "/return", return_lease,   true },
	{ "GET",    "/health",    "",        show_health,    false },
	{ "GET",    "/metrics",   "",        openmetrics,    false },
	{ "GET",    "/queues",    "",        show_queues,    false },
	{ "GET",    "/cluster",   "",        show_cluster,   false },
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
	answer_error(request, MHD_HTTP_METHOD_NOT_ALLOWED, "not this method");
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
	if (found->is_about_timeouts)
		nodes_decide(request);
	else
		request->decide(request);
}
