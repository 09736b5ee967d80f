/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_MAPPED_EXPIRE_H
#define _HWHEEL_MAPPED_EXPIRE_H

#include "mapping.h"

bool hwheel_map_expire(struct hwheel_mapping *map);
bool hwheel_map_move(struct hwheel_mapping *map);

#endif /* _HWHEEL_MAPPED_EXPIRE_H */
