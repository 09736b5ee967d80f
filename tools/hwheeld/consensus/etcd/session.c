// SPDX-License-Identifier: GPL-2.0-only
#include <stddef.h>
#include <sys/epoll.h>

#include "consensus/etcd/etcd.h"

/* A session's client gives so many signs of life in its time. */
#define ETCD_BEATS	3

/* How long etcd_revoke() waits */
#define ETCD_LAST_MS	1000

static void etcd_end_session(struct etcd *etcd)
{
	if (!etcd->session)
		return;
	etcd->session = 0;
	etcd->sure_ns = 0;
	etcd->events->session(etcd->owner, 0);
}

/* LeaseGrantResponse and LeaseKeepAliveResponse: ID = 2, TTL = 3 */
static void etcd_take_lease(struct grpc_call *call, const unsigned char *bytes, size_t size)
{
	struct etcd *etcd = (struct etcd *)((char *)call - offsetof(struct etcd, beat));
	struct protobuf_field field;

	protobuf_read(&field, bytes, size);
	while (protobuf_next(&field)) {
		if (field.field == 2)
			etcd->lease = field.number;
		else if (field.field == 3)
			etcd->lease_s = field.number;
	}
}

/* A deposed leader may have answered: the session's time counts from when it was asked. */
static void etcd_beat_done(struct grpc_call *call)
{
	struct etcd *etcd = (struct etcd *)((char *)call - offsetof(struct etcd, beat));
	bool is_new = !etcd->session;

	etcd->is_beating = false;
	if (etcd_has_failed(call)) {
		for (size_t i = 0; i < etcd->count; i++)
			if (etcd->servers[i].address == call->server)
				etcd_avoid(etcd, &etcd->servers[i]);
		etcd->beat_ns = etcd_now();
		etcd_wake(etcd);
	} else if (etcd->former) {
		if (call->status != GRPC_OK && call->status != GRPC_NOT_FOUND)
			return;
		etcd->former = 0;
		etcd->beat_ns = etcd_now();
		etcd_wake(etcd);
	} else if (call->status == GRPC_OK && etcd->lease && etcd->lease_s &&
		   (etcd->is_granting || etcd->lease == etcd->session)) {
		etcd->session = etcd->lease;
		etcd->mark.session = etcd->session;
		if (etcd->sent_ns + etcd->lease_s * ETCD_NS_PER_S > etcd->sure_ns)
			etcd->sure_ns = etcd->sent_ns + etcd->lease_s * ETCD_NS_PER_S;
		if (is_new)
			etcd->events->session(etcd->owner, etcd->session);
	} else if (!etcd->is_granting && (call->status == GRPC_NOT_FOUND ||
					  (call->status == GRPC_OK && !etcd->lease_s))) {
		etcd_end_session(etcd);
		etcd->beat_ns = etcd_now();
		etcd_wake(etcd);
	}
}

/*
 * LeaseGrantRequest: TTL = 1; LeaseRevokeRequest and LeaseKeepAliveRequest, of a stream with one
 * message: ID = 1
 */
void etcd_beat(struct etcd *etcd, uint64_t now)
{
	uint64_t seconds = (etcd->settings->session_ns + ETCD_NS_PER_S - 1) / ETCD_NS_PER_S;
	const struct etcd_server *server = etcd_server(etcd);

	etcd->beat_ns = now + seconds * ETCD_NS_PER_S / ETCD_BEATS;
	if (!server) {
		etcd->beat_ns = now + ETCD_RETRY_NS / 4;
		return;
	}
	etcd->is_granting = !etcd->session && !etcd->former;
	etcd->is_beating = true;
	etcd->sent_ns = now;
	etcd->lease = 0;
	etcd->lease_s = 0;
	etcd->beat.server = server->address;
	etcd->beat.method = etcd->former ? "/etcdserverpb.Lease/LeaseRevoke" :
			    etcd->is_granting ? "/etcdserverpb.Lease/LeaseGrant" :
						"/etcdserverpb.Lease/LeaseKeepAlive";
	etcd->beat.ms = ETCD_MS;
	etcd->beat.receive = etcd_take_lease;
	etcd->beat.done = etcd_beat_done;
	protobuf_number(&etcd->beat.message, 1, etcd->is_granting ? seconds :
			etcd->former ?: etcd->session);
	grpc_begin(etcd->grpc, &etcd->beat);
}

uint64_t etcd_session(const struct consensus *store)
{
	return etcd_of(store)->session;
}

uint64_t etcd_sure_ns(const struct consensus *store)
{
	return etcd_of(store)->sure_ns;
}

/* LeaseRevokeRequest: ID = 1 */
void etcd_revoke(struct etcd *etcd)
{
	const struct etcd_server *server = etcd_server(etcd);
	struct epoll_event event;
	uint64_t end = etcd_now() + ETCD_LAST_MS * ETCD_NS_PER_MS;

	if (etcd->is_beating)
		grpc_cancel(&etcd->beat);
	if (!etcd->session || !server)
		return;
	etcd->is_compacting = true;
	protobuf_number(&etcd->compaction.message, 1, etcd->session);
	etcd->compaction.server = server->address;
	etcd->compaction.method = "/etcdserverpb.Lease/LeaseRevoke";
	etcd->compaction.ms = ETCD_LAST_MS;
	etcd->compaction.receive = etcd_ignore;
	etcd->compaction.done = etcd_compacted;
	grpc_begin(etcd->grpc, &etcd->compaction);
	while (etcd->is_compacting && etcd_now() < end) {
		epoll_wait(grpc_fd(etcd->grpc), &event, 1, 100);
		grpc_reap(etcd->grpc);
	}
}
