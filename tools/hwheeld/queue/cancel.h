/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A timeout ends before anybody has got it, or by the acknowledgment of a client that has; or that
 * client gives it back.
 */
#ifndef CANCEL_H
#define CANCEL_H

#include "http/request.h"

void cancel_timeout(struct request *request);
void cancel_lease(struct request *request);

/* Gives the lease back: the timeout is due again, at once. */
void return_lease(struct request *request);

#endif /* CANCEL_H */
