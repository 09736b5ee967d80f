/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_DEADLINE_H
#define _HWHEEL_DEADLINE_H

#include <linux/types.h>

struct hwheel;
struct hwheel_entry;
struct hwheel_set;
struct hwheel_timeout;

void hwheel_deadline_init(struct hwheel_set *set);

u64 hwheel_time_to_user(const struct hwheel_set *set,
			const struct hwheel *wheel, u64 ns);
u64 hwheel_time_from_user(const struct hwheel_set *set,
			  const struct hwheel *wheel, u64 ns);

void hwheel_deadline_tell(struct hwheel_entry *entry);
void hwheel_deadline_tell_end(struct hwheel_entry *entry);
u64 hwheel_deadline_effective(const struct hwheel_entry *entry);
void hwheel_deadline_due(struct hwheel_timeout *timeout);

#endif /* _HWHEEL_DEADLINE_H */
