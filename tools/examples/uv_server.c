// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/*
 * A libuv server with very many connections: it echoes what it reads, and closes each connection
 * that says nothing for too long. The timeouts are of a wheel inside the loop (uv_wheel.h), of
 * libuv itself, one uv_timer_t for each connection, or there are none, to compare what they cost.
 *
 *   uv_server PORT MILLISECONDS [wheel|libuv|none]
 */
#include <err.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "uv_wheel.h"

#define TICK_NS	10000000U

struct connection {
	uv_tcp_t tcp;
	union {
		struct hwheel_local_timeout timeout;
		uv_timer_t timer;
	};
};

/* The timeouts of connections */
struct timeouts {
	const char *name;
	void (*begin)(struct connection *connection);
	void (*set)(struct connection *connection);
	void (*end)(struct connection *connection);
};

static uv_loop_t *loop;
static uv_tcp_t listener;
static struct uv_wheel wheel;
static const struct timeouts *timeouts;
static uint64_t idle_ms;
static unsigned long open_now, most, hung_up, timed_out;

static void must(int result, const char *what)
{
	if (result < 0)
		errx(1, "%s: %s", what, uv_strerror(result));
}

static void tell(void)
{
	printf("open %lu, most %lu, hung up %lu, timed out %lu\n", open_now, most, hung_up,
	       timed_out);
}

static void on_closed(uv_handle_t *tcp)
{
	free(tcp);
	if (!--open_now)
		tell();
}

static void close_connection(struct connection *connection)
{
	uv_close((uv_handle_t *)&connection->tcp, on_closed);
}

static void time_out(struct connection *connection)
{
	timed_out++;
	timeouts->end(connection);
}

/* Of the wheel */

static void on_timeout(struct hwheel_local *of, struct hwheel_local_timeout *timeout)
{
	(void)of;
	time_out((void *)((char *)timeout - offsetof(struct connection, timeout)));
}

static void wheel_begin(struct connection *connection)
{
	hwheel_local_timeout_init(&connection->timeout, on_timeout);
}

static void wheel_set(struct connection *connection)
{
	uv_wheel_set(&wheel, &connection->timeout, idle_ms * 1000000);
}

static void wheel_end(struct connection *connection)
{
	hwheel_local_cancel(&connection->timeout);
	close_connection(connection);
}

/* Of libuv */

static struct connection *connection_of(uv_handle_t *timer)
{
	return (void *)((char *)timer - offsetof(struct connection, timer));
}

static void on_timer(uv_timer_t *timer)
{
	time_out(connection_of((uv_handle_t *)timer));
}

static void on_timer_closed(uv_handle_t *timer)
{
	close_connection(connection_of(timer));
}

static void timer_begin(struct connection *connection)
{
	must(uv_timer_init(loop, &connection->timer), "uv_timer_init");
}

static void timer_set(struct connection *connection)
{
	must(uv_timer_start(&connection->timer, on_timer, idle_ms, 0), "uv_timer_start");
}

/* The loop refers to both handles until it has called back for each. */
static void timer_end(struct connection *connection)
{
	uv_read_stop((uv_stream_t *)&connection->tcp);
	uv_close((uv_handle_t *)&connection->timer, on_timer_closed);
}

static void do_nothing(struct connection *connection)
{
	(void)connection;
}

static const struct timeouts kinds[] = {
	{ "wheel", wheel_begin, wheel_set, wheel_end },
	{ "libuv", timer_begin, timer_set, timer_end },
	{ "none", do_nothing, do_nothing, close_connection },
};

/* Connections */

/* What is read is echoed at once, so one buffer serves all. */
static void give_buffer(uv_handle_t *handle, size_t size, uv_buf_t *buffer)
{
	static char bytes[65536];

	(void)handle;
	(void)size;
	*buffer = uv_buf_init(bytes, sizeof(bytes));
}

/* A client that does not read its echoes is hung up. */
static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	struct connection *connection = (struct connection *)stream;
	uv_buf_t echo = uv_buf_init(buffer->base, size > 0 ? (unsigned int)size : 0);

	if (!size)
		return;
	if (size > 0 && uv_try_write(stream, &echo, 1) == size) {
		timeouts->set(connection);
		return;
	}
	hung_up++;
	timeouts->end(connection);
}

static void on_connection(uv_stream_t *from, int status)
{
	struct connection *connection = calloc(1, sizeof(*connection));

	must(status, "connection");
	if (!connection)
		err(1, "calloc");
	must(uv_tcp_init(loop, &connection->tcp), "uv_tcp_init");
	open_now++;
	if (open_now > most)
		most = open_now;
	if (uv_accept(from, (uv_stream_t *)&connection->tcp)) {
		close_connection(connection);
		return;
	}
	must(uv_read_start((uv_stream_t *)&connection->tcp, give_buffer, on_read), "uv_read_start");
	timeouts->begin(connection);
	timeouts->set(connection);
}

static void listen_on(int port)
{
	struct sockaddr_in address;

	must(uv_ip4_addr("127.0.0.1", port, &address), "uv_ip4_addr");
	must(uv_tcp_init(loop, &listener), "uv_tcp_init");
	must(uv_tcp_bind(&listener, (struct sockaddr *)&address, 0), "bind");
	must(uv_listen((uv_stream_t *)&listener, 4096, on_connection), "listen");
}

/* A limit of 1,024 descriptors is what programs begin with, not what they may have. */
static void allow_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		err(1, "getrlimit");
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		err(1, "setrlimit");
}

int main(int argc, char **argv)
{
	const char *kind = argc == 4 ? argv[3] : "wheel";

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(kind, kinds[i].name))
			timeouts = &kinds[i];
	if (argc < 3 || argc > 4 || !timeouts)
		errx(2, "usage: %s PORT MILLISECONDS [wheel|libuv|none]", argv[0]);
	setvbuf(stdout, NULL, _IOLBF, 0);
	idle_ms = strtoull(argv[2], NULL, 10);
	allow_descriptors();
	loop = uv_default_loop();
	uv_wheel_init(&wheel, loop, TICK_NS);
	listen_on(atoi(argv[1]));
	puts("ready");
	return uv_run(loop, UV_RUN_DEFAULT);
}
