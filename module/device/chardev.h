/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_CHARDEV_H
#define _HWHEEL_CHARDEV_H

int hwheel_chardev_init(unsigned int max);
void hwheel_chardev_exit(void);

#endif /* _HWHEEL_CHARDEV_H */
