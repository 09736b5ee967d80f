/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_OP_H
#define _HWHEEL_OP_H

#include <linux/types.h>

struct hwheel_op;
struct hwheel_set;
struct hwheel_submit;

long hwheel_op_single(struct hwheel_set *set, u32 code,
		      struct hwheel_op __user *user);
long hwheel_op_submit(struct hwheel_set *set,
		      const struct hwheel_submit __user *argp);

#endif /* _HWHEEL_OP_H */
