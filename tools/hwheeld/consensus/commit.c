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

void commit_free(struct commit *commit)
{
	for (size_t i = 0; i < commit->count; i++)
		free(commit->parts[i].bytes);
	free(commit->parts);
	free(commit->ops);
	free(commit->results);
	free(commit->index);
	free(commit);
}

size_t commit_cost(const struct record *record)
{
	return sizeof(uint32_t) + record_size(record);
}

static struct commit_part *add_part(struct commit *commit, unsigned int shard)
{
	struct commit_part *part;
	size_t count = commit->count;

	if (!(count & (count - 1)))
		commit->parts = memory_need(realloc(commit->parts, (count ? 2 * count : 1) *
						    sizeof(*commit->parts)));
	part = &commit->parts[commit->count++];
	*part = (struct commit_part) { .shard = shard, .tenure = shard_tenure(shard) };
	commit->index[shard] = (unsigned int)commit->count;
	commit->bytes += COMMIT_PART_COST;
	shard_hold(shard);
	return part;
}

static struct commit_part *part_of(struct commit *commit, const struct record *record)
{
	unsigned int shard = shard_of(record->key, record->key_length);

	if (!commit->index[shard])
		return add_part(commit, shard);
	return &commit->parts[commit->index[shard] - 1];
}

void commit_add(struct commit *commit, const struct record *record)
{
	struct commit_part *part = part_of(commit, record);
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
static void end(struct commit *commit, enum store_outcome outcome, int error)
{
	commit->done(commit, outcome, error);
	for (size_t i = 0; i < commit->count; i++)
		shard_release(commit->parts[i].shard);
	commit_free(commit);
}

static void lose_culprits(const struct commit *commit)
{
	for (size_t i = 0; i < commit->count; i++) {
		int checked = commit->results[2 * i].err, created = commit->results[2 * i + 1].err;

		if (checked == ZBADVERSION || checked == ZNONODE || created == ZNODEEXISTS)
			shard_lose(commit->parts[i].shard);
	}
}

/* Not known are only those that may have reached a server. */
static void sent(struct ensemble_call *call)
{
	struct commit *commit = (struct commit *)call;

	if (call->error == ZOK) {
		end(commit, STORE_COMMITTED, 0);
	} else if (call->error == ZBADVERSION || call->error == ZNONODE ||
		   call->error == ZNODEEXISTS) {
		lose_culprits(commit);
		end(commit, STORE_REFUSED, -ESTALE);
	} else if (call->error == ZINVALIDSTATE || call->error == ZBADARGUMENTS) {
		end(commit, STORE_REFUSED, -EIO);
	} else {
		commit->done(commit, STORE_UNKNOWN, -EIO);
	}
}

static void make_ops(struct commit_part *part, zoo_op_t *ops)
{
	part->number = shard_next_number(part->shard);
	tree_shard_path(part->shard, "", part->shard_path);
	tree_log_path(part->shard, part->number, part->log_path);
	zoo_check_op_init(&ops[0], part->shard_path, shard_epoch(part->shard));
	zoo_create_op_init(&ops[1], part->log_path, part->bytes, (int)part->size, ensemble_acl(),
			   0, part->created, sizeof(part->created));
}

void commit_send(struct commit *commit,
		 void (*done)(struct commit *commit, enum store_outcome outcome, int error))
{
	commit->done = done;
	commit->ops = memory_get(2 * commit->count, sizeof(*commit->ops));
	commit->results = memory_get(2 * commit->count, sizeof(*commit->results));
	for (size_t i = 0; i < commit->count; i++)
		make_ops(&commit->parts[i], &commit->ops[2 * i]);
	commit->call.done = sent;
	ensemble_multi(&commit->call, (int)(2 * commit->count), commit->ops, commit->results);
}

/* Reading back */

static void lose_witness(struct commit *commit)
{
	shard_lose(commit->parts[commit->witness].shard);
	commit->is_reading = false;
	commit_read_back(commit);
}

static void stay_unknown(struct commit *commit)
{
	commit->is_reading = false;
	commit->done(commit, STORE_UNKNOWN, -EIO);
}

/* The log was read as it was in this node's time only if the shard is still this node's. */
static void read_epoch(struct ensemble_call *call)
{
	struct commit *commit = (struct commit *)call;
	const struct commit_part *witness = &commit->parts[commit->witness];

	if (call->error != ZOK && call->error != ZNONODE)
		stay_unknown(commit);
	else if (call->error == ZNONODE || call->stat.version != shard_epoch(witness->shard))
		lose_witness(commit);
	else if (commit->was_there)
		end(commit, STORE_COMMITTED, 0);
	else
		end(commit, STORE_REFUSED, -EIO);
}

static void read_log(struct ensemble_call *call)
{
	struct commit *commit = (struct commit *)call;

	if (call->error != ZOK && call->error != ZNONODE) {
		stay_unknown(commit);
		return;
	}
	commit->was_there = !call->error;
	call->done = read_epoch;
	ensemble_exists(call, commit->parts[commit->witness].shard_path, false);
}

/* Any shard that this node still has tells what has become of all parts. */
static bool find_witness(struct commit *commit)
{
	for (size_t i = 0; i < commit->count; i++) {
		if (shard_state(commit->parts[i].shard) != SHARD_OWNED)
			continue;
		commit->witness = i;
		return true;
	}
	return false;
}

void commit_read_back(struct commit *commit)
{
	if (commit->is_reading)
		return;
	if (!find_witness(commit)) {
		end(commit, STORE_REFUSED, -ESTALE);
		return;
	}
	commit->is_reading = true;
	commit->call.done = read_log;
	ensemble_exists(&commit->call, commit->parts[commit->witness].log_path, false);
}

void commit_give_up(struct commit *commit)
{
	end(commit, STORE_REFUSED, -ESTALE);
}
