/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_MAPPED_DRAIN_H
#define _HWHEEL_MAPPED_DRAIN_H

#include "mapping.h"

void hwheel_map_drain(struct hwheel_mapping *map);
bool hwheel_map_is_drained(const struct hwheel_mapping *map);

#endif /* _HWHEEL_MAPPED_DRAIN_H */
