// SPDX-License-Identifier: GPL-2.0-only
/*
 * /dev/hwheel: ioctls that register, move and cancel timeouts, and events to read.
 * What it does is described in include/uapi/linux/hwheel.h.
 *
 * A command copies in, validates, changes, copies out. An id is copied out before its
 * timeout is armed, so that there is nothing to undo when the copy faults.
 */
#include <linux/build_bug.h>
#include <linux/fs.h>
#include <linux/ioctl.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/uaccess.h>
#include <linux/uio.h>

#include <uapi/linux/hwheel.h>

#include "device.h"
#include "set.h"
#include "wheel.h"

static_assert(sizeof(struct hwheel_op) == 40);
static_assert(sizeof(struct hwheel_event) == 40);
static_assert(sizeof(struct hwheel_info) == 112);

/* How many events are copied out in one go */
#define READ_BATCH	64

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
	hwheel_set_close(file->private_data);
	return 0;
}

/*
 * Copies an operation in. @flags are those it may have; the operation itself may be
 * named in the record or not.
 */
static int get_op(struct hwheel_op *op, const void __user *argp, u32 code,
		  u32 flags)
{
	if (copy_from_user(op, argp, sizeof(*op)))
		return -EFAULT;
	if (op->op && op->op != code)
		return -EINVAL;
	if (op->flags & ~flags || op->reserved)
		return -EINVAL;
	return 0;
}

static u64 deadline_of(const struct hwheel_set *set, const struct hwheel_op *op)
{
	if (op->flags & HWHEEL_ABSOLUTE)
		return op->time_ns;
	return hwheel_deadline_in(set->wheel, op->time_ns);
}

static int device_arm(struct hwheel_set *set, struct hwheel_op __user *argp)
{
	struct hwheel_entry *entry;
	struct hwheel_op op;
	int err;

	err = get_op(&op, argp, HWHEEL_OP_ARM, HWHEEL_ABSOLUTE);
	if (err)
		return err;
	entry = hwheel_set_add(set, op.cookie);
	if (IS_ERR(entry))
		return PTR_ERR(entry);

	err = put_user(entry->id, &argp->id) ?:
	      hwheel_arm_at(&entry->timeout, deadline_of(set, &op));
	if (err)
		hwheel_set_drop(entry);
	return err;
}

static int device_refresh(struct hwheel_set *set, const void __user *argp)
{
	struct hwheel_op op;

	return get_op(&op, argp, HWHEEL_OP_REFRESH, HWHEEL_ABSOLUTE) ?:
	       hwheel_set_refresh_at(set, op.id, deadline_of(set, &op));
}

static int device_cancel(struct hwheel_set *set, const void __user *argp)
{
	struct hwheel_op op;

	return get_op(&op, argp, HWHEEL_OP_CANCEL, 0) ?:
	       hwheel_set_cancel(set, op.id);
}

static const u32 kinds[] = {
	[HWHEEL_IS_SIMPLE]	 = HWHEEL_KIND_SIMPLE,
	[HWHEEL_IS_HASHED]	 = HWHEEL_KIND_HASHED,
	[HWHEEL_IS_HIERARCHICAL] = HWHEEL_KIND_HIERARCHICAL,
};

static int device_info(const struct hwheel_set *set, void __user *argp)
{
	const struct hwheel *wheel = set->wheel;
	struct hwheel_info info = {
		.tick_ns	= wheel->tick,
		.max_timeouts	= set->max,
		.max_pending	= wheel->max_pending,
		.slots		= wheel->slots.mask + 1,
		.levels		= wheel->slots.levels,
		.kind		= kinds[hwheel_kind(wheel)],
		.clock		= wheel->clock,
	};

	return copy_to_user(argp, &info, sizeof(info)) ? -EFAULT : 0;
}

static long device_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct hwheel_set *set = file->private_data;
	void __user *argp = (void __user *)arg;

	switch (cmd) {
	case HWHEEL_IOC_INFO:
		return device_info(set, argp);
	case HWHEEL_IOC_ARM:
		return device_arm(set, argp);
	case HWHEEL_IOC_REFRESH:
		return device_refresh(set, argp);
	case HWHEEL_IOC_CANCEL:
		return device_cancel(set, argp);
	default:
		return -ENOTTY;
	}
}

/* Copies the event whole or not at all. */
static bool copy_event(const struct hwheel_entry *entry, struct iov_iter *to)
{
	struct hwheel_event event = {
		.id		= entry->id,
		.cookie		= entry->cookie,
		.deadline_ns	= hwheel_deadline(&entry->timeout),
		.fired_ns	= entry->fired_ns,
		.type		= HWHEEL_EVENT_EXPIRED,
	};
	size_t copied = copy_to_iter(&event, sizeof(event), to);

	if (copied == sizeof(event))
		return true;
	iov_iter_revert(to, copied);
	return false;
}

/* Copies out up to a batch of events; what faults stays queued. */
static ssize_t read_batch(struct hwheel_set *set, struct iov_iter *to)
{
	size_t fit = iov_iter_count(to) / sizeof(struct hwheel_event), n = 0;
	struct hwheel_entry *entry;
	LIST_HEAD(copied);
	LIST_HEAD(taken);

	hwheel_set_take_events(set, &taken, min_t(size_t, fit, READ_BATCH));
	while ((entry = list_first_entry_or_null(&taken, struct hwheel_entry,
						 event))) {
		if (!copy_event(entry, to))
			break;
		list_move_tail(&entry->event, &copied);
		n++;
	}
	if (!list_empty(&copied))
		hwheel_set_drop_events(set, &copied);
	if (list_empty(&taken))
		return n * sizeof(struct hwheel_event);
	hwheel_set_return_events(set, &taken);
	return n ? n * sizeof(struct hwheel_event) : -EFAULT;
}

/* Copies out all the events that there are and fit. */
static ssize_t read_events(struct hwheel_set *set, struct iov_iter *to)
{
	ssize_t batch, sum = 0;

	while (iov_iter_count(to) >= sizeof(struct hwheel_event)) {
		batch = read_batch(set, to);
		if (batch <= 0)
			return sum ?: batch;
		sum += batch;
	}
	return sum;
}

static ssize_t device_read_iter(struct kiocb *iocb, struct iov_iter *to)
{
	bool nowait = iocb->ki_flags & IOCB_NOWAIT ||
		      iocb->ki_filp->f_flags & O_NONBLOCK;
	struct hwheel_set *set = iocb->ki_filp->private_data;
	ssize_t n;

	if (iov_iter_count(to) < sizeof(struct hwheel_event))
		return -EINVAL;
	while (!(n = read_events(set, to))) {
		if (nowait)
			return -EAGAIN;
		n = wait_event_interruptible(set->wait,
					     hwheel_set_has_events(set));
		if (n)
			break;
	}
	return n;
}

static __poll_t device_poll(struct file *file, poll_table *wait)
{
	struct hwheel_set *set = file->private_data;

	poll_wait(file, &set->wait, wait);
	return hwheel_set_has_events(set) ? EPOLLIN | EPOLLRDNORM : 0;
}

static const struct file_operations device_fops = {
	.owner		= THIS_MODULE,
	.open		= device_open,
	.release	= device_release,
	.read_iter	= device_read_iter,
	.poll		= device_poll,
	.unlocked_ioctl	= device_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
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
