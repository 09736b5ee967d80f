/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_MAPPED_STOP_H
#define _HWHEEL_MAPPED_STOP_H

#include "mapping.h"

bool hwheel_map_stop_walk(struct hwheel_mapping *map);
void hwheel_map_stop_begin(struct hwheel_mapping *map);

#endif /* _HWHEEL_MAPPED_STOP_H */
