/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_MMAP_WORD_H
#define _HWHEEL_MMAP_WORD_H

#include <linux/compiler.h>
#include <linux/types.h>

#include "file.h"

void hwheel_mmap_word_write(struct hwheel_entry *entry);
void hwheel_mmap_word_clear(struct hwheel_entry *entry);
u64 hwheel_mmap_word_effective(const struct hwheel_entry *entry);
void hwheel_mmap_word_due(struct hwheel_timeout *timeout);

/* Most files map no deadlines. If they are about to, hwheel_mmap() writes them later. */

static inline void hwheel_mmap_word_publish(struct hwheel_entry *entry)
{
	if (READ_ONCE(entry->file->shared.pages))
		hwheel_mmap_word_write(entry);
}

static inline void hwheel_mmap_word_publish_end(struct hwheel_entry *entry)
{
	if (READ_ONCE(entry->file->shared.pages))
		hwheel_mmap_word_clear(entry);
}

#endif /* _HWHEEL_MMAP_WORD_H */
