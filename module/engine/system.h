/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_SYSTEM_H
#define _HWHEEL_SYSTEM_H

int hwheel_system_init(void);
void hwheel_system_exit(void);

#endif /* _HWHEEL_SYSTEM_H */
