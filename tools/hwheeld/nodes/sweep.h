/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A take that does not wait asks the other nodes one after the other, until one has something. It
 * begins with another node each time, so that none is forgotten.
 */
#ifndef SWEEP_H
#define SWEEP_H

#include "http/request.h"

bool sweep_pass(struct request *request, bool is_due_here);

#endif /* SWEEP_H */
