/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_REGISTRY_H
#define _HWHEEL_REGISTRY_H

struct hwheel;
struct module;

void hwheel_registry_init(void);
void hwheel_registry_exit(void);

struct hwheel *hwheel_registry_disown(const struct module *module);

#endif /* _HWHEEL_REGISTRY_H */
