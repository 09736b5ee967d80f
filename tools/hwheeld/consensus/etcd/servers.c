// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "consensus/etcd/etcd.h"
#include "memory.h"
#include "say.h"

/* A server that is fine is asked again after so long. */
#define ETCD_LOOK_NS	(5 * ETCD_NS_PER_S)

/* While a txn is slow, servers are asked as often. */
#define ETCD_PROBE_NS	(50 * ETCD_NS_PER_MS)

struct etcd_server *etcd_server(struct etcd *etcd)
{
	for (size_t i = 0; i < etcd->count; i++) {
		struct etcd_server *server = &etcd->servers[(etcd->current + i) % etcd->count];

		if (server->health != ETCD_FINE)
			continue;
		etcd->current = (size_t)(server - etcd->servers);
		return server;
	}
	return NULL;
}

void etcd_avoid(struct etcd *etcd, struct etcd_server *server)
{
	if (server->health != ETCD_FINE)
		return;
	server->health = ETCD_AWAY;
	server->next_ns = etcd_now() + ETCD_RETRY_NS;
	if (server == &etcd->servers[etcd->current])
		etcd->current = (etcd->current + 1) % etcd->count;
	/* All others may just have been avoided, too: this one is better than none. */
	if (!etcd_server(etcd))
		server->next_ns = 0;
	etcd_wake(etcd);
}

/* StatusResponse: version = 2, dbSize = 3, leader = 4, raftTerm = 6, errors = 8 */
static void etcd_take_status(struct grpc_call *call, const unsigned char *bytes, size_t size)
{
	struct etcd_server *server = (struct etcd_server *)call;
	struct protobuf_field field;

	server->has_alarm = false;
	server->leader = 0;
	protobuf_read(&field, bytes, size);
	while (protobuf_next(&field)) {
		if (field.field == 2 && field.bytes)
			snprintf(server->version, sizeof(server->version), "%.*s",
				 (int)field.number, field.bytes);
		else if (field.field == 3 && !field.bytes)
			server->bytes = field.number;
		else if (field.field == 4 && !field.bytes)
			server->leader = field.number;
		else if (field.field == 6 && !field.bytes)
			server->term = field.number;
		else if (field.field == 8 && field.bytes)
			server->has_alarm |= !!memmem(field.bytes, field.number, "NOSPACE", 7);
	}
}

static bool etcd_is_old(const struct etcd_server *server)
{
	unsigned int major, minor, patch;

	if (sscanf(server->version, "%u.%u.%u", &major, &minor, &patch) != 3)
		return true;
	return major < 3 || (major == 3 && (minor < 5 || (minor == 5 && patch < 16)));
}

static void etcd_status_done(struct grpc_call *call)
{
	struct etcd_server *server = (struct etcd_server *)call;
	struct etcd *etcd = server->etcd;
	enum etcd_health before = server->health;

	server->is_asked = false;
	if (call->status != GRPC_OK)
		server->health = ETCD_AWAY;
	else if (etcd_is_old(server) && !etcd->settings->may_lose)
		server->health = ETCD_OLD;
	else
		server->health = ETCD_FINE;
	if (server->health == ETCD_OLD && before != ETCD_OLD)
		say(LOG_CRIT, "cluster: etcd %s at %s may lose accepted timeouts: 3.5.16 is needed",
		    server->version, server->address);
	server->next_ns = etcd_now() + (server->health == ETCD_FINE ? ETCD_LOOK_NS :
					etcd_server(etcd) ? ETCD_RETRY_NS : ETCD_SLOW_NS);
	if (call->status == GRPC_OK && server->leader && server->term > etcd->term)
		etcd->term = server->term;
	etcd_send_waiting(etcd);
	etcd_give_up_former(etcd);
	if (etcd_oldest_txn(etcd))
		etcd_wake(etcd);
}

uint64_t etcd_status_ns(const struct etcd *etcd, const struct etcd_server *server)
{
	const struct etcd_call *oldest = etcd_oldest_txn(etcd);
	uint64_t slow;

	if (server->health != ETCD_FINE || !oldest)
		return server->next_ns;
	slow = oldest->sent_ns + ETCD_SLOW_NS;
	if (slow < server->asked_ns + ETCD_PROBE_NS)
		slow = server->asked_ns + ETCD_PROBE_NS;
	return slow < server->next_ns ? slow : server->next_ns;
}

void etcd_ask_status(struct etcd *etcd, struct etcd_server *server)
{
	server->is_asked = true;
	server->asked_ns = etcd_now();
	server->call.server = server->address;
	server->call.method = "/etcdserverpb.Maintenance/Status";
	server->call.ms = ETCD_MS;
	server->call.receive = etcd_take_status;
	server->call.done = etcd_status_done;
	grpc_begin(etcd->grpc, &server->call);
}

bool etcd_is_full(const struct consensus *store)
{
	const struct etcd *etcd = etcd_of(store);
	bool is_full = false;

	for (size_t i = 0; i < etcd->count; i++)
		is_full |= etcd->servers[i].has_alarm ||
			   etcd->servers[i].bytes >= etcd->settings->quota / 4 * 3;
	return is_full;
}

int etcd_reason(const struct etcd *etcd)
{
	for (size_t i = 0; i < etcd->count; i++)
		if (etcd->servers[i].health == ETCD_OLD)
			return -EPROTONOSUPPORT;
	return -ENOTCONN;
}

bool etcd_is_asking(const struct etcd *etcd)
{
	for (size_t i = 0; i < etcd->count; i++)
		if (etcd->servers[i].health == ETCD_UNASKED ||
		    (etcd->servers[i].is_asked && etcd->servers[i].health != ETCD_OLD))
			return true;
	return false;
}

bool etcd_read_servers(struct etcd *etcd, const char *list)
{
	while (*list && etcd->count < ETCD_SERVERS) {
		struct etcd_server *server = &etcd->servers[etcd->count];
		size_t length = strcspn(list, ",");

		if (strncmp(list, "https://", 8) || length < 9)
			return false;
		server->etcd = etcd;
		server->address = memory_copy(list, length);
		etcd->count++;
		list += length + (list[length] == ',');
	}
	return etcd->count && !*list;
}
