/* SPDX-License-Identifier: GPL-2.0-only */
/* What the numbers of kinds and clocks in struct hwheel_info are called. */
#ifndef NAME_H
#define NAME_H

const char *name_of_kind(unsigned int kind);
const char *name_of_clock(int clock);

/* HWHEEL_KIND_*, but for the default wheel; -1 if there is no such kind */
int kind_of_name(const char *name);

#endif /* NAME_H */
