/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_MAPPED_FILE_H
#define _HWHEEL_MAPPED_FILE_H

#include <linux/poll.h>

struct hwheel_file;
struct hwheel_map;
struct vm_area_struct;

int hwheel_mapped_file_map(struct hwheel_file *file, struct hwheel_map *arg);
int hwheel_mapped_file_kick(struct hwheel_file *file);
int hwheel_mapped_file_mmap(struct hwheel_file *file, struct vm_area_struct *vma);
__poll_t hwheel_mapped_file_poll(const struct hwheel_file *file);
long hwheel_mapped_file_stop(struct hwheel_file *file);
void hwheel_mapped_file_end(struct hwheel_file *file);

#endif /* _HWHEEL_MAPPED_FILE_H */
