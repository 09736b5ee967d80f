/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_REGISTRY_H
#define _HWHEEL_REGISTRY_H

struct hwheel;
struct module;

void hwheel_registry_exit(void);

void hwheel_registry_add(struct hwheel *wheel, struct module *owner,
			 const char *creator);
void hwheel_registry_remove(struct hwheel *wheel);
struct hwheel *hwheel_registry_disown(const struct module *module);

#endif /* _HWHEEL_REGISTRY_H */
