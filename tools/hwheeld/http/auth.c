// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>

#include "http/answer.h"
#include "http/auth.h"
#include "memory.h"
#include "say.h"

#define AUTH_TOKEN_LEAST	16
#define AUTH_TOKEN_MOST		256

/* Reads the secret in a file's first line. Returns 0 or a negative errno. */
static int auth_read_token(const char *path, char **token)
{
	FILE *stream = fopen(path, "re");

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

int auth_begin(struct service *service)
{
	const struct settings *settings = &service->settings;
	const struct group *group = settings->group ? getgrnam(settings->group) : NULL;
	int error = 0;

	if (settings->group && !group) {
		say(LOG_ERR, "configuration: there is no group %s", settings->group);
		return -ENOENT;
	}
	service->group = group ? group->gr_gid : (gid_t)-1;
	if (settings->token_file)
		error = auth_read_token(settings->token_file, &service->client_token);
	if (!error && settings->peer_token_file)
		error = auth_read_token(settings->peer_token_file, &service->node_token);
	if (error || !service->client_token || !service->node_token ||
	    strcmp(service->client_token, service->node_token))
		return error;
	say(LOG_ERR, "configuration: nodes need another token than clients");
	return -EINVAL;
}

/* Takes as long for any token of this length. */
static bool auth_has_token(const struct request *request, const char *token)
{
	static const char scheme[] = "Bearer ";
	const char *text = request_header(request, "Authorization");
	size_t length = token ? strlen(token) : 0;
	unsigned char difference = 0;

	if (!token || !text || strncasecmp(text, scheme, strlen(scheme)))
		return false;
	text += strlen(scheme);
	if (strlen(text) != length)
		return false;
	for (size_t i = 0; i < length; i++)
		difference |= (unsigned char)(text[i] ^ token[i]);
	return !difference;
}

bool auth_refuse(struct request *request)
{
	const struct service *service = request->service;
	struct client *client = request->client;

	request->is_by_node = client->is_by_tcp && auth_has_token(request, service->node_token);
	if (client->is_by_tcp && !request->is_by_node &&
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
