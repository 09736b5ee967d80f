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
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <gnutls/abstract.h>
#include <utlist.h>

#include "http/answer.h"
#include "http/auth.h"
#include "http/listener.h"
#include "http/route.h"
#include "memory.h"
#include "say.h"

/* Bytes of a connection: the header has to fit into half of it */
#define LISTENER_MEMORY	16384

/* Connections beyond the limit, which get an answer that says so */
#define LISTENER_SPARE	16

/* While requests are held, a client that has not sent all of its header waits for so long. */
#define LISTENER_HELD_MS	1

/* Nothing older is safe. */
#define LISTENER_TLS	"NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

struct listener {
	struct listener *next;
	struct loop_source source;
	struct service *service;
	struct MHD_Daemon *daemon;
	bool is_by_tcp;
	bool is_plain;
	int fd;				/* -1: it takes no more connections */
};

/* A reload replaces it; connections that have it go on. */
struct certificate {
	gnutls_certificate_credentials_t credentials;
	size_t users;			/* connections, and the service */
};

static const char listener_too_large[] = "the request is too large";
static const char listener_too_many[] = "there are too many large requests";

/* A request */

/* libmicrohttpd can't answer in the midst of a body: without TLS the answer goes out here. */
static enum MHD_Result listener_cut_off(struct request *request)
{
	bool is_large = request->is_too_large;
	unsigned int status = is_large ? MHD_HTTP_CONTENT_TOO_LARGE : MHD_HTTP_SERVICE_UNAVAILABLE;
	char body[128], text[384];
	int length;

	length = snprintf(body, sizeof(body), "{\"status\":%u,\"error\":\"%s\"}\n", status,
			  is_large ? listener_too_large : listener_too_many);
	length = snprintf(text, sizeof(text),
			  "HTTP/1.1 %u %s\r\nContent-Type: application/json\r\n"
			  "Connection: close\r\nContent-Length: %d\r\n\r\n%s",
			  status, is_large ? "Content Too Large" :
			  "Service Unavailable\r\nRetry-After: 1", length, body);
	if (request->client->is_plain)
		send(request->client->fd, text, (size_t)length, MSG_NOSIGNAL | MSG_DONTWAIT);
	request->service->metrics.answers[status / 100]++;
	shutdown(request->client->fd, SHUT_WR);
	return MHD_NO;
}

/* The header is there. */
static void listener_begin_request(struct request *request)
{
	const struct settings *settings = &request->service->settings;
	const char *length = request_header(request, "Content-Length");

	if (auth_refuse(request))
		return;
	if (length && strtoull(length, NULL, 10) > settings->body)
		answer_error(request, MHD_HTTP_CONTENT_TOO_LARGE, listener_too_large);
	else if (request->service->bodies > settings->bodies)
		answer_error(request, MHD_HTTP_SERVICE_UNAVAILABLE, listener_too_many);
}

static enum MHD_Result listener_go_on(const struct listener *listener,
				      struct MHD_Connection *connection, const char *path,
				      const char *method, const char *upload, size_t *size,
				      void **context)
{
	const union MHD_ConnectionInfo *info;
	struct request *request = *context;

	listener->service->got_further |= !request || !request->is_held;
	if (!request) {
		info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
		if (!info || !info->socket_context)
			return MHD_NO;
		request = request_new(listener->service, info->socket_context, connection, method,
				      path);
		*context = request;
		listener_begin_request(request);
	} else if (*size) {
		if (!request_append(request, upload, *size))
			return listener_cut_off(request);
		*size = 0;
		return MHD_YES;
	} else if (!request->is_routed) {
		request->is_routed = true;
		if (request->service->is_stopping)
			answer_error(request, request->is_by_node ? MHD_HTTP_MISDIRECTED_REQUEST :
				     MHD_HTTP_SERVICE_UNAVAILABLE,
				     "hwheeld is stopping: nothing has changed");
		else
			route(request);
	}
	return request->response ? answer_send(request) : MHD_YES;
}

/*
 * Comes when the header is there, for each piece of the body, when all of that is there, and then
 * again when there is an answer.
 */
static enum MHD_Result listener_handle(void *data, struct MHD_Connection *connection,
				       const char *path, const char *method, const char *version,
				       const char *upload, size_t *size, void **context)
{
	bool may_fail = memory_may_fail(false);
	enum MHD_Result result;

	result = listener_go_on(data, connection, path, method, upload, size, context);
	memory_may_fail(may_fail);
	return result;
}

/* The client of a held request has hung up if it still waits. */
static void listener_end_request(void *data, struct MHD_Connection *connection, void **context,
				 enum MHD_RequestTerminationCode why)
{
	struct request *request = *context;
	bool may_fail;

	if (!request)
		return;
	may_fail = memory_may_fail(false);
	request->service->got_further = true;
	*context = NULL;
	if (request->give_up)
		request->give_up(request, REQUEST_LATE);
	request_limit_time(request->client, request->service->settings.request_time);
	request_free(request);
	memory_may_fail(may_fail);
}

/* A connection */

static void listener_put_certificate(struct certificate *certificate)
{
	if (!certificate || --certificate->users)
		return;
	gnutls_certificate_free_credentials(certificate->credentials);
	free(certificate);
}

/* libmicrohttpd ends the session later, which does not look at its credentials then. */
static void listener_end_connection(struct client *client)
{
	struct certificate *certificate = client->certificate;

	client_free(client);
	listener_put_certificate(certificate);
}

static void listener_connection_changed(void *data, struct MHD_Connection *connection,
					void **context, enum MHD_ConnectionNotificationCode what)
{
	const struct listener *listener = data;
	struct service *service = listener->service;
	const union MHD_ConnectionInfo *info;
	struct client *client;
	bool may_fail;

	service->got_further = true;
	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		if (*context)
			listener_end_connection(*context);
		*context = NULL;
		return;
	}
	info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	if (!info)
		return;
	may_fail = memory_may_fail(false);
	client = client_new(service, info->connect_fd, listener->is_by_tcp, listener->is_plain);
	*context = client;
	info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
	if (info && !listener->is_plain) {
		client->certificate = service->certificate;
		client->certificate->users++;
		gnutls_credentials_set(info->tls_session, GNUTLS_CRD_CERTIFICATE,
				       client->certificate->credentials);
	}
	request_limit_time(client, service->settings.request_time);
	memory_may_fail(may_fail);
}

/* Texts stay as they came: a decoded zero would end them. */
static size_t listener_keep(void *data, struct MHD_Connection *connection, char *text)
{
	return strlen(text);
}

/* What libmicrohttpd says may have what a client has sent. */
static void listener_ignore(void *data, const char *format, va_list arguments)
{
}

/* Starting */

/* Each connection gets the service's one as it begins. */
static int listener_has_no_certificate(gnutls_session_t session, const gnutls_datum_t *authorities,
				       int count, const gnutls_pk_algorithm_t *algorithms,
				       int algorithms_count, gnutls_pcert_st **certificates,
				       unsigned int *certificates_count, gnutls_privkey_t *key)
{
	return -1;
}

static int listener_start(struct listener *listener)
{
	const union MHD_DaemonInfo *info;
	intptr_t most = (intptr_t)listener->service->settings.connections + LISTENER_SPARE;
	struct MHD_OptionItem options[] = {
		{ MHD_OPTION_EXTERNAL_LOGGER, (intptr_t)listener_ignore, NULL },
		{ MHD_OPTION_LISTEN_SOCKET, listener->fd, NULL },
		{ MHD_OPTION_CONNECTION_LIMIT, most, NULL },
		{ MHD_OPTION_CONNECTION_MEMORY_LIMIT, LISTENER_MEMORY, NULL },
		{ MHD_OPTION_CONNECTION_TIMEOUT, 0, NULL },
		{ MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)listener_end_request, NULL },
		{ MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)listener_connection_changed, listener },
		{ MHD_OPTION_UNESCAPE_CALLBACK, (intptr_t)listener_keep, NULL },
		{ MHD_OPTION_STRICT_FOR_CLIENT, 1, NULL },
		{ listener->is_plain ? MHD_OPTION_END : MHD_OPTION_HTTPS_CERT_CALLBACK, 0,
		  (void *)listener_has_no_certificate },
		{ MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)LISTENER_TLS },
		{ MHD_OPTION_END, 0, NULL },
	};
	unsigned int flags = listener->is_plain ? 0 : MHD_USE_TLS;

	flags |= MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
	listener->daemon = MHD_start_daemon(flags, 0, NULL, NULL, listener_handle, listener,
					    MHD_OPTION_ARRAY, options, MHD_OPTION_END);
	info = listener->daemon ? MHD_get_daemon_info(listener->daemon,
						      MHD_DAEMON_INFO_EPOLL_FD) : NULL;
	if (!info) {
		say(LOG_ERR, "the HTTP server cannot be started");
		return -EIO;
	}
	/* listener_run() looks at all of them. */
	return loop_add(&listener->service->loop, info->epoll_fd, EPOLLIN, &listener->source, NULL,
			NULL);
}

static struct listener *listener_new(struct service *service, int family, bool is_by_tcp,
				     bool is_plain)
{
	struct listener *listener = memory_get(1, sizeof(*listener));

	listener->service = service;
	listener->is_by_tcp = is_by_tcp;
	listener->is_plain = is_plain;
	listener->fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	LL_APPEND(service->listeners, listener);
	return listener;
}

/* A socket that nobody listens on is left over. */
static bool listener_is_in_use(const struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool used = !connect(fd, (const struct sockaddr *)address, sizeof(*address));

	close(fd);
	return used;
}

static int listener_open_socket(struct service *service)
{
	struct listener *listener = listener_new(service, AF_UNIX, false, true);
	const char *path = service->settings.socket;
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int error, fd = listener->fd;
	mode_t before;

	if (strlen(path) >= sizeof(address.sun_path)) {
		say(LOG_ERR, "configuration: the path of socket is too long");
		return -ENAMETOOLONG;
	}
	memcpy(address.sun_path, path, strlen(path) + 1);
	if (listener_is_in_use(&address)) {
		say(LOG_ERR, "%s: another process listens there", path);
		return -EADDRINUSE;
	}
	unlink(path);
	before = umask(0177);
	error = fd < 0 ? -1 : bind(fd, (const struct sockaddr *)&address, sizeof(address));
	umask(before);
	if (error || (service->group != (gid_t)-1 && chown(path, (uid_t)-1, service->group)) ||
	    chmod(path, (mode_t)service->settings.socket_mode) || listen(fd, 1024)) {
		say(LOG_ERR, "%s: %m", path);
		return -EIO;
	}
	return listener_start(listener);
}

int listener_read_certificate(struct service *service)
{
	const struct settings *settings = &service->settings;
	gnutls_certificate_credentials_t credentials;
	int error;

	if (!settings->certificate)
		return 0;
	error = gnutls_certificate_allocate_credentials(&credentials);
	if (error < 0)
		return -ENOMEM;
	error = gnutls_certificate_set_x509_key_file(credentials, settings->certificate,
						     settings->certificate_key,
						     GNUTLS_X509_FMT_PEM);
	if (error < 0) {
		say(LOG_ERR, "%s: %s", settings->certificate, gnutls_strerror(error));
		gnutls_certificate_free_credentials(credentials);
		return -EINVAL;
	}
	listener_put_certificate(service->certificate);
	service->certificate = memory_get(1, sizeof(*service->certificate));
	service->certificate->credentials = credentials;
	service->certificate->users = 1;
	return 0;
}

static bool listener_is_loopback(const struct sockaddr *address)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)address;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)address;

	if (address->sa_family == AF_INET)
		return ntohl(in->sin_addr.s_addr) >> 24 == 127;
	return address->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
}

static int listener_bind_tcp(struct service *service, const struct addrinfo *address)
{
	static const int on = 1;
	bool is_plain = !service->settings.certificate;
	struct listener *listener;

	if (is_plain && !listener_is_loopback(address->ai_addr)) {
		say(LOG_ERR, "configuration: without TLS listen is for loopback addresses only");
		return -EINVAL;
	}
	listener = listener_new(service, address->ai_family, true, is_plain);
	setsockopt(listener->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (listener->fd < 0 || bind(listener->fd, address->ai_addr, address->ai_addrlen) ||
	    listen(listener->fd, 1024)) {
		say(LOG_ERR, "listen: %m");
		return -EIO;
	}
	return (is_plain ? 0 : listener_read_certificate(service)) ?: listener_start(listener);
}

/* ADDRESS:PORT, an IPv6 address in brackets or not; no names, which would need a server */
static int listener_open_tcp(struct service *service)
{
	static const struct addrinfo hints = {
		.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
	};
	char *host = memory_copy(service->settings.listen, strlen(service->settings.listen));
	char *port = strrchr(host, ':'), *name = host;
	struct addrinfo *address = NULL;
	int error = -EINVAL;

	if (port)
		*port++ = 0;
	if (port && *host == '[' && port - host > 2) {
		name++;
		port[-2] = 0;
	}
	if (!port || getaddrinfo(name, port, &hints, &address))
		say(LOG_ERR, "configuration: listen is ADDRESS:PORT");
	else
		error = listener_bind_tcp(service, address);
	if (address)
		freeaddrinfo(address);
	free(host);
	return error;
}

int listener_begin(struct service *service)
{
	const struct settings *settings = &service->settings;

	return (settings->socket ? listener_open_socket(service) : 0) ?:
	       (settings->listen ? listener_open_tcp(service) : 0);
}

void listener_run(struct service *service)
{
	struct listener *listener;

	service->got_further = false;
	memory_may_fail(true);
	LL_FOREACH(service->listeners, listener)
		MHD_run(listener->daemon);
	memory_may_fail(false);
}

/* libmicrohttpd always has more to do while a request is held. */
int listener_wait_ms(struct service *service)
{
	bool has_more = service->was_resumed;
	MHD_UNSIGNED_LONG_LONG ms;
	struct listener *listener;

	service->was_resumed = false;
	if (has_more)
		return 0;
	LL_FOREACH(service->listeners, listener)
		has_more |= MHD_get_timeout(listener->daemon, &ms) == MHD_YES && !ms;
	if (!has_more)
		return -1;
	return service->held && !service->got_further ? LISTENER_HELD_MS : 0;
}

void listener_quiesce(struct service *service)
{
	struct listener *listener;

	LL_FOREACH(service->listeners, listener)
		listener->fd = MHD_quiesce_daemon(listener->daemon);
}

void listener_end(struct service *service)
{
	struct listener *listener, *next;

	LL_FOREACH_SAFE(service->listeners, listener, next) {
		MHD_stop_daemon(listener->daemon);
		if (!listener->is_by_tcp)
			unlink(service->settings.socket);
		if (listener->fd >= 0)
			close(listener->fd);
		free(listener);
	}
	service->listeners = NULL;
}
