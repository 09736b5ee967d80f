/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_ENTRY_H
#define _HWHEEL_ENTRY_H

#include <linux/types.h>

struct hwheel;
struct hwheel_entry;
struct hwheel_file;

struct hwheel_entry *hwheel_entry_add(struct hwheel_file *file);
void hwheel_entry_drop(struct hwheel_entry *entry);
void hwheel_entry_drop_locked(struct hwheel_entry *entry);

int hwheel_entry_arm_at(struct hwheel_entry *entry, u64 deadline_ns);
int hwheel_entry_refresh_at(struct hwheel_file *file, struct hwheel *wheel, u64 id,
			    u64 deadline_ns);
int hwheel_entry_set_at(struct hwheel_file *file, struct hwheel *wheel, u64 *id, u64 cookie,
			u64 deadline_ns);
int hwheel_entry_cancel(struct hwheel_file *file, u64 id);
int hwheel_entry_withdraw(struct hwheel_file *file, u64 id);
int hwheel_entry_query(struct hwheel_file *file, struct hwheel *wheel, u64 id,
		       u64 *cookie, u64 *deadline_ns);

#endif /* _HWHEEL_ENTRY_H */
