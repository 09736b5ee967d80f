/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_MODULE_NOTIFIER_H
#define _HWHEEL_MODULE_NOTIFIER_H

#ifdef CONFIG_MODULES
int hwheel_module_notifier_init(void);
void hwheel_module_notifier_exit(void);
#else
static inline int hwheel_module_notifier_init(void)
{
	return 0;
}

static inline void hwheel_module_notifier_exit(void)
{
}
#endif

#endif /* _HWHEEL_MODULE_NOTIFIER_H */
