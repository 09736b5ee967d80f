// SPDX-License-Identifier: GPL-2.0-only
#include <arpa/inet.h>
#include <errno.h>
#include <gnutls/gnutls.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "http/answer.h"
#include "http/auth.h"
#include "memory.h"
#include "say.h"

#define AUTH_TOKEN_LEAST	16
#define AUTH_TOKEN_MOST		256

/* Reads the secret in a file's first line, if there is a file. Returns 0 or a negative errno. */
static int auth_read_token(const char *path, char **token)
{
	FILE *stream = path ? fopen(path, "re") : NULL;

	if (!path)
		return 0;
	if (!stream) {
		say(LOG_ERR, "%s: %m", path);
		return -errno;
	}
	*token = memory_get(AUTH_TOKEN_MOST + 1, 1);
	(*token)[fread(*token, 1, AUTH_TOKEN_MOST, stream)] = 0;
	fclose(stream);
	(*token)[strcspn(*token, "\r\n")] = 0;
	if (strlen(*token) >= AUTH_TOKEN_LEAST)
		return 0;
	say(LOG_ERR, "%s: a token has %d bytes at least", path, AUTH_TOKEN_LEAST);
	return -EINVAL;
}

int auth_read_tokens(struct service *service)
{
	const struct settings *settings = &service->settings;
	char *client = NULL, *node = NULL;
	int error = auth_read_token(settings->token_file, &client) ?:
		    auth_read_token(settings->peer_token_file, &node);

	if (!error && client && node && !strcmp(client, node)) {
		say(LOG_ERR, "configuration: nodes need another token than clients");
		error = -EINVAL;
	}
	if (error) {
		free(client);
		free(node);
		return error;
	}
	free(service->client_token);
	free(service->node_token);
	service->client_token = client;
	service->node_token = node;
	return 0;
}

int auth_begin(struct service *service)
{
	const char *name = service->settings.group;
	const struct group *group = name ? getgrnam(name) : NULL;

	if (name && !group) {
		say(LOG_ERR, "configuration: there is no group %s", name);
		return -ENOENT;
	}
	service->group = group ? group->gr_gid : (gid_t)-1;
	return auth_read_tokens(service);
}

/*
 * Only this machine can reach a loopback address: a request for another host comes from a browser
 * here, which a page has sent to that name (DNS rebinding). Nobody can forge a certificate, so TLS
 * needs no such check.
 */
static bool auth_is_for_here(const struct request *request)
{
	const char *host = request_header(request, "Host");
	char name[256], own[256] = "", *port;
	struct in_addr address;

	if (!request->client->is_by_tcp || !request->client->is_plain || !host)
		return true;
	snprintf(name, sizeof(name), "%s", host);
	port = strchr(*name == '[' ? strchrnul(name, ']') : name, ':');
	if (port) {
		*port++ = 0;
		if (port[strspn(port, "0123456789")])
			return false;
	}
	gethostname(own, sizeof(own) - 1);
	return !strcasecmp(name, "localhost") || !strcmp(name, "[::1]") ||
	       (*name && !strcasecmp(name, own)) ||
	       (inet_pton(AF_INET, name, &address) == 1 && ntohl(address.s_addr) >> 24 == 127);
}

/* Takes as long for any token of this length. */
static bool auth_has_token(const struct request *request, const char *token)
{
	static const char scheme[] = "Bearer ";
	const char *text = request_header(request, "Authorization");

	if (!token || !text || strncasecmp(text, scheme, strlen(scheme)))
		return false;
	text += strlen(scheme);
	return strlen(text) == strlen(token) && !gnutls_memcmp(text, token, strlen(token));
}

bool auth_refuse(struct request *request)
{
	const struct service *service = request->service;
	struct client *client = request->client;

	request->is_by_node = client->is_by_tcp && auth_has_token(request, service->node_token);
	if (!auth_is_for_here(request))
		answer_error(request, MHD_HTTP_MISDIRECTED_REQUEST, "Host: not this machine");
	else if (client->is_by_tcp && !request->is_by_node &&
		 !auth_has_token(request, service->client_token))
		answer_error(request, MHD_HTTP_UNAUTHORIZED, "a bearer token is needed");
	else if (!client->is_by_tcp && !client->is_permitted)
		answer_error(request, MHD_HTTP_FORBIDDEN, "not for this user");
	else if (client->is_too_many && client->is_account_full)
		answer_error(request, MHD_HTTP_TOO_MANY_REQUESTS,
			     "this client has too many connections");
	else if (client->is_too_many)
		answer_error(request, MHD_HTTP_SERVICE_UNAVAILABLE,
			     "there are too many connections");
	if (request->response)
		request->service->metrics.clients_refused++;
	else
		client_admit(client);
	return request->response;
}
