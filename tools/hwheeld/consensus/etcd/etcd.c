// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
#include <utlist.h>

#include "consensus/etcd/etcd.h"
#include "memory.h"
#include "say.h"

/* What is older than this, and not newest, may be compacted: a load at its revision has ended. */
#define ETCD_KEEP_NS	(60 * ETCD_NS_PER_S)

uint64_t etcd_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * ETCD_NS_PER_S + (uint64_t)now.tv_nsec;
}

void etcd_wake(struct etcd *etcd)
{
	struct itimerspec soon = { .it_value.tv_nsec = 1 };

	timerfd_settime(etcd->timer, 0, &soon, NULL);
}

void etcd_ignore(struct grpc_call *call, const unsigned char *bytes, size_t size)
{
}

/* Compaction */

void etcd_compacted(struct grpc_call *call)
{
	struct etcd *etcd = (struct etcd *)((char *)call - offsetof(struct etcd, compaction));

	etcd->is_compacting = false;
}

/* CompactionRequest: revision = 1. Another node may have compacted more: that is no error. */
static void etcd_compact(struct etcd *etcd, uint64_t now)
{
	const struct etcd_server *server = etcd_server(etcd);
	uint64_t revision = etcd->compact;

	etcd->compact_ns = now + ETCD_KEEP_NS;
	etcd->compact = etcd->own;
	if (!server || !revision || etcd->is_compacting)
		return;
	etcd->is_compacting = true;
	protobuf_number(&etcd->compaction.message, 1, revision);
	etcd->compaction.server = server->address;
	etcd->compaction.method = "/etcdserverpb.KV/Compact";
	etcd->compaction.ms = ETCD_MS;
	etcd->compaction.receive = etcd_ignore;
	etcd->compaction.done = etcd_compacted;
	grpc_begin(etcd->grpc, &etcd->compaction);
}

/* Time */

static uint64_t etcd_earlier(uint64_t one, uint64_t other)
{
	return one < other ? one : other;
}

static void etcd_tick(struct etcd *etcd)
{
	uint64_t now = etcd_now(), next = now + ETCD_NS_PER_S;
	struct itimerspec when = { 0 };

	for (size_t i = 0; i < etcd->count; i++) {
		struct etcd_server *server = &etcd->servers[i];

		if (!server->is_asked && now >= etcd_status_ns(etcd, server))
			etcd_ask_status(etcd, server);
		if (!server->is_asked)
			next = etcd_earlier(next, etcd_status_ns(etcd, server));
	}
	etcd->looks_at_calls = etcd->calls;
	if (etcd->calls)
		next = etcd_earlier(next, now + ETCD_SLOW_NS);
	if (!etcd->is_beating && now >= etcd->beat_ns)
		etcd_beat(etcd, now);
	if (!etcd->is_beating)
		next = etcd_earlier(next, etcd->beat_ns);
	if (etcd->wants_watch && !etcd->is_watching)
		etcd_begin_watch(etcd);
	else if (etcd->is_watching && now > etcd->heard_ns + ETCD_NS_PER_S)
		etcd_prod_watch(etcd, now);
	if (now >= etcd->compact_ns)
		etcd_compact(etcd, now);
	next = next > now ? next - now : 1;
	when.it_value.tv_sec = (time_t)(next / ETCD_NS_PER_S);
	when.it_value.tv_nsec = (long)(next % ETCD_NS_PER_S);
	timerfd_settime(etcd->timer, 0, &when, NULL);
}

static void etcd_reap(struct consensus *store)
{
	struct etcd *etcd = etcd_of(store);
	struct etcd_call *call;
	uint64_t expirations;
	bool is_due = read(etcd->timer, &expirations, sizeof(expirations)) == sizeof(expirations);

	grpc_reap(etcd->grpc);
	while ((call = etcd->ended)) {
		DL_DELETE(etcd->ended, call);
		etcd_end_call(call);
	}
	etcd_pass_news_on(etcd);
	if (is_due)
		etcd_tick(etcd);
}

static int etcd_fd(const struct consensus *store)
{
	return etcd_of(store)->epoll;
}

/* Opening and closing */

static void etcd_mark(const struct consensus *store, struct consensus_mark *mark)
{
	*mark = etcd_of(store)->mark;
}

static void etcd_figures(const struct consensus *store, struct consensus_figures *figures)
{
	const struct etcd *etcd = etcd_of(store);

	*figures = (struct consensus_figures) { .quota = etcd->settings->quota };
	for (size_t i = 0; i < etcd->count; i++)
		if (etcd->servers[i].bytes > figures->bytes)
			figures->bytes = etcd->servers[i].bytes;
}

static void etcd_close(struct consensus *store)
{
	struct etcd *etcd = etcd_of(store);

	etcd_give_up(etcd, &etcd->calls);
	etcd_give_up(etcd, &etcd->waiting);
	etcd_give_up(etcd, &etcd->ended);
	etcd_end_watch(etcd);
	if (etcd->is_compacting)
		grpc_cancel(&etcd->compaction);
	etcd_revoke(etcd);
	if (etcd->is_compacting)
		grpc_cancel(&etcd->compaction);
	for (size_t i = 0; i < etcd->count; i++) {
		if (etcd->servers[i].is_asked)
			grpc_cancel(&etcd->servers[i].call);
		free(etcd->servers[i].address);
	}
	grpc_free(etcd->grpc);
	close(etcd->timer);
	close(etcd->epoll);
	free(etcd);
}

static const struct consensus_ops etcd_ops = {
	.close = etcd_close,
	.fd = etcd_fd,
	.reap = etcd_reap,
	.txn = etcd_txn,
	.range = etcd_range,
	.watch = etcd_watch,
	.session = etcd_session,
	.sure_ns = etcd_sure_ns,
	.is_full = etcd_is_full,
	.mark = etcd_mark,
	.figures = etcd_figures,
};

static bool etcd_add_fd(struct etcd *etcd, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	return fd >= 0 && !epoll_ctl(etcd->epoll, EPOLL_CTL_ADD, fd, &event);
}

struct consensus *etcd_open(const struct consensus_settings *settings,
			    const struct consensus_events *events, void *owner)
{
	struct etcd *etcd = memory_get(1, sizeof(*etcd));

	etcd->store.ops = &etcd_ops;
	etcd->settings = settings;
	etcd->events = events;
	etcd->owner = owner;
	etcd->mark = settings->mark;
	etcd->former = settings->mark.session;
	etcd->compact_ns = etcd_now() + ETCD_KEEP_NS;
	snprintf(etcd->root, sizeof(etcd->root), "%s/", settings->root);
	if (!etcd_read_servers(etcd, settings->servers)) {
		say(LOG_ERR, "configuration: etcd: https://HOST:PORT,... is expected, %d at most",
		    ETCD_SERVERS);
		goto free;
	}
	etcd->grpc = grpc_new(settings->ca, settings->certificate, settings->key);
	etcd->epoll = epoll_create1(EPOLL_CLOEXEC);
	etcd->timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	if (!etcd->grpc || etcd->epoll < 0 || !etcd_add_fd(etcd, etcd->timer) ||
	    !etcd_add_fd(etcd, grpc_fd(etcd->grpc))) {
		say(LOG_ERR, "cluster: etcd: %m");
		goto free;
	}
	etcd_wake(etcd);
	return &etcd->store;
free:
	for (size_t i = 0; i < etcd->count; i++)
		free(etcd->servers[i].address);
	free(etcd);
	return NULL;
}
