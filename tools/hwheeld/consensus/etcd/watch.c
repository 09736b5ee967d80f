// SPDX-License-Identifier: GPL-2.0-only
#include <stddef.h>
#include <string.h>
#include <utlist.h>

#include "consensus/etcd/etcd.h"
#include "memory.h"

/* It is taken from libcurl's hands here, and passed on by reap(). */
static void etcd_take_news(struct grpc_call *call, const unsigned char *bytes, size_t size)
{
	struct etcd *etcd = (struct etcd *)((char *)call - offsetof(struct etcd, watch));
	struct etcd_news *news = memory_get(1, sizeof(*news));

	news->bytes = memory_get(size, 1);
	news->size = size;
	memcpy(news->bytes, bytes, size);
	LL_APPEND(etcd->news, news);
	etcd->heard_ns = etcd_now();
	etcd_wake(etcd);
}

void etcd_end_watch(struct etcd *etcd)
{
	struct etcd_news *news, *next;

	if (etcd->is_watching)
		grpc_cancel(&etcd->watch);
	etcd->is_watching = false;
	LL_FOREACH_SAFE(etcd->news, news, next) {
		free(news->bytes);
		free(news);
	}
	etcd->news = NULL;
}

/* Event: type = 1 (DELETE is 1), kv = 2 */
static bool etcd_read_event(const struct etcd *etcd, const struct protobuf_field *at,
			    struct consensus_item *item, char key[CONSENSUS_KEY])
{
	struct protobuf_field field;
	bool is_there = false, is_gone = false;

	protobuf_enter(&field, at);
	while (protobuf_next(&field)) {
		if (field.field == 1)
			is_gone = field.number == 1;
		else if (field.field == 2 && field.bytes)
			is_there = etcd_read_item(etcd, &field, item, key);
	}
	if (is_gone)
		item->value = NULL;
	return is_there;
}

/* WatchResponse: header = 1, canceled = 4, compact_revision = 5, events = 11 */
static void etcd_pass_on(struct etcd *etcd, const struct etcd_news *news)
{
	char (*keys)[CONSENSUS_KEY];
	struct consensus_item *items;
	struct protobuf_field field;
	size_t events = 0, count = 0;
	bool is_cancelled = false;
	uint64_t last = 0;

	protobuf_read(&field, news->bytes, news->size);
	while (protobuf_next(&field)) {
		events += field.field == 11;
		is_cancelled |= (field.field == 4 || field.field == 5) && field.number;
	}
	if (is_cancelled) {
		etcd_end_watch(etcd);
		etcd->wants_watch = false;
		etcd->events->gap(etcd->owner);
		return;
	}
	if (!events)
		return;
	items = memory_get(events, sizeof(*items));
	keys = memory_get(events, CONSENSUS_KEY);
	protobuf_read(&field, news->bytes, news->size);
	while (count < events && protobuf_next(&field)) {
		if (field.field != 11 || !field.bytes ||
		    !etcd_read_event(etcd, &field, &items[count], keys[count]))
			continue;
		if (items[count].revision > last)
			last = items[count].revision;
		count += items[count].revision >= etcd->next;
	}
	if (last >= etcd->next)
		etcd->next = last + 1;
	if (count)
		etcd->events->changed(etcd->owner, items, count, last);
	free(items);
	free(keys);
}

void etcd_pass_news_on(struct etcd *etcd)
{
	struct etcd_news *news;

	while ((news = etcd->news)) {
		LL_DELETE(etcd->news, news);
		etcd_pass_on(etcd, news);
		free(news->bytes);
		free(news);
	}
}

/* It goes on at another server, from where it was. */
static void etcd_watch_done(struct grpc_call *call)
{
	struct etcd *etcd = (struct etcd *)((char *)call - offsetof(struct etcd, watch));

	etcd->is_watching = false;
	if (etcd->watched)
		etcd_avoid(etcd, etcd->watched);
	etcd_wake(etcd);
}

/* WatchRequest: create_request = 1, of key = 1, range_end = 2, start_revision = 3 */
void etcd_begin_watch(struct etcd *etcd)
{
	size_t create;

	etcd->watched = etcd_server(etcd);
	if (!etcd->watched)
		return;
	etcd->is_watching = true;
	etcd->heard_ns = etcd_now();
	create = protobuf_open(&etcd->watch.message, 1);
	protobuf_text(&etcd->watch.message, 1, etcd->from);
	protobuf_text(&etcd->watch.message, 2, etcd->end);
	protobuf_number(&etcd->watch.message, 3, etcd->next);
	protobuf_close(&etcd->watch.message, create);
	etcd->watch.server = etcd->watched->address;
	etcd->watch.method = "/etcdserverpb.Watch/Watch";
	etcd->watch.ms = 0;
	etcd->watch.receive = etcd_take_news;
	etcd->watch.done = etcd_watch_done;
	grpc_begin(etcd->grpc, &etcd->watch);
}

/*
 * A server that cannot be reached says nothing: it is asked at times how far it is, and left when
 * it does not answer. WatchRequest: progress_request = 3
 */
void etcd_prod_watch(struct etcd *etcd, uint64_t now)
{
	struct protobuf message = { 0 };

	if (now > etcd->heard_ns + CONSENSUS_PATIENCE_NS + ETCD_NS_PER_S) {
		grpc_cancel(&etcd->watch);
		etcd_watch_done(&etcd->watch);
		return;
	}
	protobuf_close(&message, protobuf_open(&message, 3));
	grpc_send(&etcd->watch, &message);
}

void etcd_watch(struct consensus *store, const char *from, const char *end, uint64_t revision)
{
	struct etcd *etcd = etcd_of(store);

	etcd_end_watch(etcd);
	etcd->wants_watch = from;
	if (!from)
		return;
	etcd_path(etcd, from, etcd->from);
	etcd_path(etcd, end, etcd->end);
	etcd->next = revision ?: 1;
	etcd_begin_watch(etcd);
}
