// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "consensus/etcd/grpc.h"
#include "consensus/once.h"
#include "memory.h"

/* In front of each message: whether it is compressed, and its length */
#define GRPC_PREFIX	5

/* A longer message is nothing that this daemon asked for. */
#define GRPC_MOST	(256U << 20)

#define GRPC_CONNECT_MS	1000L
#define GRPC_EVENTS	16

struct grpc {
	CURLM *multi;
	int epoll;
	int timer;
	const char *ca, *certificate, *key;
	struct curl_slist *headers;
};

/* Ending */

static void grpc_release(struct grpc_call *call)
{
	curl_multi_remove_handle(call->grpc->multi, call->handle);
	curl_easy_cleanup(call->handle);
	free(call->message.bytes);
	free(call->answer);
	call->handle = NULL;
	call->message = (struct protobuf) { 0 };
	call->answer = NULL;
}

void grpc_cancel(struct grpc_call *call)
{
	if (call->handle)
		grpc_release(call);
}

static void grpc_end(struct grpc_call *call, CURLcode code)
{
	/* libcurl 7.88 may drop what comes behind a long message; a refusal has no message. */
	if (!call->has_status && code == CURLE_OK && call->has_message)
		call->status = GRPC_OK;
	else if (!call->has_status)
		call->status = call->was_sent ? GRPC_LOST : GRPC_NOT_SENT;
	if (!call->has_status && code != CURLE_OK)
		snprintf(call->text, sizeof(call->text), "%s", curl_easy_strerror(code));
	grpc_release(call);
	call->done(call);
}

static void grpc_look_for_ended(struct grpc *grpc)
{
	struct grpc_call *call;
	const CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(grpc->multi, &left))) {
		CURLcode code = message->data.result;

		curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&call);
		grpc_end(call, code);
	}
}

/* libcurl's sockets and timer */

static int grpc_set_socket(CURL *handle, curl_socket_t fd, int what, void *data, void *of_socket)
{
	struct grpc *grpc = data;
	struct epoll_event event = {
		.events = (what & CURL_POLL_IN ? EPOLLIN : 0U) |
			  (what & CURL_POLL_OUT ? EPOLLOUT : 0U),
		.data.fd = fd,
	};

	if (what == CURL_POLL_REMOVE)
		epoll_ctl(grpc->epoll, EPOLL_CTL_DEL, fd, NULL);
	else if (epoll_ctl(grpc->epoll, EPOLL_CTL_MOD, fd, &event) && errno == ENOENT)
		return epoll_ctl(grpc->epoll, EPOLL_CTL_ADD, fd, &event);
	return 0;
}

/* 0 would stop the timer. */
static int grpc_set_timer(CURLM *multi, long ms, void *data)
{
	struct itimerspec when = { .it_value = { ms / 1000, ms % 1000 * 1000000 + 1 } };
	struct grpc *grpc = data;

	if (ms < 0)
		when.it_value = (struct timespec) { 0 };
	return timerfd_settime(grpc->timer, 0, &when, NULL);
}

void grpc_reap(struct grpc *grpc)
{
	struct epoll_event events[GRPC_EVENTS];
	int count = epoll_wait(grpc->epoll, events, GRPC_EVENTS, 0), running;
	uint64_t expirations;

	for (int i = 0; i < count; i++) {
		int fd = events[i].data.fd;

		if (fd == grpc->timer &&
		    read(fd, &expirations, sizeof(expirations)) != sizeof(expirations))
			continue;
		curl_multi_socket_action(grpc->multi, fd == grpc->timer ? CURL_SOCKET_TIMEOUT : fd,
					 0, &running);
	}
	grpc_look_for_ended(grpc);
}

int grpc_fd(const struct grpc *grpc)
{
	return grpc->epoll;
}

/* One call */

static size_t grpc_read(char *to, size_t size, size_t count, void *owner)
{
	struct grpc_call *call = owner;
	size_t length = call->message.size - call->sent;

	if (!length && !call->ms) {
		call->is_paused = true;
		return CURL_READFUNC_PAUSE;
	}
	if (length > size * count)
		length = size * count;
	memcpy(to, call->message.bytes + call->sent, length);
	call->sent += length;
	return length;
}

/* The status comes behind the messages, or instead of them. */
static size_t grpc_take_header(char *line, size_t size, size_t count, void *owner)
{
	static const char status[] = "grpc-status:", text[] = "grpc-message:";
	size_t length = size * count, end = length;
	struct grpc_call *call = owner;

	while (end && (line[end - 1] == '\n' || line[end - 1] == '\r'))
		end--;
	if (end > strlen(status) && !strncasecmp(line, status, strlen(status))) {
		call->has_status = true;
		call->status = 0;
		for (size_t i = strlen(status); i < end; i++)
			if (line[i] >= '0' && line[i] <= '9' && call->status < 1000)
				call->status = 10 * call->status + line[i] - '0';
	} else if (end > strlen(text) && !strncasecmp(line, text, strlen(text))) {
		snprintf(call->text, sizeof(call->text), "%.*s", (int)(end - strlen(text)),
			 line + strlen(text));
	}
	return length;
}

static uint32_t grpc_length(const unsigned char *prefix)
{
	return (uint32_t)prefix[1] << 24 | (uint32_t)prefix[2] << 16 | (uint32_t)prefix[3] << 8 |
	       prefix[4];
}

static size_t grpc_take_answer(char *data, size_t size, size_t count, void *owner)
{
	struct grpc_call *call = owner;
	size_t length = size * count, at = 0;

	if (call->length + length > call->room) {
		call->room = 2 * (call->length + length);
		call->answer = memory_need(realloc(call->answer, call->room));
	}
	memcpy(call->answer + call->length, data, length);
	call->length += length;
	while (call->length - at >= GRPC_PREFIX) {
		uint32_t whole = grpc_length(call->answer + at);

		if (call->answer[at] || whole > GRPC_MOST)
			return 0;
		if (call->length - at < GRPC_PREFIX + whole)
			break;
		call->has_message = true;
		call->receive(call, call->answer + at + GRPC_PREFIX, whole);
		at += GRPC_PREFIX + whole;
	}
	memmove(call->answer, call->answer + at, call->length - at);
	call->length -= at;
	return length;
}

/* Room for the prefix is made when all else is there. */
static void grpc_prefix(struct protobuf *message)
{
	struct protobuf whole = { .room = message->size + GRPC_PREFIX };

	whole.size = whole.room;
	whole.bytes = memory_get(whole.room, 1);
	for (size_t i = 1; i < GRPC_PREFIX; i++)
		whole.bytes[i] = (unsigned char)(message->size >> 8 * (GRPC_PREFIX - 1 - i));
	if (message->size)
		memcpy(whole.bytes + GRPC_PREFIX, message->bytes, message->size);
	free(message->bytes);
	*message = whole;
}

void grpc_begin(struct grpc *grpc, struct grpc_call *call)
{
	CURL *handle = memory_need(curl_easy_init());
	char url[512];

	grpc_prefix(&call->message);
	call->grpc = grpc;
	call->handle = handle;
	call->sent = 0;
	call->is_paused = false;
	call->was_sent = false;
	call->has_status = false;
	call->has_message = false;
	call->status = GRPC_LOST;
	*call->text = 0;
	call->answer = NULL;
	call->length = 0;
	call->room = 0;
	snprintf(url, sizeof(url), "%s%s", call->server, call->method);
	curl_easy_setopt(handle, CURLOPT_URL, url);
	curl_easy_setopt(handle, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS);
	curl_easy_setopt(handle, CURLOPT_PIPEWAIT, 1L);
	curl_easy_setopt(handle, CURLOPT_HTTPHEADER, grpc->headers);
	curl_easy_setopt(handle, CURLOPT_POST, 1L);
	curl_easy_setopt(handle, CURLOPT_READFUNCTION, grpc_read);
	curl_easy_setopt(handle, CURLOPT_READDATA, call);
	if (call->ms)
		curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE,
				 (curl_off_t)call->message.size);
	curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, call->ms);
	curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS, GRPC_CONNECT_MS);
	curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "https");
	curl_easy_setopt(handle, CURLOPT_PROXY, "");
	curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(handle, CURLOPT_TCP_NODELAY, 1L);
	if (grpc->ca)
		curl_easy_setopt(handle, CURLOPT_CAINFO, grpc->ca);
	if (grpc->certificate)
		curl_easy_setopt(handle, CURLOPT_SSLCERT, grpc->certificate);
	if (grpc->key)
		curl_easy_setopt(handle, CURLOPT_SSLKEY, grpc->key);
	once_set(handle, &call->was_sent);
	curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, grpc_take_header);
	curl_easy_setopt(handle, CURLOPT_HEADERDATA, call);
	curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, grpc_take_answer);
	curl_easy_setopt(handle, CURLOPT_WRITEDATA, call);
	curl_easy_setopt(handle, CURLOPT_PRIVATE, call);
	curl_multi_add_handle(grpc->multi, handle);
}

void grpc_send(struct grpc_call *call, struct protobuf *message)
{
	size_t left = call->message.size - call->sent;

	grpc_prefix(message);
	memmove(call->message.bytes, call->message.bytes + call->sent, left);
	call->message.bytes = memory_need(realloc(call->message.bytes, left + message->size));
	memcpy(call->message.bytes + left, message->bytes, message->size);
	call->message.size = left + message->size;
	call->message.room = call->message.size;
	call->sent = 0;
	free(message->bytes);
	*message = (struct protobuf) { 0 };
	if (call->is_paused) {
		call->is_paused = false;
		curl_easy_pause(call->handle, CURLPAUSE_CONT);
	}
}

/* Beginning */

static bool grpc_open(struct grpc *grpc)
{
	struct epoll_event event = { .events = EPOLLIN };

	grpc->epoll = epoll_create1(EPOLL_CLOEXEC);
	grpc->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	event.data.fd = grpc->timer;
	return grpc->epoll >= 0 && grpc->timer >= 0 &&
	       !epoll_ctl(grpc->epoll, EPOLL_CTL_ADD, grpc->timer, &event);
}

/* A watch without a leader would hear nothing: "hasleader" ends it. */
static const char *const grpc_headers[] = {
	"Content-Type: application/grpc", "TE: trailers", "hasleader: true", "Expect:",
};

struct grpc *grpc_new(const char *ca, const char *certificate, const char *key)
{
	struct grpc *grpc = memory_get(1, sizeof(*grpc));

	if (curl_global_init(CURL_GLOBAL_DEFAULT) || !grpc_open(grpc)) {
		free(grpc);
		return NULL;
	}
	grpc->ca = ca;
	grpc->certificate = certificate;
	grpc->key = key;
	for (size_t i = 0; i < sizeof(grpc_headers) / sizeof(*grpc_headers); i++)
		grpc->headers = memory_need(curl_slist_append(grpc->headers, grpc_headers[i]));
	grpc->multi = memory_need(curl_multi_init());
	curl_multi_setopt(grpc->multi, CURLMOPT_SOCKETFUNCTION, grpc_set_socket);
	curl_multi_setopt(grpc->multi, CURLMOPT_SOCKETDATA, grpc);
	curl_multi_setopt(grpc->multi, CURLMOPT_TIMERFUNCTION, grpc_set_timer);
	curl_multi_setopt(grpc->multi, CURLMOPT_TIMERDATA, grpc);
	return grpc;
}

void grpc_free(struct grpc *grpc)
{
	curl_multi_cleanup(grpc->multi);
	curl_slist_free_all(grpc->headers);
	close(grpc->timer);
	close(grpc->epoll);
	free(grpc);
	curl_global_cleanup();
}
