/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_DEBUGFS_H
#define _HWHEEL_DEBUGFS_H

struct hwheel;

int hwheel_debugfs_init(void);
void hwheel_debugfs_exit(void);

void hwheel_debugfs_add(struct hwheel *wheel);
void hwheel_debugfs_add_later(struct hwheel *wheel);
void hwheel_debugfs_remove(struct hwheel *wheel);

#endif /* _HWHEEL_DEBUGFS_H */
