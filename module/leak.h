/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_LEAK_H
#define _HWHEEL_LEAK_H

#ifdef CONFIG_MODULES
int hwheel_leak_init(void);
void hwheel_leak_exit(void);
#else
static inline int hwheel_leak_init(void)
{
	return 0;
}

static inline void hwheel_leak_exit(void)
{
}
#endif

#endif /* _HWHEEL_LEAK_H */
