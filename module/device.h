/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_DEVICE_H
#define _HWHEEL_DEVICE_H

struct hwheel;

int hwheel_device_init(struct hwheel *wheel, unsigned int max);
void hwheel_device_exit(void);

#endif /* _HWHEEL_DEVICE_H */
