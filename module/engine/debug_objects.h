/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Debug objects: has the kernel name a timeout that is freed, or set up again, while the wheel
 * refers to it. Nothing where the kernel is without CONFIG_DEBUG_OBJECTS.
 */
#ifndef _HWHEEL_DEBUG_OBJECTS_H
#define _HWHEEL_DEBUG_OBJECTS_H

#include <linux/atomic.h>

struct hwheel_timeout;

#ifdef CONFIG_DEBUG_OBJECTS

extern atomic_t hwheel_debug_found;

void hwheel_debug_init(struct hwheel_timeout *timeout);
void hwheel_debug_reference(struct hwheel_timeout *timeout);
void hwheel_debug_unreference(struct hwheel_timeout *timeout);

#else

static inline void hwheel_debug_init(struct hwheel_timeout *timeout)
{
}

static inline void hwheel_debug_reference(struct hwheel_timeout *timeout)
{
}

static inline void hwheel_debug_unreference(struct hwheel_timeout *timeout)
{
}

#endif

#endif /* _HWHEEL_DEBUG_OBJECTS_H */
