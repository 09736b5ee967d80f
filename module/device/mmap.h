/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_MMAP_H
#define _HWHEEL_MMAP_H

#include <linux/types.h>

struct hwheel_file;
struct vm_area_struct;

void hwheel_mmap_publish_all(struct hwheel_file *file, u32 first);
int hwheel_mmap(struct hwheel_file *file, struct vm_area_struct *vma);

#endif /* _HWHEEL_MMAP_H */
