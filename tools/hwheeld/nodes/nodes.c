// SPDX-License-Identifier: GPL-2.0-only
#include "nodes/nodes.h"

const struct nodes_ops *nodes;
