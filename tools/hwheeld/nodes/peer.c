// SPDX-License-Identifier: GPL-2.0-only
/*
 * libcurl tells which descriptors it waits for, and for how long. The loop calls it then, and looks
 * for requests that have ended after each call.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <string.h>

#include "clock/alarm.h"
#include "clock/now.h"
#include "consensus/once.h"
#include "memory.h"
#include "nodes/peer.h"
#include "say.h"

/* Connections to one node; requests beyond wait for one. */
static const long peer_most[PEER_SORTS] = { [PEER_REQUEST] = 64, [PEER_POLL] = 128 };

/* An answer has so many bytes at most: a take of 1 MiB of payloads, as JSON */
#define PEER_ANSWER_MAX	(8 << 20)

#define PEER_CONNECT_MS	2000L

/* Bytes of an address */
#define PEER_ADDRESS	255

/* So many nodes are remembered that do not answer. A node is named no more often than this. */
#define PEER_SILENT	16
#define PEER_QUIET_NS	(5 * NS_PER_S)

/* A descriptor of libcurl's */
struct peer_socket {
	struct loop_source source;
	struct peer_pool *pool;
	int fd;
};

struct peer_pool {
	struct loop_source due;		/* libcurl wants to be called at once */
	struct alarm *alarm;		/* or then */
	CURLM *multi;
};

/* What was said last of a node */
struct peer_silence {
	char address[PEER_ADDRESS + 1];
	bool is_silent;
	uint64_t said_ns;
};

static struct {
	struct service *service;
	char address[PEER_ADDRESS + 1];	/* its own */
	struct peer_pool pools[PEER_SORTS];
	struct peer_silence silences[PEER_SILENT];
} peer;

/* Saying which nodes do not answer */

/* Of @address, or else the one of which nothing was said for the longest time */
static struct peer_silence *peer_find_silence(const char *address)
{
	struct peer_silence *it = peer.silences, *oldest = it;

	for (; it < peer.silences + PEER_SILENT; it++) {
		if (!strcmp(it->address, address))
			return it;
		if (it->said_ns < oldest->said_ns)
			oldest = it;
	}
	return oldest;
}

/* Once, until the node answers */
static void peer_note(const char *address, CURLcode code)
{
	struct peer_silence *it = peer_find_silence(address);
	bool is_silent = code != CURLE_OK, is_same = !strcmp(it->address, address);
	uint64_t now = now_ns();

	if (is_silent == (is_same && it->is_silent) ||
	    (is_same && now < it->said_ns + PEER_QUIET_NS))
		return;
	snprintf(it->address, sizeof(it->address), "%s", address);
	it->is_silent = is_silent;
	it->said_ns = now;
	if (is_silent)
		say(LOG_WARNING, "cluster: %s does not answer: %s", address,
		    curl_easy_strerror(code));
	else
		say(LOG_NOTICE, "cluster: %s answers", address);
}

/* Ending */

static void peer_release(struct peer_call *call)
{
	curl_multi_remove_handle(peer.pools[call->sort].multi, call->handle);
	curl_easy_cleanup(call->handle);
	curl_slist_free_all(call->headers);
	alarm_clear(&call->limit);
	free(call->address);
	call->handle = NULL;
	call->headers = NULL;
	call->address = NULL;
}

static void peer_end_call(struct peer_call *call, CURLcode code)
{
	long status = 0;

	if (code == CURLE_OK)
		curl_easy_getinfo(call->handle, CURLINFO_RESPONSE_CODE, &status);
	peer_note(call->address, code);
	call->status = (unsigned int)status;
	call->is_away = !call->was_sent && (code == CURLE_COULDNT_CONNECT ||
					    code == CURLE_OPERATION_TIMEDOUT);
	peer_release(call);
	call->done(call);
}

/* libcurl does not time a request that waits for a connection. */
static void peer_be_late(void *owner, uint64_t at_ns)
{
	peer_end_call(owner, CURLE_OPERATION_TIMEDOUT);
}

static void peer_drive(struct peer_pool *pool, int fd)
{
	struct peer_call *call;
	const CURLMsg *message;
	int running, left;

	curl_multi_socket_action(pool->multi, fd, 0, &running);
	while ((message = curl_multi_info_read(pool->multi, &left))) {
		CURLcode code = message->data.result;

		curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&call);
		peer_end_call(call, code);
	}
}

/* libcurl's sockets and timer */

static void peer_ready(void *owner)
{
	struct peer_socket *socket = owner;

	peer_drive(socket->pool, socket->fd);
}

static void peer_be_due(void *owner)
{
	peer_drive(owner, CURL_SOCKET_TIMEOUT);
}

static void peer_ring(void *owner, uint64_t at_ns)
{
	peer_drive(owner, CURL_SOCKET_TIMEOUT);
}

/* It may be called from within curl_multi_socket_action(), which must not be called then. */
static int peer_set_timer(CURLM *multi, long ms, void *data)
{
	struct peer_pool *pool = data;

	alarm_clear(&pool->alarm);
	if (!ms)
		loop_soon(&peer.service->loop, &pool->due);
	else if (ms > 0)
		alarm_set(&pool->alarm, now_ns() + (uint64_t)ms * NS_PER_MS, peer_ring, pool);
	return 0;
}

static int peer_set_socket(CURL *handle, curl_socket_t fd, int what, void *data, void *of_socket)
{
	uint32_t events = (what & CURL_POLL_IN ? EPOLLIN : 0U) |
			  (what & CURL_POLL_OUT ? EPOLLOUT : 0U);
	struct loop *loop = &peer.service->loop;
	struct peer_socket *socket = of_socket;
	struct peer_pool *pool = data;

	if (what != CURL_POLL_REMOVE) {
		if (!socket) {
			socket = memory_get(1, sizeof(*socket));
			socket->pool = pool;
			socket->fd = fd;
			curl_multi_assign(pool->multi, fd, socket);
		}
		return loop_add(loop, fd, events, &socket->source, peer_ready, socket) ? -1 : 0;
	}
	if (socket)
		loop_remove(loop, fd, &socket->source);
	free(socket);
	return 0;
}

/* Requests */

static size_t peer_take_answer(char *data, size_t size, size_t count, void *owner)
{
	struct peer_call *call = owner;

	if (call->length + count > PEER_ANSWER_MAX)
		return 0;
	call->answer = memory_need(realloc(call->answer, call->length + count * size + 1));
	memcpy(call->answer + call->length, data, count * size);
	call->length += count * size;
	call->answer[call->length] = 0;
	return count * size;
}

static void peer_add_header(struct peer_call *call, const char *line)
{
	call->headers = memory_need(curl_slist_append(call->headers, line));
}

/* The secret goes to nodes that listen as this one does: by TLS, or on loopback addresses. */
static CURL *peer_prepare(struct peer_call *call, const char *address, const char *method,
			  const char *path, const char *body, const char *header)
{
	CURL *handle = memory_need(curl_easy_init());
	char url[4096];

	call->handle = handle;
	call->answer = NULL;
	call->length = 0;
	call->was_sent = false;
	snprintf(url, sizeof(url), "%s%s", address, path);
	curl_easy_setopt(handle, CURLOPT_URL, url);
	curl_easy_setopt(handle, CURLOPT_PATH_AS_IS, 1L);
	curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, method);
	if (body) {
		curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(body));
		curl_easy_setopt(handle, CURLOPT_POSTFIELDS, body);
	}
	snprintf(url, sizeof(url), "Authorization: Bearer %s", peer.service->node_token);
	peer_add_header(call, url);
	peer_add_header(call, "Expect:");
	peer_add_header(call, "Content-Type: application/json");
	if (header)
		peer_add_header(call, header);
	curl_easy_setopt(handle, CURLOPT_HTTPHEADER, call->headers);
	curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR,
			 peer.service->settings.certificate ? "https" : "http");
	curl_easy_setopt(handle, CURLOPT_PROXY, "");
	if (peer.service->settings.peer_ca)
		curl_easy_setopt(handle, CURLOPT_CAINFO, peer.service->settings.peer_ca);
	once_set(handle, &call->was_sent);
	curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, peer_take_answer);
	curl_easy_setopt(handle, CURLOPT_WRITEDATA, call);
	curl_easy_setopt(handle, CURLOPT_PRIVATE, call);
	curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS, PEER_CONNECT_MS);
	return handle;
}

void peer_request(struct peer_call *call, const char *address, const char *method,
		  const char *path, const char *body, const char *header, long ms)
{
	CURL *handle = peer_prepare(call, address, method, path, body, header);

	call->address = memory_copy(address, strlen(address));
	alarm_set(&call->limit, now_ns() + (uint64_t)ms * NS_PER_MS, peer_be_late, call);
	curl_multi_add_handle(peer.pools[call->sort].multi, handle);
}

int peer_ask(struct peer_call *call, const char *address, const char *path, long ms)
{
	CURL *handle = peer_prepare(call, address, "GET", path, NULL, NULL);
	long status = 0, reason = 0;

	curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, ms);
	if (curl_easy_perform(handle) == CURLE_OK)
		curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
	else
		curl_easy_getinfo(handle, CURLINFO_OS_ERRNO, &reason);
	call->status = (unsigned int)status;
	curl_easy_cleanup(handle);
	curl_slist_free_all(call->headers);
	call->headers = NULL;
	return status ? 0 : reason ? -(int)reason : -EIO;
}

const char *peer_failure(const struct peer_call *call)
{
	if (call->status == MHD_HTTP_UNAUTHORIZED)
		return "the node that has it does not know this one: nothing has changed";
	if (call->status)
		return NULL;
	return call->was_sent ?
	       "the node that has it does not answer: the change may have happened" :
	       "the node that has it cannot be reached: nothing has changed";
}

void peer_cancel(struct peer_call *call)
{
	peer_release(call);
	free(call->answer);
	call->answer = NULL;
}

/* Beginning */

bool peer_is_safe(const char *address)
{
	const char *from = strstr(address, "://");
	struct in6_addr in6;
	struct in_addr in;
	char host[64];

	if (peer.service->settings.certificate)
		return !strncmp(address, "https://", 8);
	if (!from)
		return false;
	from += strlen("://");
	if (*from == '[')
		snprintf(host, sizeof(host), "%.*s", (int)strcspn(from + 1, "]"), from + 1);
	else
		snprintf(host, sizeof(host), "%.*s", (int)strcspn(from, ":/"), from);
	if (inet_pton(AF_INET, host, &in) == 1)
		return ntohl(in.s_addr) >> 24 == 127;
	return inet_pton(AF_INET6, host, &in6) == 1 && IN6_IS_ADDR_LOOPBACK(&in6);
}

int peer_begin(struct service *service)
{
	const struct settings *settings = &service->settings;

	peer.service = service;
	snprintf(peer.address, sizeof(peer.address), "%s://%s",
		 settings->certificate ? "https" : "http",
		 settings->advertise ?: settings->listen);
	if (!peer_is_safe(peer.address)) {
		say(LOG_ERR, "configuration: without TLS advertise is for loopback addresses only");
		return -EINVAL;
	}
	if (curl_global_init(CURL_GLOBAL_DEFAULT))
		return -EIO;
	for (enum peer_sort i = 0; i < PEER_SORTS; i++) {
		struct peer_pool *pool = &peer.pools[i];

		pool->due = (struct loop_source) { .ready = peer_be_due, .owner = pool };
		pool->multi = memory_need(curl_multi_init());
		curl_multi_setopt(pool->multi, CURLMOPT_SOCKETFUNCTION, peer_set_socket);
		curl_multi_setopt(pool->multi, CURLMOPT_SOCKETDATA, pool);
		curl_multi_setopt(pool->multi, CURLMOPT_TIMERFUNCTION, peer_set_timer);
		curl_multi_setopt(pool->multi, CURLMOPT_TIMERDATA, pool);
		curl_multi_setopt(pool->multi, CURLMOPT_MAX_HOST_CONNECTIONS, peer_most[i]);
	}
	return 0;
}

void peer_end(void)
{
	for (enum peer_sort i = 0; i < PEER_SORTS; i++)
		curl_multi_cleanup(peer.pools[i].multi);
	curl_global_cleanup();
}

const char *peer_own_address(void)
{
	return peer.address;
}
