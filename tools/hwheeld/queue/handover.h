/* SPDX-License-Identifier: GPL-2.0-only */
/* Timeouts that come from another node, or go to one, while the daemon runs. */
#ifndef HANDOVER_H
#define HANDOVER_H

#include "store/store.h"

extern const struct store_moves handover_moves;

#endif /* HANDOVER_H */
