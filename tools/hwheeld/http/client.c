// SPDX-License-Identifier: GPL-2.0-only
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utlist.h>

#include "clock/alarm.h"
#include "hash.h"
#include "http/client.h"
#include "memory.h"

/* Connections that have not shown that they are permitted; one more, and the oldest is closed */
#define CLIENT_STRANGERS	64

/* Connections beyond a limit that get an answer; others are closed at once */
#define CLIENT_TOLD		8

/* Bytes of the name of a user or an address */
#define CLIENT_NAME		64

/* What the clients of one user, or at one address, have in common */
struct account {
	UT_hash_handle by_name;
	size_t users;			/* connections, with those beyond the limit */
	size_t connections;
	char name[CLIENT_NAME];
};

static bool client_is_in_group(int fd, gid_t group)
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

/* Is the user permitted? An address has yet to show that. */
static void client_name(struct client *client, char name[CLIENT_NAME])
{
	struct ucred peer = { .uid = (uid_t)-1 };
	gid_t group = client->service->group;
	struct sockaddr_storage address;
	socklen_t size = sizeof(address), peer_size = sizeof(peer);

	if (client->is_by_tcp) {
		if (!getpeername(client->fd, (struct sockaddr *)&address, &size))
			getnameinfo((struct sockaddr *)&address, size, name, CLIENT_NAME, NULL, 0,
				    NI_NUMERICHOST);
		return;
	}
	if (!getsockopt(client->fd, SOL_SOCKET, SO_PEERCRED, &peer, &peer_size))
		client->is_permitted = !peer.uid || peer.uid == geteuid() ||
			(group != (gid_t)-1 &&
			 (peer.gid == group || client_is_in_group(client->fd, group)));
	snprintf(name, CLIENT_NAME, "user %u", peer.uid);
}

static struct account *client_find_account(struct client *client)
{
	struct service *service = client->service;
	struct account *account;
	char name[CLIENT_NAME] = "";

	client_name(client, name);
	HASH_FIND(by_name, service->accounts, name, strlen(name), account);
	if (!account) {
		account = memory_get(1, sizeof(*account));
		memcpy(account->name, name, sizeof(name));
		HASH_ADD(by_name, service->accounts, name, (unsigned int)strlen(name), account);
	}
	account->users++;
	return account;
}

/* Half of the connections are for TCP if there is a socket too: neither locks out the other. */
static size_t client_budget(const struct settings *settings, bool is_by_tcp)
{
	size_t half = settings->connections / 2 ?: 1;

	if (!settings->socket || !settings->listen)
		return settings->connections;
	return is_by_tcp ? half : settings->connections - half ?: 1;
}

void client_admit(struct client *client)
{
	client->service->strangers -= client->is_stranger;
	client->is_stranger = false;
}

static void client_close_oldest_stranger(struct service *service)
{
	struct client *client = service->clients;

	while (client && !client->is_stranger)
		client = client->next;
	if (!client)
		return;
	client_admit(client);
	shutdown(client->fd, SHUT_RDWR);
	service->metrics.clients_refused++;
}

struct client *client_new(struct service *service, int fd, bool is_by_tcp, bool is_plain)
{
	struct client *client = memory_get(1, sizeof(*client));
	struct account *account;

	client->service = service;
	client->fd = fd;
	client->is_by_tcp = is_by_tcp;
	client->is_plain = is_plain;
	account = client_find_account(client);
	client->account = account;
	client->is_account_full = account->connections >= service->settings.client_connections;
	client->is_too_many = client->is_account_full || service->admitted[is_by_tcp] >=
			      client_budget(&service->settings, is_by_tcp);
	client->is_stranger = !client->is_permitted;
	account->connections += !client->is_too_many;
	service->admitted[is_by_tcp] += !client->is_too_many;
	service->refused += client->is_too_many;
	service->strangers += client->is_stranger;
	service->clients_count++;
	DL_APPEND(service->clients, client);
	if (service->strangers > CLIENT_STRANGERS)
		client_close_oldest_stranger(service);
	if (service->refused > CLIENT_TOLD && client->is_too_many)
		shutdown(fd, SHUT_RDWR);
	return client;
}

void client_free(struct client *client)
{
	struct service *service = client->service;

	client_unwatch(client);
	alarm_clear(&client->limit);
	client_admit(client);
	client->account->connections -= !client->is_too_many;
	service->admitted[client->is_by_tcp] -= !client->is_too_many;
	service->refused -= client->is_too_many;
	service->clients_count--;
	DL_DELETE(service->clients, client);
	if (!--client->account->users) {
		HASH_DELETE(by_name, service->accounts, client->account);
		free(client->account);
	}
	free(client);
}

void client_unwatch(struct client *client)
{
	if (client->is_watched)
		loop_remove(&client->service->loop, client->fd, &client->hangup);
	client->is_watched = false;
}
