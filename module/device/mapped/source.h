/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_MAPPED_SOURCE_H
#define _HWHEEL_MAPPED_SOURCE_H

struct hwheel;
struct hwheel_mapping;

void hwheel_map_source_init(struct hwheel_mapping *map, struct hwheel *wheel);

#endif /* _HWHEEL_MAPPED_SOURCE_H */
