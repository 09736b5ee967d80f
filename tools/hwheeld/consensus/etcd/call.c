// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>
#include <utlist.h>

#include "consensus/etcd/etcd.h"
#include "memory.h"

/* RangeResponse: header = 1, kvs = 2, more = 3; TxnResponse: header = 1, succeeded = 2 */
static void etcd_take_answer(struct grpc_call *grpc_call, const unsigned char *bytes, size_t size)
{
	struct etcd_call *call = (struct etcd_call *)grpc_call;
	struct protobuf_field field;
	uint64_t identity = 0, term = 0;

	if (call->has_answer)
		return;
	call->has_answer = true;
	if (call->range) {
		call->answer = memory_get(size, 1);
		call->size = size;
		memcpy(call->answer, bytes, size);
		bytes = call->answer;
	}
	protobuf_read(&field, bytes, size);
	while (protobuf_next(&field)) {
		if (field.field == 1)
			etcd_read_header(call->etcd, &field, &identity, &call->revision, &term);
		else if (field.field == 2 && call->range)
			call->count++;
		else if (field.field == 2)
			call->succeeded = field.number;
		else if (field.field == 3)
			call->has_more = field.number;
	}
	etcd_see(call->etcd, identity, call->revision, call->seen);
	if (term > call->etcd->term)
		call->etcd->term = term;
}

static void etcd_free_call(struct etcd_call *call)
{
	free(call->answer);
	free(call->items);
	free(call);
}

/* The pages' keys are the only copies. */
static void etcd_give_range(struct etcd_call *call, int error)
{
	char (*keys)[CONSENSUS_KEY] = memory_get(call->count, CONSENSUS_KEY);
	struct consensus_range *range = call->range;
	struct protobuf_field field;
	size_t count = 0;

	call->items = memory_get(call->count, sizeof(*call->items));
	protobuf_read(&field, call->answer, call->size);
	while (!error && count < call->count && protobuf_next(&field))
		if (field.field == 2 && field.bytes &&
		    etcd_read_item(call->etcd, &field, &call->items[count], keys[count]))
			count++;
	range->error = error;
	range->items = call->items;
	range->count = count;
	range->has_more = call->has_more;
	if (!error && !range->revision)
		range->revision = call->revision;
	range->done(range);
	free(keys);
}

static void etcd_give_txn(struct etcd_call *call, enum consensus_outcome outcome, int error)
{
	struct consensus_txn *txn = call->txn;

	if (outcome == CONSENSUS_DONE && call->revision > call->etcd->own)
		call->etcd->own = call->revision;
	txn->outcome = outcome;
	txn->error = error;
	txn->revision = outcome == CONSENSUS_DONE ? call->revision : 0;
	txn->done(txn);
}

/* The error of a server's refusal; 0: nothing is known. */
static int etcd_refusal(const struct grpc_call *call)
{
	switch (call->status) {
	case GRPC_NOT_SENT:
		return -ENOTCONN;
	case GRPC_INVALID:
		return strstr(call->text, "too large") ? -E2BIG : -EINVAL;
	case GRPC_NOT_FOUND:
		return -ENOENT;
	case GRPC_FORBIDDEN:
	case GRPC_UNAUTHENTICATED:
		return -EACCES;
	case GRPC_EXHAUSTED:
		return strstr(call->text, "space exceeded") ? -ENOSPC : 0;
	default:
		return 0;
	}
}

void etcd_end_call(struct etcd_call *call)
{
	struct etcd *etcd = call->etcd;
	int error = call->error ?: etcd_refusal(&call->call);
	bool is_whole = !call->error && call->call.status == GRPC_OK && call->has_answer;

	if (call->range) {
		if (call->call.status == GRPC_OUT_OF_RANGE && !call->error)
			error = -ESTALE;
		if (etcd->is_restored)
			error = -ENOTRECOVERABLE;
		else if (!is_whole && error != -ESTALE)
			error = -EIO;
		etcd_give_range(call, is_whole && !etcd->is_restored ? 0 : error);
	} else if (is_whole && call->succeeded) {
		etcd_give_txn(call, CONSENSUS_DONE, 0);
	} else if (is_whole) {
		etcd_give_txn(call, CONSENSUS_REFUSED, -ESTALE);
	} else if (error) {
		etcd_give_txn(call, CONSENSUS_REFUSED, error);
	} else {
		etcd_give_txn(call, CONSENSUS_UNKNOWN,
			      call->call.status == GRPC_LOST ? -ETIMEDOUT : -EIO);
	}
	etcd_free_call(call);
}

bool etcd_has_failed(const struct grpc_call *call)
{
	return call->status == GRPC_NOT_SENT || call->status == GRPC_LOST ||
	       call->status == GRPC_UNAVAILABLE;
}

static void etcd_call_done(struct grpc_call *grpc_call)
{
	struct etcd_call *call = (struct etcd_call *)grpc_call;

	DL_DELETE(call->etcd->calls, call);
	if (etcd_has_failed(grpc_call))
		etcd_avoid(call->etcd, call->server);
	etcd_end_call(call);
}

static void etcd_send(struct etcd *etcd, struct etcd_call *call)
{
	call->server = etcd_server(etcd);
	if (!call->server && etcd_is_asking(etcd) && !call->error) {
		DL_APPEND(etcd->waiting, call);
		return;
	}
	if (!call->server && !call->error)
		call->error = etcd_reason(etcd);
	if (call->error) {
		free(call->call.message.bytes);
		DL_APPEND(etcd->ended, call);
		etcd_wake(etcd);
		return;
	}
	DL_APPEND(etcd->calls, call);
	call->seen = etcd->mark.revision;
	call->term = etcd->term;
	call->sent_ns = etcd_now();
	if (!etcd->looks_at_calls)
		etcd_wake(etcd);
	etcd->looks_at_calls = true;
	call->call.server = call->server->address;
	call->call.ms = ETCD_MS;
	call->call.receive = etcd_take_answer;
	call->call.done = etcd_call_done;
	grpc_begin(etcd->grpc, &call->call);
}

void etcd_send_waiting(struct etcd *etcd)
{
	struct etcd_call *list = etcd->waiting, *call, *next;

	etcd->waiting = NULL;
	DL_FOREACH_SAFE(list, call, next) {
		DL_DELETE(list, call);
		etcd_send(etcd, call);
	}
}

/* Txns */

static bool etcd_is_key(const char *key)
{
	return *key && strlen(key) < CONSENSUS_KEY;
}

static bool etcd_is_in(const char *key, const struct consensus_delete *delete)
{
	return delete->end ? strcmp(key, delete->key) >= 0 && strcmp(key, delete->end) < 0 :
	       !strcmp(key, delete->key);
}

/* Refusals before anything is sent */
static int etcd_judge(const struct consensus_txn *txn)
{
	size_t bytes = 0;

	if (txn->checks_count > CONSENSUS_CHANGES ||
	    txn->puts_count + txn->deletes_count > CONSENSUS_CHANGES)
		return -E2BIG;
	for (size_t i = 0; i < txn->checks_count; i++) {
		bytes += strlen(txn->checks[i].key);
		if (!etcd_is_key(txn->checks[i].key))
			return -EINVAL;
	}
	for (size_t i = 0; i < txn->puts_count; i++) {
		const char *key = txn->puts[i].key;

		bytes += strlen(key) + txn->puts[i].size;
		if (!etcd_is_key(key))
			return -EINVAL;
		for (size_t j = 0; j < i; j++)
			if (!strcmp(key, txn->puts[j].key))
				return -EINVAL;
		for (size_t j = 0; j < txn->deletes_count; j++)
			if (etcd_is_in(key, &txn->deletes[j]))
				return -EINVAL;
	}
	for (size_t i = 0; i < txn->deletes_count; i++) {
		const struct consensus_delete *delete = &txn->deletes[i];

		bytes += strlen(delete->key) + (delete->end ? strlen(delete->end) : 0);
		if (!etcd_is_key(delete->key) || (delete->end && !etcd_is_key(delete->end)))
			return -EINVAL;
	}
	return bytes > CONSENSUS_BYTES ? -E2BIG : 0;
}

/* Compare: target = 2 (MOD is 2), key = 3, mod_revision = 6; EQUAL is 0, as an absent revision. */
static void etcd_write_check(const struct etcd *etcd, struct protobuf *message,
			     const struct consensus_check *check)
{
	size_t compare = protobuf_open(message, 1);

	protobuf_number(message, 2, 2);
	etcd_put_key(etcd, message, 3, check->key);
	protobuf_number(message, 6, check->revision);
	protobuf_close(message, compare);
}

/* RequestOp: request_put = 2; PutRequest: key = 1, value = 2, lease = 3 */
static void etcd_write_put(const struct etcd *etcd, struct protobuf *message,
			   const struct consensus_put *put)
{
	size_t op = protobuf_open(message, 2), request = protobuf_open(message, 2);

	etcd_put_key(etcd, message, 1, put->key);
	protobuf_bytes(message, 2, put->value, put->size);
	if (put->in_session)
		protobuf_number(message, 3, etcd->session);
	protobuf_close(message, request);
	protobuf_close(message, op);
}

/* RequestOp: request_delete_range = 3; DeleteRangeRequest: key = 1, range_end = 2 */
static void etcd_write_delete(const struct etcd *etcd, struct protobuf *message,
			      const struct consensus_delete *delete)
{
	size_t op = protobuf_open(message, 2), request = protobuf_open(message, 3);

	etcd_put_key(etcd, message, 1, delete->key);
	if (delete->end)
		etcd_put_key(etcd, message, 2, delete->end);
	protobuf_close(message, request);
	protobuf_close(message, op);
}

static struct etcd_call *etcd_call(struct etcd *etcd, const char *method)
{
	struct etcd_call *call = memory_get(1, sizeof(*call));

	call->etcd = etcd;
	call->call.method = method;
	return call;
}

/* TxnRequest: compare = 1, success = 2 */
void etcd_txn(struct consensus *store, struct consensus_txn *txn)
{
	struct etcd *etcd = etcd_of(store);
	struct etcd_call *call = etcd_call(etcd, "/etcdserverpb.KV/Txn");
	struct protobuf *message = &call->call.message;

	call->txn = txn;
	call->error = etcd->is_restored ? -ENOTRECOVERABLE : etcd_judge(txn);
	for (size_t i = 0; i < txn->puts_count; i++)
		if (txn->puts[i].in_session && !etcd->session && !call->error)
			call->error = -ENOENT;
	if (!call->error) {
		for (size_t i = 0; i < txn->checks_count; i++)
			etcd_write_check(etcd, message, &txn->checks[i]);
		for (size_t i = 0; i < txn->puts_count; i++)
			etcd_write_put(etcd, message, &txn->puts[i]);
		for (size_t i = 0; i < txn->deletes_count; i++)
			etcd_write_delete(etcd, message, &txn->deletes[i]);
	}
	etcd_send(etcd, call);
}

/* RangeRequest: key = 1, range_end = 2, limit = 3, revision = 4; reads are linearizable. */
void etcd_range(struct consensus *store, struct consensus_range *range)
{
	struct etcd *etcd = etcd_of(store);
	struct etcd_call *call = etcd_call(etcd, "/etcdserverpb.KV/Range");
	struct protobuf *message = &call->call.message;

	call->range = range;
	etcd_put_key(etcd, message, 1, range->from);
	etcd_put_key(etcd, message, 2, range->end);
	protobuf_number(message, 3, range->most);
	protobuf_number(message, 4, range->revision);
	etcd_send(etcd, call);
}

static void etcd_give_up_one(struct etcd_call **list, struct etcd_call *call)
{
	DL_DELETE(*list, call);
	grpc_cancel(&call->call);
	call->call.status = GRPC_LOST;
	call->has_answer = false;
	etcd_end_call(call);
}

void etcd_give_up(struct etcd *etcd, struct etcd_call **list)
{
	while (*list)
		etcd_give_up_one(list, *list);
}

struct etcd_call *etcd_oldest_txn(const struct etcd *etcd)
{
	struct etcd_call *call = etcd->calls;

	while (call && !call->txn)
		call = call->next;
	return call;
}

/* One that ends may begin others. */
void etcd_give_up_former(struct etcd *etcd)
{
	uint64_t now = etcd_now();
	struct etcd_call *oldest;

	while ((oldest = etcd_oldest_txn(etcd)) &&
	       oldest->term < etcd->term && now >= oldest->sent_ns + ETCD_SLOW_NS)
		etcd_give_up_one(&etcd->calls, oldest);
}
