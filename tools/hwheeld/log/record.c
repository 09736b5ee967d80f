// SPDX-License-Identifier: GPL-2.0-only
#include <assert.h>
#include <endian.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "log/record.h"

#define RECORD_VERSION	2
#define RECORD_ABSOLUTE	1	/* of the flags */

/* Little-endian; key, queue and payload follow */
struct record_header {
	uint8_t version;
	uint8_t type;
	uint8_t flags;
	uint8_t queue_length;
	uint16_t key_length;
	uint16_t reserved;
	uint32_t payload_length;
	uint32_t deliveries;
	uint64_t at_ns;
	uint64_t wall_ns;
	uint64_t deadline_ns;
	uint64_t lease_ns;
	unsigned char token[TOKEN_SIZE];
	uint64_t checksum;
};

static_assert(sizeof(struct record_header) == 72, "records on disk have this header");

/* Of what stands before it, and of the texts behind it */
static uint64_t record_checksum(const unsigned char *bytes, size_t size)
{
	const size_t header = sizeof(struct record_header);

	return htole64(XXH64(bytes + header, size - header,
			     XXH64(bytes, offsetof(struct record_header, checksum), 0)));
}

size_t record_size(const struct record *record)
{
	return sizeof(struct record_header) + record->key.length + record->queue_length +
	       record->payload_length;
}

static unsigned char *record_append(unsigned char *to, const char *text, size_t length)
{
	if (length)
		memcpy(to, text, length);
	return to + length;
}

void record_encode(const struct record *record, unsigned char *bytes)
{
	struct record_header header = {
		.version = RECORD_VERSION,
		.type = record->type,
		.flags = record->absolute ? RECORD_ABSOLUTE : 0,
		.queue_length = record->queue_length,
		.key_length = htole16((uint16_t)record->key.length),
		.payload_length = htole32(record->payload_length),
		.deliveries = htole32(record->deliveries),
		.at_ns = htole64(record->at_ns),
		.wall_ns = htole64(record->wall_ns),
		.deadline_ns = htole64(record->deadline_ns),
		.lease_ns = htole64(record->lease_ns),
	};

	unsigned char *end = bytes + sizeof(header);

	memcpy(header.token, record->token, TOKEN_SIZE);
	memcpy(bytes, &header, sizeof(header));
	end = record_append(end, record->key.text, record->key.length);
	end = record_append(end, record->queue, record->queue_length);
	end = record_append(end, record->payload, record->payload_length);
	header.checksum = record_checksum(bytes, (size_t)(end - bytes));
	memcpy(bytes, &header, sizeof(header));
}

bool record_decode(struct record *record, const unsigned char *bytes, size_t size)
{
	struct record_header header;

	if (size < sizeof(header))
		return false;
	memcpy(&header, bytes, sizeof(header));
	if (header.version != RECORD_VERSION ||
	    header.type < RECORD_PUT || header.type > RECORD_ACK ||
	    (header.flags & ~RECORD_ABSOLUTE) || header.reserved ||
	    header.queue_length > QUEUE_MAX ||
	    !header.key_length || le16toh(header.key_length) > KEY_MAX ||
	    le32toh(header.payload_length) > PAYLOAD_MAX)
		return false;
	*record = (struct record) {
		.type = header.type,
		.absolute = header.flags & RECORD_ABSOLUTE,
		.deliveries = le32toh(header.deliveries),
		.at_ns = le64toh(header.at_ns),
		.wall_ns = le64toh(header.wall_ns),
		.deadline_ns = le64toh(header.deadline_ns),
		.lease_ns = le64toh(header.lease_ns),
		.key.length = le16toh(header.key_length),
		.queue_length = header.queue_length,
		.payload_length = le32toh(header.payload_length),
	};
	memcpy(record->token, header.token, TOKEN_SIZE);
	record->key.text = (const char *)bytes + sizeof(header);
	record->queue = record->key.text + record->key.length;
	record->payload = record->queue + record->queue_length;
	return size == record_size(record) && header.checksum == record_checksum(bytes, size) &&
	       (record->queue_length || record->type > RECORD_RESTART);
}
