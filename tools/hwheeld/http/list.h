/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * GET /timeouts: a page of all timeouts that a filter lets through. A place is a shard and the
 * number of a record in its log: all nodes of a cluster have the same places.
 */
#ifndef LIST_H
#define LIST_H

#include "http/request.h"

/* Bits of a record's number in a place */
#define LIST_SHARD	52

/* The timeouts of a list */
struct list_filter {
	char queue[QUEUE_MAX + 1];	/* "": each one, as for state */
	char state[sizeof("pending")];
	char prefix[KEY_MAX + 1];
	size_t prefix_length;
	uint64_t after;			/* a place */
	uint64_t limit;			/* timeouts; 0: is there one? */
	uint64_t bytes;			/* of payloads: one at least fits on an empty page */
	bool has_payload;
};

void list(struct request *request);

/* The page may have less then. Returns false if there is no memory for a single timeout. */
bool list_fit_memory(struct list_filter *filter);

/* Of a timeout that is on the page */
void list_count(struct list_filter *filter, size_t payload_length);

/* A page. It takes over @array. @next: NULL: this is the last one */
void list_answer(struct request *request, struct json_object *array, const uint64_t *next);

#endif /* LIST_H */
