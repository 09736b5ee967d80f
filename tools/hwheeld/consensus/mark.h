/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The file with the state of the store that this node has seen, of one line: identity, revision
 * and session. The revision need not be newer than the machine's last seconds: a store that was
 * restored is older by more. A lock on a file beside it is held until the process ends.
 */
#ifndef MARK_H
#define MARK_H

#include "consensus/consensus.h"

/* A mark of zeros if there is no file. Returns 0 or -EINVAL, and says what is wrong. */
int mark_read(const char *path, struct consensus_mark *mark);

/* Says it if that fails. */
void mark_write(const char *path, const struct consensus_mark *mark);

#endif /* MARK_H */
