/* SPDX-License-Identifier: GPL-2.0-only */
/* Protocol buffers: fields of numbers and bytes, which is all that etcd's messages have. */
#ifndef PROTOBUF_H
#define PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A message that is being written; zeros begin one, and its bytes are freed with free(). */
struct protobuf {
	unsigned char *bytes;
	size_t size, room;
};

/* Numbers that are 0 are left out, as that is what an absent one is. */
void protobuf_number(struct protobuf *message, unsigned int field, uint64_t number);
void protobuf_bytes(struct protobuf *message, unsigned int field, const void *bytes, size_t size);
void protobuf_text(struct protobuf *message, unsigned int field, const char *text);

/* What is written between the two is a message within the message. */
size_t protobuf_open(struct protobuf *message, unsigned int field);
void protobuf_close(struct protobuf *message, size_t opened);

/* A message that is being read, field by field */
struct protobuf_field {
	const unsigned char *at, *end;	/* of what is left */
	unsigned int field;
	uint64_t number;		/* or the size of the bytes */
	const unsigned char *bytes;	/* NULL: it is a number */
};

void protobuf_read(struct protobuf_field *field, const void *bytes, size_t size);

/* Reads the message within the message that @field is at. */
void protobuf_enter(struct protobuf_field *inner, const struct protobuf_field *field);

/* Goes to the next field. Returns false at the end, and where the message is damaged. */
bool protobuf_next(struct protobuf_field *field);

#endif /* PROTOBUF_H */
