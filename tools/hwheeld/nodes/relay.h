/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A request, or a part of one, that another node answers as a whole. A part is answered by its
 * take_answer(), which frees it.
 */
#ifndef RELAY_H
#define RELAY_H

#include "http/request.h"

/*
 * It gets that node's answer; or 503, if there is none for so long. Another node gets a take as it
 * was read, not its path's parameters.
 */
void relay(struct request *request, const char *address, uint64_t patience_ns);

/* Has the answer begun to come? */
bool relay_has_begun(const struct request *request);

/* Ends the part without an answer, and frees it. The other node notices. */
void relay_cancel(struct request *part);

#endif /* RELAY_H */
