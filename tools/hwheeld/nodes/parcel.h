/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Parcels: what several clients ask of one other node goes there together, as the commits of a
 * shard do. The text of a parcel has a line for each request, with its body behind it, and that of
 * the answer a line for each answer:
 *
 *	PUT /timeouts/KEY BYTES
 *	STATUS BYTES
 */
#ifndef PARCEL_H
#define PARCEL_H

#include "http/request.h"

void parcels_begin(struct service *service);

/* Requests that wait for an answer have got it already. */
void parcels_end(void);

/* May it go with others? Those with a condition, and those whose answers may be long, may not. */
bool parcel_takes(const struct request *request);

/* It gets that node's answer, or 503. */
void parcel_add(struct request *request, const char *address);

/* The loop has read all requests that there were: sends them. */
void parcels_flush(void);

/*
 * Requests that wait for a node that is gone are decided on anew; one that was sent may have
 * happened.
 */
void parcels_members_changed(void);

/* Another node has sent one. */
void parcel_open(struct request *request);

#endif /* PARCEL_H */
