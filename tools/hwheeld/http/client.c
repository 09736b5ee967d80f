// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utlist.h>

#include "clock/alarm.h"
#include "clock/now.h"
#include "hash.h"
#include "http/client.h"
#include "http/metrics.h"
#include "memory.h"
#include "queue/change.h"
#include "queue/take.h"
#include "say.h"
#include "settings.h"

#define TOKEN_LEAST	16

/* Connections that have not shown that they are permitted; one more, and the oldest is closed */
#define STRANGERS	64

/* Connections beyond a limit that are told so; others are closed at once */
#define TOLD		8

/* What the clients of one user, or at one address, have in common */
struct account {
	UT_hash_handle by_name;
	size_t users;			/* connections, with those beyond the limit */
	size_t connections;
	unsigned char name[20];		/* a sort, and an id or address */
};

static struct account *accounts;
static struct client *clients;
static size_t count, strangers, refused;
static size_t admitted[2];		/* on the Unix socket, by TCP */
static gid_t group = (gid_t)-1;
static char clients_token[CLIENT_TOKEN_MOST + 1], nodes_token[CLIENT_TOKEN_MOST + 1];

int client_read_token(const char *path, char token[CLIENT_TOKEN_MOST + 1])
{
	FILE *stream = fopen(path, "re");
	size_t length;

	if (!stream) {
		say(LOG_ERR, "%s: %m", path);
		return -errno;
	}
	length = fread(token, 1, CLIENT_TOKEN_MOST, stream);
	fclose(stream);
	token[length] = 0;
	token[strcspn(token, "\r\n")] = 0;
	if (strlen(token) >= TOKEN_LEAST)
		return 0;
	say(LOG_ERR, "%s: a token has %d bytes at least", path, TOKEN_LEAST);
	return -EINVAL;
}

static int read_tokens(void)
{
	int error = settings.token_file ? client_read_token(settings.token_file, clients_token) :
					  0;

	if (error || !settings.peer_token_file)
		return error;
	error = client_read_token(settings.peer_token_file, nodes_token);
	if (error || strcmp(clients_token, nodes_token))
		return error;
	say(LOG_ERR, "configuration: nodes need another token than clients");
	return -EINVAL;
}

int client_begin(void)
{
	struct group *entry;

	if (settings.group) {
		entry = getgrnam(settings.group);
		if (!entry) {
			say(LOG_ERR, "configuration: there is no group %s", settings.group);
			return -ENOENT;
		}
		group = entry->gr_gid;
	}
	return read_tokens();
}

gid_t client_group(void)
{
	return group;
}

/* The user or the address */

static bool is_in_group(int fd)
{
	gid_t groups[1024];
	socklen_t size = sizeof(groups);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size))
		return false;
	for (size_t i = 0; i < size / sizeof(groups[0]); i++)
		if (groups[i] == group)
			return true;
	return false;
}

static bool is_user_permitted(int fd, const struct ucred *peer)
{
	if (!peer->uid || peer->uid == geteuid())
		return true;
	return group != (gid_t)-1 && (peer->gid == group || is_in_group(fd));
}

static void name_user(struct client *client, unsigned char name[20])
{
	struct ucred peer = { .uid = (uid_t)-1 };
	socklen_t size = sizeof(peer);

	if (!getsockopt(client->fd, SOL_SOCKET, SO_PEERCRED, &peer, &size))
		client->permitted = is_user_permitted(client->fd, &peer);
	name[0] = 'u';
	memcpy(name + 1, &peer.uid, sizeof(peer.uid));
}

static void name_address(const struct client *client, unsigned char name[20])
{
	struct sockaddr_storage address = { 0 };
	socklen_t size = sizeof(address);

	getpeername(client->fd, (struct sockaddr *)&address, &size);
	name[0] = address.ss_family == AF_INET6 ? '6' : '4';
	if (address.ss_family == AF_INET6)
		memcpy(name + 1, &((struct sockaddr_in6 *)&address)->sin6_addr, 16);
	else
		memcpy(name + 1, &((struct sockaddr_in *)&address)->sin_addr, 4);
}

static struct account *account_get(struct client *client)
{
	unsigned char name[20] = { 0 };
	struct account *account;

	if (client->by_tcp)
		name_address(client, name);
	else
		name_user(client, name);
	HASH_FIND(by_name, accounts, name, sizeof(name), account);
	if (account)
		return account;
	account = memory_get(1, sizeof(*account));
	memcpy(account->name, name, sizeof(name));
	HASH_ADD(by_name, accounts, name, sizeof(account->name), account);
	return account;
}

static void account_put(struct account *account)
{
	if (--account->users)
		return;
	HASH_DELETE(by_name, accounts, account);
	free(account);
}

/* Time */

static void give_up(struct exchange *exchange)
{
	if (exchange->give_up)
		exchange->give_up(exchange);
	else
		change_give_up(exchange);
}

/* A long poll has a limit of its own, and then the answer has this one. */
static void ring(void *owner, uint64_t at_ns)
{
	struct client *client = owner;

	(void)at_ns;
	if (client->poll) {
		client_limit_time(client);
		return;
	}
	if (client->exchange)
		metrics.requests_too_slow++;
	if (client->exchange && client->exchange->suspended) {
		give_up(client->exchange);
		return;
	}
	shutdown(client->fd, SHUT_RDWR);
}

void client_limit_time(struct client *client)
{
	alarm_set(&client->limit, now_ns() + settings.request_time, ring, client);
}

/* It hung up */

static void notice(struct loop_source *source)
{
	struct client *client = (struct client *)source;
	struct exchange *exchange = client->exchange;

	client->gone = true;
	client_unwatch(client);
	if (exchange && exchange->give_up)
		exchange->give_up(exchange);
	else if (exchange)
		take_give_up(exchange);
}

void client_watch(struct exchange *exchange)
{
	struct client *client = exchange->client;

	if (client->watched)
		return;
	client->hangup.ready = notice;
	client->watched = !loop_add(client->fd, EPOLLRDHUP, &client->hangup);
}

void client_unwatch(struct client *client)
{
	if (client->watched)
		loop_remove(client->fd, &client->hangup);
	client->watched = false;
}

/* Limits */

/* Half of the connections are for TCP if there is a socket too: neither locks out the other. */
static size_t budget(bool by_tcp)
{
	size_t half = settings.connections / 2 ?: 1;

	if (!settings.socket || !settings.listen)
		return settings.connections;
	return by_tcp ? half : settings.connections - half ?: 1;
}

static void admit(struct client *client)
{
	client->account_full = client->account->connections >= settings.client_connections;
	client->too_many = client->account_full ||
			   admitted[client->by_tcp] >= budget(client->by_tcp);
	if (client->too_many) {
		refused++;
		return;
	}
	client->account->connections++;
	admitted[client->by_tcp]++;
}

static void dismiss(struct client *client)
{
	if (client->too_many) {
		refused--;
		return;
	}
	client->account->connections--;
	admitted[client->by_tcp]--;
}

static void end_stranger(struct client *client)
{
	if (client->stranger)
		strangers--;
	client->stranger = false;
}

static void close_oldest_stranger(void)
{
	struct client *client = clients;

	while (client && !client->stranger)
		client = client->next;
	if (!client)
		return;
	end_stranger(client);
	shutdown(client->fd, SHUT_RDWR);
	metrics.clients_refused++;
}

/* Life */

struct client *client_new(int fd, bool by_tcp, bool plain)
{
	struct client *client = memory_get(1, sizeof(*client));

	client->fd = fd;
	client->by_tcp = by_tcp;
	client->plain = plain;
	client->account = account_get(client);
	client->account->users++;
	count++;
	admit(client);
	DL_APPEND(clients, client);
	client->stranger = !client->permitted;
	strangers += client->stranger;
	if (strangers > STRANGERS)
		close_oldest_stranger();
	client_limit_time(client);
	if (refused > TOLD && client->too_many)
		shutdown(client->fd, SHUT_RDWR);
	return client;
}

void client_free(struct client *client)
{
	client_unwatch(client);
	alarm_clear(&client->limit);
	end_stranger(client);
	dismiss(client);
	account_put(client->account);
	DL_DELETE(clients, client);
	count--;
	free(client);
}

/* Takes as long for any token of this length. */
static bool is_token(const char *text, const char *token)
{
	size_t length = strlen(token);
	unsigned char difference = 0;

	if (!length || strlen(text) != length)
		return false;
	for (size_t i = 0; i < length; i++)
		difference |= (unsigned char)(text[i] ^ token[i]);
	return !difference;
}

static bool has_token(const struct exchange *exchange, const char *token)
{
	static const char scheme[] = "Bearer ";
	const char *text = exchange_header(exchange, "Authorization");

	return text && !strncasecmp(text, scheme, strlen(scheme)) &&
	       is_token(text + strlen(scheme), token);
}

bool client_refuse(struct client *client, struct exchange *exchange)
{
	exchange->by_node = client->by_tcp && has_token(exchange, nodes_token);
	if (client->by_tcp && !exchange->by_node && !has_token(exchange, clients_token))
		exchange_error(exchange, MHD_HTTP_UNAUTHORIZED, "a bearer token is needed");
	else if (!client->by_tcp && !client->permitted)
		exchange_error(exchange, MHD_HTTP_FORBIDDEN, "not for this user");
	else if (client->too_many && client->account_full)
		exchange_error(exchange, MHD_HTTP_TOO_MANY_REQUESTS,
			       "this client has too many connections");
	else if (client->too_many)
		exchange_error(exchange, MHD_HTTP_SERVICE_UNAVAILABLE,
			       "there are too many connections");
	if (!exchange->response) {
		end_stranger(client);
		return false;
	}
	metrics.clients_refused++;
	return true;
}

void client_give_up_all(void)
{
	struct client *client;

	DL_FOREACH(clients, client)
		if (client->exchange && client->exchange->give_up)
			client->exchange->give_up(client->exchange);
}

size_t client_count(void)
{
	return count;
}
