// SPDX-License-Identifier: GPL-2.0-only
/*
 * libmicrohttpd reads requests and writes answers whenever the loop says so. It does not time
 * anything: clients have a limit of their own, which also bounds one that sends a byte at a time.
 */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "http/client.h"
#include "http/exchange.h"
#include "http/listener.h"
#include "http/metrics.h"
#include "http/route.h"
#include "loop.h"
#include "memory.h"
#include "queue/change.h"
#include "say.h"
#include "settings.h"

/* Bytes of a connection: the header has to fit into half of it */
#define CONNECTION_MEMORY	16384

/* Connections beyond the limit, that are told so */
#define SPARE	16

/* While requests are held, a client that has not sent all of its header waits for so long. */
#define HELD_MS	1

struct listener {
	struct loop_source source;
	struct MHD_Daemon *daemon;
	bool by_tcp;
	bool plain;
	int fd;
};

static struct listener on_socket = { .plain = true, .fd = -1 };
static struct listener on_tcp = { .by_tcp = true, .fd = -1 };

/* Has the last run got any further than to look at requests that are held? */
static bool got_further;

/* A request */

static const char too_large[] = "the request is too large";
static const char too_many[] = "there are too many large requests";

/* libmicrohttpd can't answer in the midst of a body: without TLS the answer goes out here. */
static enum MHD_Result cut_off(struct exchange *exchange)
{
	const char *reason = exchange->too_large ? "Content Too Large" : "Service Unavailable";
	unsigned int status = exchange->too_large ? MHD_HTTP_CONTENT_TOO_LARGE :
				MHD_HTTP_SERVICE_UNAVAILABLE;
	char body[128], text[384];
	int length;

	length = snprintf(body, sizeof(body), "{\"status\":%u,\"error\":\"%s\"}\n", status,
			  exchange->too_large ? too_large : too_many);
	length = snprintf(text, sizeof(text),
			  "HTTP/1.1 %u %s\r\nContent-Type: application/json\r\n"
			  "Connection: close\r\nContent-Length: %d\r\n\r\n%s",
			  status, reason, length, body);
	if (exchange->client->plain)
		send(exchange->client->fd, text, (size_t)length, MSG_NOSIGNAL | MSG_DONTWAIT);
	metrics_count_answer(status);
	shutdown(exchange->client->fd, SHUT_WR);
	return MHD_NO;
}

static bool is_too_large(const struct exchange *exchange)
{
	const char *length = exchange_header(exchange, "Content-Length");

	return length && strtoull(length, NULL, 10) > settings.body;
}

/* The header is there. */
static enum MHD_Result begin(struct exchange *exchange)
{
	if (client_refuse(exchange->client, exchange))
		return exchange_send(exchange);
	if (is_too_large(exchange))
		exchange_error(exchange, MHD_HTTP_CONTENT_TOO_LARGE, too_large);
	else if (exchange_bytes() > settings.bodies)
		exchange_error(exchange, MHD_HTTP_SERVICE_UNAVAILABLE, too_many);
	return exchange->response ? exchange_send(exchange) : MHD_YES;
}

static enum MHD_Result complete(struct exchange *exchange)
{
	if (!exchange->routed) {
		exchange->routed = true;
		if (exchange_is_stopping())
			exchange_error(exchange, MHD_HTTP_SERVICE_UNAVAILABLE,
				       "hwheeld is stopping");
		else
			route(exchange);
	}
	return exchange->response ? exchange_send(exchange) : MHD_YES;
}

static enum MHD_Result handle(void *data, struct MHD_Connection *connection, const char *path,
			      const char *method, const char *version, const char *upload,
			      size_t *size, void **context)
{
	const union MHD_ConnectionInfo *info;
	struct exchange *exchange = *context;
	struct client *client;

	(void)data;
	(void)version;
	got_further |= !exchange || !exchange->held;
	if (!exchange) {
		info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
		client = info ? info->socket_context : NULL;
		if (!client)
			return MHD_NO;
		exchange = exchange_new(connection, client, method, path);
		client->exchange = exchange;
		*context = exchange;
		return begin(exchange);
	}
	if (!*size)
		return complete(exchange);
	if (!exchange_append(exchange, upload, *size))
		return cut_off(exchange);
	*size = 0;
	return MHD_YES;
}

static void end_of_request(void *data, struct MHD_Connection *connection, void **context,
			   enum MHD_RequestTerminationCode why)
{
	struct exchange *exchange = *context;

	(void)data;
	(void)connection;
	(void)why;
	if (!exchange)
		return;
	got_further = true;
	*context = NULL;
	/* The client of a held request has hung up. */
	if (exchange->change)
		change_give_up(exchange);
	exchange->client->exchange = NULL;
	client_limit_time(exchange->client);
	exchange_free(exchange);
}

/* A connection */

static void connection_changed(void *data, struct MHD_Connection *connection, void **context,
			       enum MHD_ConnectionNotificationCode what)
{
	const struct listener *listener = data;
	const union MHD_ConnectionInfo *info;

	got_further = true;
	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		if (*context)
			client_free(*context);
		*context = NULL;
		return;
	}
	info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	if (info)
		*context = client_new(info->connect_fd, listener->by_tcp, listener->plain);
}

/* Texts stay as they came: a decoded zero would end them. */
static size_t keep(void *data, struct MHD_Connection *connection, char *text)
{
	(void)data;
	(void)connection;
	return strlen(text);
}

/* What libmicrohttpd says may have what a client has sent. */
static void ignore(void *data, const char *format, va_list arguments)
{
	(void)data;
	(void)format;
	(void)arguments;
}

static void ready(struct loop_source *source)
{
	(void)source;
}

/* Starting */

static int start(struct listener *listener, unsigned int flags, const char *key,
		 const char *certificate)
{
	const union MHD_DaemonInfo *info;
	struct MHD_OptionItem options[] = {
		{ MHD_OPTION_EXTERNAL_LOGGER, (intptr_t)ignore, NULL },
		{ MHD_OPTION_LISTEN_SOCKET, listener->fd, NULL },
		{ MHD_OPTION_CONNECTION_LIMIT, (intptr_t)settings.connections + SPARE, NULL },
		{ MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_MEMORY, NULL },
		{ MHD_OPTION_CONNECTION_TIMEOUT, 0, NULL },
		{ MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)end_of_request, NULL },
		{ MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)connection_changed, listener },
		{ MHD_OPTION_UNESCAPE_CALLBACK, (intptr_t)keep, NULL },
		{ MHD_OPTION_STRICT_FOR_CLIENT, 1, NULL },
		{ key ? MHD_OPTION_HTTPS_MEM_KEY : MHD_OPTION_END, 0, (void *)key },
		{ MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)certificate },
		{ MHD_OPTION_END, 0, NULL },
	};

	flags |= MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
	listener->daemon = MHD_start_daemon(flags, 0, NULL, NULL, handle, listener,
					    MHD_OPTION_ARRAY, options, MHD_OPTION_END);
	info = listener->daemon ? MHD_get_daemon_info(listener->daemon,
						      MHD_DAEMON_INFO_EPOLL_FD) : NULL;
	if (!info) {
		say(LOG_ERR, "the HTTP server cannot be started");
		return -EIO;
	}
	listener->source.ready = ready;
	return loop_add(info->epoll_fd, EPOLLIN, &listener->source);
}

static int fail(const char *what)
{
	int error = -errno;

	say(LOG_ERR, "%s: %m", what);
	return error;
}

/* A socket that nobody listens on is left over. */
static bool is_in_use(const struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool used = !connect(fd, (const struct sockaddr *)address, sizeof(*address));

	close(fd);
	return used;
}

static int open_to_group(const char *path)
{
	gid_t group = client_group();

	if (group != (gid_t)-1 && chown(path, (uid_t)-1, group))
		return fail(path);
	return chmod(path, (mode_t)settings.socket_mode) ? fail(path) : 0;
}

static int bind_socket(const struct sockaddr_un *address)
{
	mode_t before = umask(0177);
	int status;

	unlink(address->sun_path);
	status = bind(on_socket.fd, (const struct sockaddr *)address, sizeof(*address));
	umask(before);
	return status;
}

static int open_socket(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int error;

	if (strlen(settings.socket) >= sizeof(address.sun_path)) {
		say(LOG_ERR, "configuration: the path of socket is too long");
		return -ENAMETOOLONG;
	}
	memcpy(address.sun_path, settings.socket, strlen(settings.socket) + 1);
	if (is_in_use(&address)) {
		say(LOG_ERR, "%s: another process listens there", settings.socket);
		return -EADDRINUSE;
	}
	on_socket.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (on_socket.fd < 0 || bind_socket(&address))
		return fail(settings.socket);
	error = open_to_group(settings.socket);
	if (!error && listen(on_socket.fd, 1024))
		error = fail(settings.socket);
	return error ?: start(&on_socket, 0, NULL, NULL);
}

static bool is_loopback(const struct sockaddr *address)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)address;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)address;

	if (address->sa_family == AF_INET)
		return ntohl(in->sin_addr.s_addr) >> 24 == 127;
	return address->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
}

static char *read_file(const char *path)
{
	FILE *stream = fopen(path, "re");
	char *text = memory_get(1, 65536);

	if (!stream || !fread(text, 1, 65535, stream)) {
		fail(path);
		free(text);
		text = NULL;
	}
	if (stream)
		fclose(stream);
	return text;
}

static int start_tls(void)
{
	char *key = read_file(settings.certificate_key);
	char *certificate = key ? read_file(settings.certificate) : NULL;
	int error = certificate ? start(&on_tcp, MHD_USE_TLS, key, certificate) : -EIO;

	if (key)
		explicit_bzero(key, strlen(key));
	free(key);
	free(certificate);
	return error;
}

static int bind_tcp(const struct addrinfo *address)
{
	static const int on = 1;

	on_tcp.plain = !settings.certificate;
	if (on_tcp.plain && !is_loopback(address->ai_addr)) {
		say(LOG_ERR, "configuration: without TLS listen is for loopback addresses only");
		return -EINVAL;
	}
	on_tcp.fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (on_tcp.fd < 0)
		return fail("listen");
	setsockopt(on_tcp.fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(on_tcp.fd, address->ai_addr, address->ai_addrlen) || listen(on_tcp.fd, 1024))
		return fail("listen");
	return on_tcp.plain ? start(&on_tcp, 0, NULL, NULL) : start_tls();
}

/* ADDRESS:PORT, an IPv6 address in brackets or not; no names, which would need a server */
static int open_tcp(void)
{
	static const struct addrinfo hints = {
		.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
	};
	char *host = memory_copy(settings.listen, strlen(settings.listen));
	char *port = strrchr(host, ':');
	struct addrinfo *address = NULL;
	char *name = host;
	int error = -EINVAL;

	if (port) {
		*port++ = 0;
		if (*host == '[' && port - host > 2) {
			name++;
			port[-2] = 0;
		}
	}
	if (!port || getaddrinfo(name, port, &hints, &address))
		say(LOG_ERR, "configuration: listen is ADDRESS:PORT");
	else
		error = bind_tcp(address);
	if (address)
		freeaddrinfo(address);
	free(host);
	return error;
}

int listener_begin(void)
{
	int error = 0;

	if (settings.socket)
		error = open_socket();
	if (!error && settings.listen)
		error = open_tcp();
	return error;
}

static bool has_more(const struct listener *listener)
{
	MHD_UNSIGNED_LONG_LONG timeout;

	return listener->daemon &&
	       MHD_get_timeout(listener->daemon, &timeout) == MHD_YES && !timeout;
}

void listener_run(void)
{
	got_further = false;
	if (on_socket.daemon)
		MHD_run(on_socket.daemon);
	if (on_tcp.daemon)
		MHD_run(on_tcp.daemon);
}

/* libmicrohttpd always has more to do while a request is held. */
int listener_wait_ms(void)
{
	if (exchange_was_resumed())
		return 0;
	if (!has_more(&on_socket) && !has_more(&on_tcp))
		return -1;
	return exchange_held() && !got_further ? HELD_MS : 0;
}

static void quiesce(struct listener *listener)
{
	if (listener->daemon && listener->fd >= 0)
		listener->fd = MHD_quiesce_daemon(listener->daemon);
}

void listener_quiesce(void)
{
	quiesce(&on_socket);
	quiesce(&on_tcp);
}

static void end(struct listener *listener)
{
	if (listener->daemon)
		MHD_stop_daemon(listener->daemon);
	if (listener->fd >= 0)
		close(listener->fd);
}

void listener_end(void)
{
	end(&on_socket);
	end(&on_tcp);
	if (on_socket.daemon)
		unlink(settings.socket);
}
