// SPDX-License-Identifier: GPL-2.0-only
#include <endian.h>
#include <string.h>

#include "consensus/contents.h"

size_t contents_cost(const struct record *record)
{
	return sizeof(uint32_t) + record_size(record);
}

unsigned char *contents_write(unsigned char *to, const struct record *record)
{
	size_t size = record_size(record);
	uint32_t length = htole32((uint32_t)size);

	memcpy(to, &length, sizeof(length));
	record_encode(record, to + sizeof(length));
	return to + sizeof(length) + size;
}

bool contents_read(const void *bytes, size_t size, uint64_t first,
		   void (*each)(void *data, struct record *record), void *data)
{
	const unsigned char *at = bytes;
	struct record record;
	uint32_t length;

	for (; size; at += length, size -= length) {
		if (size < sizeof(length))
			return false;
		memcpy(&length, at, sizeof(length));
		length = le32toh(length);
		at += sizeof(length);
		size -= sizeof(length);
		if (length > size || !record_decode(&record, at, length))
			return false;
		record.seq = first++;
		each(data, &record);
	}
	return true;
}
