// SPDX-License-Identifier: GPL-2.0-only
/*
 * /dev/hwheel: ioctls that register, move and cancel timeouts, and events to read.
 * What it does is described in include/uapi/linux/hwheel.h.
 */
#include <linux/build_bug.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/ioctl.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/uaccess.h>
#include <linux/uio.h>

#include <uapi/linux/hwheel.h>

#include "device.h"
#include "event.h"
#include "info.h"
#include "op.h"
#include "private.h"
#include "set.h"

static_assert(sizeof(struct hwheel_op) == 40);
static_assert(sizeof(struct hwheel_submit) == 16);
static_assert(sizeof(struct hwheel_event) == 40);
static_assert(sizeof(struct hwheel_info) == 112);
static_assert(sizeof(struct hwheel_config) == 40);
static_assert(sizeof(struct hwheel_statistics) == 376);

static struct hwheel *shared_wheel;
static unsigned int max_timeouts;

static int device_open(struct inode *inode, struct file *file)
{
	struct hwheel_set *set = hwheel_set_create(shared_wheel, max_timeouts);

	if (IS_ERR(set))
		return PTR_ERR(set);
	file->private_data = set;
	file->f_mode |= FMODE_NOWAIT;
	return stream_open(inode, file);
}

static int device_release(struct inode *inode, struct file *file)
{
	struct hwheel_set *set = file->private_data;
	struct hwheel *wheel = set->wheel;
	bool is_own = wheel != set->shared_wheel;

	hwheel_set_close(set);
	if (is_own)
		hwheel_private_destroy(wheel);
	return 0;
}

static int device_info(const struct hwheel_set *set, void __user *argp)
{
	struct hwheel_info info;

	hwheel_info_get(set, &info);
	return copy_to_user(argp, &info, sizeof(info)) ? -EFAULT : 0;
}

static int device_stats(struct hwheel_set *set, void __user *argp)
{
	struct hwheel_statistics stats;

	hwheel_info_statistics(set, &stats);
	return copy_to_user(argp, &stats, sizeof(stats)) ? -EFAULT : 0;
}

static int device_config(struct hwheel_set *set, const void __user *argp)
{
	struct hwheel_config config;

	if (copy_from_user(&config, argp, sizeof(config)))
		return -EFAULT;
	return hwheel_private_configure(set, &config, max_timeouts);
}

static long device_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct hwheel_set *set = file->private_data;
	void __user *argp = (void __user *)arg;

	switch (cmd) {
	case HWHEEL_IOC_INFO:
		return device_info(set, argp);
	case HWHEEL_IOC_ARM:
		return hwheel_op_single(set, HWHEEL_OP_ARM, argp);
	case HWHEEL_IOC_REFRESH:
		return hwheel_op_single(set, HWHEEL_OP_REFRESH, argp);
	case HWHEEL_IOC_CANCEL:
		return hwheel_op_single(set, HWHEEL_OP_CANCEL, argp);
	case HWHEEL_IOC_QUERY:
		return hwheel_op_single(set, HWHEEL_OP_QUERY, argp);
	case HWHEEL_IOC_SUBMIT:
		return hwheel_op_submit(set, argp);
	case HWHEEL_IOC_CONFIG:
		return device_config(set, argp);
	case HWHEEL_IOC_STOP:
		return hwheel_set_stop(set);
	case HWHEEL_IOC_STATS:
		return device_stats(set, argp);
	default:
		return -ENOTTY;
	}
}

static ssize_t device_read_iter(struct kiocb *iocb, struct iov_iter *to)
{
	bool nowait = iocb->ki_flags & IOCB_NOWAIT ||
		      iocb->ki_filp->f_flags & O_NONBLOCK;

	return hwheel_event_read(iocb->ki_filp->private_data, to, nowait);
}

static int device_mmap(struct file *file, struct vm_area_struct *vma)
{
	return hwheel_set_map(file->private_data, vma);
}

static __poll_t device_poll(struct file *file, poll_table *wait)
{
	struct hwheel_set *set = file->private_data;

	poll_wait(file, &set->wait, wait);
	return hwheel_event_poll(set);
}

static void device_show_fdinfo(struct seq_file *m, struct file *file)
{
	hwheel_info_show(file->private_data, m);
}

static const struct file_operations device_fops = {
	.owner		= THIS_MODULE,
	.open		= device_open,
	.release	= device_release,
	.read_iter	= device_read_iter,
	.poll		= device_poll,
	.unlocked_ioctl	= device_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.mmap		= device_mmap,
	.show_fdinfo	= device_show_fdinfo,
};

static struct miscdevice device = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "hwheel",
	.fops	= &device_fops,
	.mode	= 0600,
};

/* Each file may hold @max timeouts, armed on @wheel. */
int hwheel_device_init(struct hwheel *wheel, unsigned int max)
{
	shared_wheel = wheel;
	max_timeouts = max;
	return misc_register(&device);
}

void hwheel_device_exit(void)
{
	misc_deregister(&device);
}
