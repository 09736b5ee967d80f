/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_INFO_H
#define _HWHEEL_INFO_H

struct hwheel_file_stats;
struct hwheel_info;
struct hwheel_file;
struct seq_file;

void hwheel_info_get(const struct hwheel_file *file, struct hwheel_info *info);
void hwheel_info_stats(struct hwheel_file *file, struct hwheel_file_stats *stats);
void hwheel_info_show(struct hwheel_file *file, struct seq_file *m);

#endif /* _HWHEEL_INFO_H */
