/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_INFO_H
#define _HWHEEL_INFO_H

struct hwheel_info;
struct hwheel_set;
struct hwheel_statistics;
struct seq_file;

void hwheel_info_get(const struct hwheel_set *set, struct hwheel_info *info);
void hwheel_info_statistics(struct hwheel_set *set,
			    struct hwheel_statistics *stats);
void hwheel_info_show(struct hwheel_set *set, struct seq_file *m);

#endif /* _HWHEEL_INFO_H */
