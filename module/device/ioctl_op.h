/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HWHEEL_IOCTL_OP_H
#define _HWHEEL_IOCTL_OP_H

#include <linux/types.h>

struct hwheel_op;
struct hwheel_file;
struct hwheel_submit;

long hwheel_ioctl_op(struct hwheel_file *file, u32 code,
		     struct hwheel_op __user *user);
long hwheel_ioctl_submit(struct hwheel_file *file,
			 const struct hwheel_submit __user *argp);

#endif /* _HWHEEL_IOCTL_OP_H */
