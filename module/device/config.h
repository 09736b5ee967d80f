/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_CONFIG_H
#define _HWHEEL_CONFIG_H

struct hwheel;
struct hwheel_config;
struct hwheel_file;

#define HWHEEL_MAX_TICK_NS	(3600 * (u64)NSEC_PER_SEC)

void hwheel_config_init(unsigned int max);
int hwheel_config_apply(struct hwheel_file *file,
			const struct hwheel_config *config,
			     unsigned int max_timeouts);
void hwheel_config_destroy(struct hwheel_file *file);

#endif /* _HWHEEL_CONFIG_H */
