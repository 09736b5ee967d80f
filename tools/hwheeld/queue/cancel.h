/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A timeout ends before anybody has got it, or by the acknowledgment of a client that has; or that
 * client gives it back.
 */
#ifndef CANCEL_H
#define CANCEL_H

#include "http/request.h"

void cancel_timeout(struct request *request);

/* By DELETE the timeout ends; else it is due again, at once. */
void end_lease(struct request *request);

#endif /* CANCEL_H */
