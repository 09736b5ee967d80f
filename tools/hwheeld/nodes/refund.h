/* SPDX-License-Identifier: GPL-2.0-only */
/* Leases that another node has given, and that no client gets, go back to it. */
#ifndef REFUND_H
#define REFUND_H

struct json_object;

/* @timeouts: as the other node has sent them. Without an answer the leases end by themselves. */
void refund(const char *address, struct json_object *timeouts);

#endif /* REFUND_H */
