// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "consensus/etcd/protobuf.h"
#include "memory.h"

enum {
	PROTOBUF_VARINT = 0,
	PROTOBUF_64 = 1,
	PROTOBUF_BYTES = 2,
	PROTOBUF_32 = 5,
};

/* The length of a message within a message is written with so many bytes, whatever it is. */
#define PROTOBUF_LENGTH	4

static unsigned char *protobuf_extend(struct protobuf *message, size_t more)
{
	unsigned char *end;

	if (message->size + more > message->room) {
		message->room = 2 * (message->size + more);
		message->bytes = memory_need(realloc(message->bytes, message->room));
	}
	end = message->bytes + message->size;
	message->size += more;
	return end;
}

static void protobuf_varint(struct protobuf *message, uint64_t number)
{
	for (; number > 0x7f; number >>= 7)
		*protobuf_extend(message, 1) = (unsigned char)(number | 0x80);
	*protobuf_extend(message, 1) = (unsigned char)number;
}

static void protobuf_tag(struct protobuf *message, unsigned int field, unsigned int type)
{
	protobuf_varint(message, field << 3 | type);
}

void protobuf_number(struct protobuf *message, unsigned int field, uint64_t number)
{
	if (!number)
		return;
	protobuf_tag(message, field, PROTOBUF_VARINT);
	protobuf_varint(message, number);
}

void protobuf_bytes(struct protobuf *message, unsigned int field, const void *bytes, size_t size)
{
	protobuf_tag(message, field, PROTOBUF_BYTES);
	protobuf_varint(message, size);
	if (size)
		memcpy(protobuf_extend(message, size), bytes, size);
}

void protobuf_text(struct protobuf *message, unsigned int field, const char *text)
{
	protobuf_bytes(message, field, text, strlen(text));
}

size_t protobuf_open(struct protobuf *message, unsigned int field)
{
	protobuf_tag(message, field, PROTOBUF_BYTES);
	protobuf_extend(message, PROTOBUF_LENGTH);
	return message->size;
}

void protobuf_close(struct protobuf *message, size_t opened)
{
	size_t size = message->size - opened;

	for (size_t i = 0; i < PROTOBUF_LENGTH; i++)
		message->bytes[opened - PROTOBUF_LENGTH + i] = (unsigned char)
			((size >> 7 * i & 0x7f) | (i < PROTOBUF_LENGTH - 1 ? 0x80 : 0));
}

void protobuf_read(struct protobuf_field *field, const void *bytes, size_t size)
{
	*field = (struct protobuf_field) { .at = bytes };
	field->end = field->at + size;
}

void protobuf_enter(struct protobuf_field *inner, const struct protobuf_field *field)
{
	protobuf_read(inner, field->bytes, field->bytes ? field->number : 0);
}

static bool protobuf_read_varint(struct protobuf_field *field, uint64_t *number)
{
	*number = 0;
	for (unsigned int shift = 0; shift < 64 && field->at < field->end; shift += 7) {
		*number |= (uint64_t)(*field->at & 0x7f) << shift;
		if (!(*field->at++ & 0x80))
			return true;
	}
	return false;
}

/* No message here has fields of fixed sizes that mean anything. */
bool protobuf_next(struct protobuf_field *field)
{
	uint64_t tag, size;

	if (!protobuf_read_varint(field, &tag))
		return false;
	field->field = (unsigned int)(tag >> 3);
	field->bytes = NULL;
	switch (tag & 7) {
	case PROTOBUF_VARINT:
		return protobuf_read_varint(field, &field->number);
	case PROTOBUF_BYTES:
		if (!protobuf_read_varint(field, &size))
			return false;
		break;
	case PROTOBUF_64:
		size = 8;
		break;
	case PROTOBUF_32:
		size = 4;
		break;
	default:
		return false;
	}
	if (size > (size_t)(field->end - field->at))
		return false;
	field->bytes = field->at;
	field->number = size;
	field->at += size;
	return true;
}
