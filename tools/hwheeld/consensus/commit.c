// SPDX-License-Identifier: GPL-2.0-only
/* selftests/models/shard.pml has writes, and what a lost connection makes of them. */
#include <endian.h>
#include <errno.h>

#include "consensus/commit.h"
#include "memory.h"
#include "nodes/shard.h"
#include "say.h"

struct commit *commit_new(void)
{
	struct commit *commit = memory_get(1, sizeof(*commit));

	commit->index = memory_get(shard_count(), sizeof(*commit->index));
	return commit;
}

size_t commit_cost(const struct record *record)
{
	return sizeof(uint32_t) + record_size(record);
}

/* The part of the record's shard, which is added if it is not there */
static struct commit_part *commit_part_of(struct commit *commit, const struct record *record)
{
	unsigned int shard = record->key.shard;
	size_t count = commit->count;
	struct commit_part *part;

	if (commit->index[shard])
		return &commit->parts[commit->index[shard] - 1];
	if (!(count & (count - 1)))
		commit->parts = memory_need(realloc(commit->parts, (count ? 2 * count : 1) *
						    sizeof(*commit->parts)));
	part = &commit->parts[commit->count++];
	*part = (struct commit_part) { .shard = shard, .tenure = shard_at(shard)->tenure };
	commit->index[shard] = (unsigned int)commit->count;
	commit->bytes += COMMIT_PART_COST;
	shard_at(shard)->held++;
	return part;
}

void commit_add(struct commit *commit, const struct record *record)
{
	struct commit_part *part = commit_part_of(commit, record);
	size_t size = record_size(record), all = part->size + sizeof(uint32_t) + size;
	uint32_t length = htole32((uint32_t)size);

	if (all > part->room) {
		part->room = 2 * all;
		part->bytes = memory_need(realloc(part->bytes, part->room));
	}
	memcpy(part->bytes + part->size, &length, sizeof(length));
	record_encode(record, (unsigned char *)part->bytes + part->size + sizeof(length));
	part->size = all;
	commit->bytes += sizeof(length) + size;
}

bool commit_decode(const char *bytes, size_t size,
		   void (*each)(void *data, const struct record *record), void *data)
{
	struct record record;
	uint32_t length;

	for (; size; bytes += length, size -= length) {
		if (size < sizeof(length))
			return false;
		memcpy(&length, bytes, sizeof(length));
		length = le32toh(length);
		bytes += sizeof(length);
		size -= sizeof(length);
		if (length > size || !record_decode(&record, (const unsigned char *)bytes, length))
			return false;
		each(data, &record);
	}
	return true;
}

/* Shards that are released may be lost with it. */
static void commit_end(struct commit *commit, enum store_outcome outcome, int error)
{
	commit->done(commit, outcome, error);
	for (size_t i = 0; i < commit->count; i++) {
		shard_release(commit->parts[i].shard);
		free(commit->parts[i].bytes);
	}
	free(commit->parts);
	free(commit->ops);
	free(commit->results);
	free(commit->index);
	free(commit);
}

/* Not known are only those that may have reached a server. */
static void commit_sent(struct ensemble_call *call)
{
	struct commit *commit = (struct commit *)call;

	if (call->error == ZOK) {
		commit_end(commit, STORE_COMMITTED, 0);
	} else if (call->error == ZBADVERSION || call->error == ZNONODE ||
		   call->error == ZNODEEXISTS) {
		for (size_t i = 0; i < commit->count; i++) {
			int checked = commit->results[2 * i].err;

			if (checked == ZBADVERSION || checked == ZNONODE ||
			    commit->results[2 * i + 1].err == ZNODEEXISTS)
				shard_lose(commit->parts[i].shard);
		}
		commit_end(commit, STORE_REFUSED, -ESTALE);
	} else if (call->error == ZINVALIDSTATE || call->error == ZBADARGUMENTS) {
		commit_end(commit, STORE_REFUSED, -EIO);
	} else {
		commit->done(commit, STORE_UNKNOWN, -EIO);
	}
}

void commit_send(struct commit *commit,
		 void (*done)(struct commit *commit, enum store_outcome outcome, int error))
{
	commit->done = done;
	commit->ops = memory_get(2 * commit->count, sizeof(*commit->ops));
	commit->results = memory_get(2 * commit->count, sizeof(*commit->results));
	for (size_t i = 0; i < commit->count; i++) {
		struct commit_part *part = &commit->parts[i];
		struct shard *shard = shard_at(part->shard);

		part->number = shard->next++;
		tree_shard_path(part->shard, "", part->shard_path);
		tree_log_path(part->shard, part->number, part->log_path);
		zoo_check_op_init(&commit->ops[2 * i], part->shard_path, shard->epoch);
		zoo_create_op_init(&commit->ops[2 * i + 1], part->log_path, part->bytes,
				   (int)part->size, ensemble_acl(), 0, part->created,
				   sizeof(part->created));
	}
	commit->call.done = commit_sent;
	ensemble_multi(&commit->call, (int)(2 * commit->count), commit->ops, commit->results);
}

/* Reading back */

static void commit_stay_unknown(struct commit *commit)
{
	commit->is_reading = false;
	commit->done(commit, STORE_UNKNOWN, -EIO);
}

/* The log was read as it was in this node's time only if the shard is still this node's. */
static void commit_read_epoch(struct ensemble_call *call)
{
	struct commit *commit = (struct commit *)call;
	const struct commit_part *witness = &commit->parts[commit->witness];

	if (call->error != ZOK && call->error != ZNONODE) {
		commit_stay_unknown(commit);
	} else if (call->error == ZNONODE ||
		   call->stat.version != shard_at(witness->shard)->epoch) {
		shard_lose(witness->shard);
		commit->is_reading = false;
		commit_read_back(commit);
	} else if (commit->was_there) {
		commit_end(commit, STORE_COMMITTED, 0);
	} else {
		commit_end(commit, STORE_REFUSED, -EIO);
	}
}

static void commit_read_log(struct ensemble_call *call)
{
	struct commit *commit = (struct commit *)call;

	if (call->error != ZOK && call->error != ZNONODE) {
		commit_stay_unknown(commit);
		return;
	}
	commit->was_there = !call->error;
	call->done = commit_read_epoch;
	ensemble_exists(call, commit->parts[commit->witness].shard_path, false);
}

/* Any shard that this node still has tells what has become of all parts. */
void commit_read_back(struct commit *commit)
{
	if (commit->is_reading)
		return;
	for (commit->witness = 0; commit->witness < commit->count; commit->witness++)
		if (shard_at(commit->parts[commit->witness].shard)->state == SHARD_OWNED)
			break;
	if (commit->witness == commit->count) {
		commit_end(commit, STORE_REFUSED, -ESTALE);
		return;
	}
	commit->is_reading = true;
	commit->call.done = commit_read_log;
	ensemble_exists(&commit->call, commit->parts[commit->witness].log_path, false);
}

void commit_give_up(struct commit *commit)
{
	commit_end(commit, STORE_REFUSED, -ESTALE);
}
