// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>

#include "consensus/etcd/etcd.h"
#include "say.h"

const char *etcd_path(const struct etcd *etcd, const char *key, char path[ETCD_PATH])
{
	snprintf(path, ETCD_PATH, "%s%s", etcd->root, key);
	return path;
}

void etcd_put_key(const struct etcd *etcd, struct protobuf *message, unsigned int field,
		  const char *key)
{
	char path[ETCD_PATH];

	protobuf_text(message, field, etcd_path(etcd, key, path));
}

/* KeyValue: key = 1, mod_revision = 3, value = 5. Returns false if it is not below the root. */
bool etcd_read_item(const struct etcd *etcd, const struct protobuf_field *at,
		    struct consensus_item *item, char key[CONSENSUS_KEY])
{
	size_t root = strlen(etcd->root);
	struct protobuf_field field;
	bool has_key = false;

	*item = (struct consensus_item) { .key = key, .value = "" };
	protobuf_enter(&field, at);
	while (protobuf_next(&field)) {
		if (field.field == 1 && field.bytes && field.number > root &&
		    field.number - root < CONSENSUS_KEY && !memcmp(field.bytes, etcd->root, root)) {
			memcpy(key, field.bytes + root, field.number - root);
			key[field.number - root] = 0;
			has_key = true;
		} else if (field.field == 3) {
			item->revision = field.number;
		} else if (field.field == 5 && field.bytes) {
			item->value = field.bytes;
			item->size = field.number;
		}
	}
	return has_key;
}

/* ResponseHeader: cluster_id = 1, revision = 3, raft_term = 4 */
void etcd_read_header(struct etcd *etcd, const struct protobuf_field *at, uint64_t *identity,
		      uint64_t *revision, uint64_t *term)
{
	struct protobuf_field field;

	protobuf_enter(&field, at);
	while (protobuf_next(&field)) {
		if (field.field == 1)
			*identity = field.number;
		else if (field.field == 3)
			*revision = field.number;
		else if (field.field == 4)
			*term = field.number;
	}
}

/* Answers may overtake others: what counts is what was seen before the call. */
void etcd_see(struct etcd *etcd, uint64_t identity, uint64_t revision, uint64_t seen)
{
	if (etcd->mark.identity && (identity != etcd->mark.identity || revision < seen)) {
		if (!etcd->is_restored)
			say(LOG_CRIT, "cluster: etcd went back to a backup: nothing is written");
		etcd->is_restored = true;
	}
	etcd->mark.identity = etcd->mark.identity ?: identity;
	if (revision > etcd->mark.revision)
		etcd->mark.revision = revision;
}
