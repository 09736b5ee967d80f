/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_PRIVATE_H
#define _HWHEEL_PRIVATE_H

struct hwheel;
struct hwheel_config;
struct hwheel_set;

#define HWHEEL_MAX_TICK_NS	(3600 * (u64)NSEC_PER_SEC)

void hwheel_private_init(unsigned int max);
int hwheel_private_configure(struct hwheel_set *set,
			     const struct hwheel_config *config,
			     unsigned int max_timeouts);
void hwheel_private_destroy(struct hwheel *wheel);

#endif /* _HWHEEL_PRIVATE_H */
