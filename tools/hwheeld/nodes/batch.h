/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A put of many timeouts, which several nodes have: each node gets its part, and the answers are
 * put together. A part happens as a whole, or not at all.
 */
#ifndef BATCH_H
#define BATCH_H

#include "http/request.h"

bool batch_pass(struct request *request);

#endif /* BATCH_H */
