// SPDX-License-Identifier: GPL-2.0-only
/*
 * libcurl tells which descriptors it waits for, and for how long. The loop calls it then, and looks
 * for requests that have ended after each call.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#include "clock/alarm.h"
#include "clock/now.h"
#include "http/client.h"
#include "loop.h"
#include "memory.h"
#include "nodes/peer.h"
#include "say.h"
#include "settings.h"

/* Connections to one node; requests beyond wait for one. */
#define REQUESTS	64L
#define POLLS		128L

/* An answer has so many bytes at most: a take of 1 MiB of payloads, as JSON */
#define ANSWER_MAX	(8 << 20)

#define CONNECT_MS	2000L

/* A descriptor of libcurl's */
struct socket {
	struct loop_source source;
	struct pool *pool;
	int fd;
};

struct pool {
	struct loop_source due;		/* libcurl wants to be called at once */
	struct alarm *alarm;		/* or then */
	CURLM *multi;
};

static struct pool pools[2];
static char authorization[sizeof("Authorization: Bearer ") + CLIENT_TOKEN_MOST];

/* Ending */

static void release(struct peer_call *call)
{
	curl_multi_remove_handle(pools[call->sort].multi, call->handle);
	curl_easy_cleanup(call->handle);
	curl_slist_free_all(call->headers);
	alarm_clear(&call->limit);
	call->handle = NULL;
	call->headers = NULL;
}

static void end(struct peer_call *call, CURLcode code)
{
	long status = 0;

	if (code == CURLE_OK)
		curl_easy_getinfo(call->handle, CURLINFO_RESPONSE_CODE, &status);
	else
		say(LOG_WARNING, "cluster: a request to another node: %s",
		    curl_easy_strerror(code));
	call->status = (unsigned int)status;
	release(call);
	call->done(call);
}

static void reap(struct pool *pool)
{
	struct peer_call *call;
	const CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(pool->multi, &left))) {
		CURLcode code = message->data.result;

		curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&call);
		end(call, code);
	}
}

static void drive(struct pool *pool, int fd)
{
	int running;

	curl_multi_socket_action(pool->multi, fd, 0, &running);
	reap(pool);
}

/* What libcurl waits for */

static void ready(struct loop_source *source)
{
	struct socket *socket = (struct socket *)source;

	drive(socket->pool, socket->fd);
}

static void be_due(struct loop_source *source)
{
	drive((struct pool *)source, CURL_SOCKET_TIMEOUT);
}

static void ring(void *owner, uint64_t at_ns)
{
	struct pool *pool = owner;

	(void)at_ns;
	drive(pool, CURL_SOCKET_TIMEOUT);
}

/* It may be called from within curl_multi_socket_action(), which must not be called then. */
static int set_timer(CURLM *multi, long ms, void *data)
{
	struct pool *pool = data;

	(void)multi;
	alarm_clear(&pool->alarm);
	if (!ms)
		loop_soon(&pool->due);
	else if (ms > 0)
		alarm_set(&pool->alarm, now_ns() + (uint64_t)ms * NS_PER_MS, ring, pool);
	return 0;
}

static uint32_t events_of(int what)
{
	return (what & CURL_POLL_IN ? EPOLLIN : 0U) | (what & CURL_POLL_OUT ? EPOLLOUT : 0U);
}

static int watch(struct pool *pool, int fd, int what)
{
	struct socket *socket = memory_get(1, sizeof(*socket));

	*socket = (struct socket) { .source.ready = ready, .pool = pool, .fd = fd };
	curl_multi_assign(pool->multi, fd, socket);
	return loop_add(fd, events_of(what), &socket->source) ? -1 : 0;
}

static int set_socket(CURL *handle, curl_socket_t fd, int what, void *data, void *of_socket)
{
	struct socket *socket = of_socket;
	struct pool *pool = data;

	(void)handle;
	if (!socket)
		return what == CURL_POLL_REMOVE ? 0 : watch(pool, fd, what);
	if (what != CURL_POLL_REMOVE)
		return loop_change(fd, events_of(what), &socket->source) ? -1 : 0;
	loop_remove(fd, &socket->source);
	curl_multi_assign(pool->multi, fd, NULL);
	free(socket);
	return 0;
}

/* Requests */

/*
 * There is a connection. libcurl would send a request again if a kept connection ends without an
 * answer: the other node may have done it before, and a second connection that fails must not hide
 * that.
 */
static int begin_to_send(void *owner, char *address, char *own_address, int port, int own_port)
{
	struct peer_call *call = owner;
	bool again = call->was_sent;

	(void)address;
	(void)own_address;
	(void)port;
	(void)own_port;
	call->was_sent = true;
	return again ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

static size_t take_answer(char *data, size_t size, size_t count, void *owner)
{
	struct peer_call *call = owner;

	if (call->length + count > ANSWER_MAX)
		return 0;
	call->answer = memory_need(realloc(call->answer, call->length + count * size + 1));
	memcpy(call->answer + call->length, data, count * size);
	call->length += count * size;
	call->answer[call->length] = 0;
	return count * size;
}

static void add_header(struct peer_call *call, const char *line)
{
	call->headers = memory_need(curl_slist_append(call->headers, line));
}

static void set_headers(struct peer_call *call, const char *header)
{
	add_header(call, authorization);
	add_header(call, "Expect:");
	add_header(call, "Content-Type: application/json");
	if (header)
		add_header(call, header);
	curl_easy_setopt(call->handle, CURLOPT_HTTPHEADER, call->headers);
}

static void set_body(CURL *handle, const char *method, const char *body)
{
	curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, method);
	if (!body)
		return;
	curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(body));
	curl_easy_setopt(handle, CURLOPT_POSTFIELDS, body);
}

/* The secret goes to nodes that listen as this one does: by TLS, or on loopback addresses. */
static void set_security(CURL *handle)
{
	curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, settings.certificate ? "https" : "http");
	curl_easy_setopt(handle, CURLOPT_PROXY, "");
	if (settings.peer_ca)
		curl_easy_setopt(handle, CURLOPT_CAINFO, settings.peer_ca);
}

/* libcurl does not time a request that waits for a connection. */
static void be_late(void *owner, uint64_t at_ns)
{
	(void)at_ns;
	end(owner, CURLE_OPERATION_TIMEDOUT);
}

static void set_limits(struct peer_call *call, long ms)
{
	curl_easy_setopt(call->handle, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(call->handle, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
	alarm_set(&call->limit, now_ns() + (uint64_t)ms * NS_PER_MS, be_late, call);
}

static void set_callbacks(struct peer_call *call)
{
	curl_easy_setopt(call->handle, CURLOPT_PREREQFUNCTION, begin_to_send);
	curl_easy_setopt(call->handle, CURLOPT_PREREQDATA, call);
	curl_easy_setopt(call->handle, CURLOPT_WRITEFUNCTION, take_answer);
	curl_easy_setopt(call->handle, CURLOPT_WRITEDATA, call);
	curl_easy_setopt(call->handle, CURLOPT_PRIVATE, call);
}

void peer_request(struct peer_call *call, const char *address, const char *method,
		  const char *path, const char *body, const char *header, long ms)
{
	char url[4096];

	call->handle = memory_need(curl_easy_init());
	call->answer = NULL;
	call->length = 0;
	call->was_sent = false;
	snprintf(url, sizeof(url), "%s%s", address, path);
	curl_easy_setopt(call->handle, CURLOPT_URL, url);
	curl_easy_setopt(call->handle, CURLOPT_PATH_AS_IS, 1L);
	set_body(call->handle, method, body);
	set_headers(call, header);
	set_security(call->handle);
	set_callbacks(call);
	set_limits(call, ms);
	curl_multi_add_handle(pools[call->sort].multi, call->handle);
}

void peer_cancel(struct peer_call *call)
{
	release(call);
	free(call->answer);
	call->answer = NULL;
}

/* Beginning */

static void open_pool(struct pool *pool, long connections)
{
	pool->due.ready = be_due;
	pool->multi = memory_need(curl_multi_init());
	curl_multi_setopt(pool->multi, CURLMOPT_SOCKETFUNCTION, set_socket);
	curl_multi_setopt(pool->multi, CURLMOPT_SOCKETDATA, pool);
	curl_multi_setopt(pool->multi, CURLMOPT_TIMERFUNCTION, set_timer);
	curl_multi_setopt(pool->multi, CURLMOPT_TIMERDATA, pool);
	curl_multi_setopt(pool->multi, CURLMOPT_MAX_HOST_CONNECTIONS, connections);
}

/* The host of a URL, without the brackets of an IPv6 address */
static void read_host(const char *address, char *host, size_t size)
{
	const char *from = strstr(address, "://");
	size_t length;

	from = from ? from + 3 : "";
	from += *from == '[';
	length = from > address && from[-1] == '[' ? strcspn(from, "]") : strcspn(from, ":/");
	snprintf(host, size, "%.*s", (int)length, from);
}

bool peer_is_safe(const char *address)
{
	struct in6_addr in6;
	struct in_addr in;
	char host[64];

	if (settings.certificate)
		return !strncmp(address, "https://", 8);
	read_host(address, host, sizeof(host));
	if (inet_pton(AF_INET, host, &in) == 1)
		return ntohl(in.s_addr) >> 24 == 127;
	return inet_pton(AF_INET6, host, &in6) == 1 && IN6_IS_ADDR_LOOPBACK(&in6);
}

static int check_address(void)
{
	char address[PEER_ADDRESS + 1];

	peer_own_address(address, sizeof(address));
	if (peer_is_safe(address))
		return 0;
	say(LOG_ERR, "configuration: without TLS advertise is for loopback addresses only");
	return -EINVAL;
}

int peer_begin(void)
{
	char token[CLIENT_TOKEN_MOST + 1];
	int error = check_address() ?: client_read_token(settings.peer_token_file, token);

	if (error)
		return error;
	snprintf(authorization, sizeof(authorization), "Authorization: Bearer %s", token);
	explicit_bzero(token, sizeof(token));
	if (curl_global_init(CURL_GLOBAL_DEFAULT))
		return -EIO;
	open_pool(&pools[PEER_REQUEST], REQUESTS);
	open_pool(&pools[PEER_POLL], POLLS);
	return 0;
}

void peer_end(void)
{
	for (size_t i = 0; i < 2; i++)
		curl_multi_cleanup(pools[i].multi);
	curl_global_cleanup();
}

void peer_own_address(char *text, size_t size)
{
	snprintf(text, size, "%s://%s", settings.certificate ? "https" : "http",
		 settings.advertise ?: settings.listen);
}
