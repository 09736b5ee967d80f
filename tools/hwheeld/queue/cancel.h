/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A timeout ends before anybody has got it, or by the acknowledgment of a client that has; or that
 * client gives it back.
 */
#ifndef CANCEL_H
#define CANCEL_H

#include "http/exchange.h"

void cancel_timeout(struct exchange *exchange, const char *key, size_t length);
void cancel_lease(struct exchange *exchange, const char *token);

/* Gives the lease back: the timeout is due again, at once. */
void return_lease(struct exchange *exchange, const char *token);

#endif /* CANCEL_H */
