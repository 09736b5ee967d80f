/* SPDX-License-Identifier: GPL-2.0-only */
/* A request, or a part of one, that another node answers as a whole. */
#ifndef RELAY_H
#define RELAY_H

#include "http/request.h"

/* It gets that node's answer; or 503, if there is none for so long. */
void relay(struct request *request, const char *address, uint64_t patience_ns);

#endif /* RELAY_H */
