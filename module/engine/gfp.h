/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_GFP_H
#define _HWHEEL_GFP_H

#include <linux/gfp.h>

/*
 * Memory that a process asks for, charged to it. If there is none, also because its cgroup
 * is at its limit, it gets -ENOMEM: nobody is killed for it, nor the log filled.
 */
#define HWHEEL_GFP_USER							\
	(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

#endif /* _HWHEEL_GFP_H */
