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

#include "chardev.h"
#include "config.h"
#include "event.h"
#include "file.h"
#include "file_stop.h"
#include "info.h"
#include "ioctl_op.h"
#include "mapped_file.h"
#include "publish.h"

static_assert(sizeof(struct hwheel_op) == 40);
static_assert(sizeof(struct hwheel_submit) == 16);
static_assert(sizeof(struct hwheel_event) == 40);
static_assert(sizeof(struct hwheel_info) == 112);
static_assert(sizeof(struct hwheel_config) == 80);
static_assert(sizeof(struct hwheel_file_stats) == 296);
static_assert(sizeof(struct hwheel_map) == 56);
static_assert(sizeof(struct hwheel_map_header) == 384);
static_assert(sizeof(struct hwheel_map_list) == 128);
static_assert(sizeof(struct hwheel_map_record) == 32);

static unsigned int max_timeouts;

static int device_open(struct inode *inode, struct file *filp)
{
	struct hwheel_file *file = hwheel_file_create(filp->f_cred, max_timeouts);

	if (IS_ERR(file))
		return PTR_ERR(file);
	hwheel_publish_init(file);
	filp->private_data = file;
	filp->f_mode |= FMODE_NOWAIT;
	return stream_open(inode, filp);
}

static int device_release(struct inode *inode, struct file *filp)
{
	struct hwheel_file *file = filp->private_data;

	hwheel_file_end(file);
	hwheel_config_destroy(file);
	hwheel_file_free(file);
	return 0;
}

static int device_info(const struct hwheel_file *file, void __user *argp)
{
	struct hwheel_info info;

	hwheel_info_get(file, &info);
	return copy_to_user(argp, &info, sizeof(info)) ? -EFAULT : 0;
}

static int device_stats(struct hwheel_file *file, void __user *argp)
{
	struct hwheel_file_stats stats;

	hwheel_info_stats(file, &stats);
	return copy_to_user(argp, &stats, sizeof(stats)) ? -EFAULT : 0;
}

static int device_config(struct hwheel_file *file, const void __user *argp)
{
	struct hwheel_config config;

	if (copy_from_user(&config, argp, sizeof(config)))
		return -EFAULT;
	return hwheel_config_apply(file, &config, max_timeouts);
}

static int device_map(struct hwheel_file *file, void __user *argp)
{
	struct hwheel_map arg;
	int err;

	if (copy_from_user(&arg, argp, sizeof(arg)))
		return -EFAULT;
	/* Before anything is made: what is written is 0 or was there. */
	if (copy_to_user(argp, &arg, sizeof(arg)))
		return -EFAULT;
	err = hwheel_mapped_file_map(file, &arg);
	if (err)
		return err;
	return copy_to_user(argp, &arg, sizeof(arg)) ? -EFAULT : 0;
}

static bool changes_set(unsigned int cmd)
{
	switch (cmd) {
	case HWHEEL_IOC_ARM:
	case HWHEEL_IOC_REFRESH:
	case HWHEEL_IOC_CANCEL:
	case HWHEEL_IOC_SET:
	case HWHEEL_IOC_WITHDRAW:
	case HWHEEL_IOC_SUBMIT:
	case HWHEEL_IOC_CONFIG:
	case HWHEEL_IOC_STOP:
	case HWHEEL_IOC_MAP:
	case HWHEEL_IOC_KICK:
		return true;
	default:
		return false;
	}
}

static long device_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	struct hwheel_file *file = filp->private_data;
	void __user *argp = (void __user *)arg;

	if (unlikely(!(filp->f_mode & FMODE_WRITE)) && changes_set(cmd))
		return -EBADF;
	switch (cmd) {
	case HWHEEL_IOC_INFO:
		return device_info(file, argp);
	case HWHEEL_IOC_ARM:
		return hwheel_ioctl_op(file, HWHEEL_OP_ARM, argp);
	case HWHEEL_IOC_REFRESH:
		return hwheel_ioctl_op(file, HWHEEL_OP_REFRESH, argp);
	case HWHEEL_IOC_CANCEL:
		return hwheel_ioctl_op(file, HWHEEL_OP_CANCEL, argp);
	case HWHEEL_IOC_QUERY:
		return hwheel_ioctl_op(file, HWHEEL_OP_QUERY, argp);
	case HWHEEL_IOC_SET:
		return hwheel_ioctl_op(file, HWHEEL_OP_SET, argp);
	case HWHEEL_IOC_WITHDRAW:
		return hwheel_ioctl_op(file, HWHEEL_OP_WITHDRAW, argp);
	case HWHEEL_IOC_SUBMIT:
		return hwheel_ioctl_submit(file, argp);
	case HWHEEL_IOC_CONFIG:
		return device_config(file, argp);
	case HWHEEL_IOC_STOP:
		return hwheel_file_stop(file);
	case HWHEEL_IOC_STATS:
		return device_stats(file, argp);
	case HWHEEL_IOC_MAP:
		return device_map(file, argp);
	case HWHEEL_IOC_KICK:
		return hwheel_mapped_file_kick(file);
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

static int device_mmap(struct file *filp, struct vm_area_struct *vma)
{
	return hwheel_mapped_file_mmap(filp->private_data, vma);
}

static __poll_t device_poll(struct file *filp, poll_table *wait)
{
	struct hwheel_file *file = filp->private_data;

	poll_wait(filp, &file->wait, wait);
	return hwheel_event_poll(file);
}

static void device_show_fdinfo(struct seq_file *m, struct file *filp)
{
	hwheel_info_show(filp->private_data, m);
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

/* Each file may hold @max timeouts. */
int hwheel_chardev_init(unsigned int max)
{
	max_timeouts = max;
	return misc_register(&device);
}

void hwheel_chardev_exit(void)
{
	misc_deregister(&device);
}
