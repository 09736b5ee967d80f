/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_MAPPED_LIST_H
#define _HWHEEL_MAPPED_LIST_H

#include "mapping.h"

bool hwheel_map_lists_take(struct hwheel_mapping *map);
bool hwheel_map_lists_park(struct hwheel_mapping *map);
void hwheel_map_lists_wake(struct hwheel_mapping *map);
void hwheel_map_lists_close(struct hwheel_mapping *map);

#endif /* _HWHEEL_MAPPED_LIST_H */
