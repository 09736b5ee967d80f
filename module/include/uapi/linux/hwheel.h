/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * /dev/hwheel: time-outs for userspace on a hashed wheel timer.
 *
 * Each open file is a private set of time-outs. ioctls register, move and
 * cancel them, read() returns those that expired, poll() tells when there are
 * some. Closing the last descriptor of the file frees everything, whatever is
 * pending.
 *
 * All times are nanoseconds of CLOCK_MONOTONIC, as it is outside of any time
 * namespace. No time-out is ever reported before its deadline; it is reported
 * less than one tick plus the wake-up latency of the wheel's worker after it.
 * Several time-outs that expire at one edge (multiple of the tick) are reported
 * in no particular order.
 *
 * Structures are never versioned: a new need gets a new command, and
 * HWHEEL_IOC_INFO tells which are there. A command that is not known fails with
 * ENOTTY, an unknown flag or a nonzero reserved field with EINVAL, and a bad
 * pointer with EFAULT; in each case nothing was changed.
 */
#ifndef _UAPI_LINUX_HWHEEL_H
#define _UAPI_LINUX_HWHEEL_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* Values of hwheel_op.op */
#define HWHEEL_OP_ARM		1
#define HWHEEL_OP_REFRESH	2
#define HWHEEL_OP_CANCEL	3

/*
 * hwheel_op.flags for HWHEEL_OP_ARM and HWHEEL_OP_REFRESH: time_ns is a point in
 * time on CLOCK_MONOTONIC, not a delay from now. One that is past fires at once, at
 * the next edge at the latest.
 */
#define HWHEEL_ABSOLUTE		0x1

/**
 * struct hwheel_op - one operation on one timeout
 * @op:       in: HWHEEL_OP_*. An ioctl that names the operation itself takes 0 as
 *            well.
 * @flags:    in: HWHEEL_ABSOLUTE or 0. 0 for HWHEEL_OP_CANCEL.
 * @result:   for operations in a batch; a single one's is what its ioctl returns,
 *            and this is neither read nor written
 * @reserved: in: must be 0
 * @id:       out for HWHEEL_OP_ARM, else in: names the timeout within its file.
 *            Never 0. Ids are not used again: that of a timeout which has ended
 *            never comes to mean another one.
 * @cookie:   in for HWHEEL_OP_ARM, else ignored: comes back in the event
 * @time_ns:  in for HWHEEL_OP_ARM and HWHEEL_OP_REFRESH, else ignored: the delay,
 *            or the deadline with HWHEEL_ABSOLUTE, in ns. Any value is valid: 0
 *            means the next edge, and what lies beyond the clock's range (292
 *            years) means never.
 */
struct hwheel_op {
	__u32 op;
	__u32 flags;
	__s32 result;
	__u32 reserved;
	__u64 id;
	__u64 cookie;
	__u64 time_ns;
};

/* Values of hwheel_event.type */
#define HWHEEL_EVENT_EXPIRED	1

/**
 * struct hwheel_event - what read() returns, one for each timeout that expired
 * @id:          of the timeout; unknown from now on
 * @cookie:      as given to HWHEEL_OP_ARM
 * @deadline_ns: when it was due, as last armed or refreshed (rounded up to 8 ns)
 * @fired_ns:    when the wheel fired it, never less than @deadline_ns
 * @type:        HWHEEL_EVENT_EXPIRED
 * @reserved:    0
 *
 * read() returns as many whole events as there are and fit: EINVAL if not one
 * fits, EAGAIN if there is none and the file is non-blocking. An event whose
 * copy faults is not lost: the next read() returns it.
 */
struct hwheel_event {
	__u64 id;
	__u64 cookie;
	__u64 deadline_ns;
	__u64 fired_ns;
	__u32 type;
	__u32 reserved;
};

/* Values of hwheel_info.kind */
#define HWHEEL_KIND_HASHED	1	/* one level, far time-outs wait in rounds */
#define HWHEEL_KIND_HIERARCHICAL 2	/* several, far time-outs come down in time */
#define HWHEEL_KIND_SIMPLE	3	/* one level, no rounds: a turn is the limit */

/**
 * struct hwheel_info - what this file can do and what its wheel is like
 * @features:     mask of HWHEEL_FEATURE_*; none is defined so far
 * @tick_ns:      the wheel's tick, as effective
 * @max_timeouts: how many time-outs this file may hold at a time
 * @max_pending:  how many may be pending on the whole wheel; 0: no limit
 * @slots:        slots of a level
 * @levels:       levels of the wheel
 * @kind:         HWHEEL_KIND_*
 * @clock:        clockid_t of all times: CLOCK_MONOTONIC
 * @reserved:     0
 */
struct hwheel_info {
	__u64 features;
	__u64 tick_ns;
	__u64 max_timeouts;
	__u64 max_pending;
	__u32 slots;
	__u32 levels;
	__u32 kind;
	__u32 clock;
	__u64 reserved[8];
};

/* 0xBD is free in Documentation/userspace-api/ioctl/ioctl-number.rst */
#define HWHEEL_IOC_MAGIC	0xBD

/*
 * INFO fills a struct hwheel_info.
 *
 * ARM makes a timeout pending. The id is written before the timeout can fire, and
 * names nothing if the ioctl fails after that.
 * ENOSPC: the file holds max_timeouts already (one that expired counts until its
 * event was read, a cancelled one until the worker let go of it, within a tick).
 * ENOMEM. EAGAIN: max_pending reached. On any failure nothing is armed.
 *
 * REFRESH gives a pending timeout another deadline, later or earlier. ENOENT: it
 * is not pending (any more).
 *
 * CANCEL ends a pending timeout: no event will come. EALREADY: the timeout had
 * expired or was cancelled before, whether its event was read or not. ENOENT: this
 * file never had that id (for some that were passed over: EALREADY).
 */
#define HWHEEL_IOC_INFO		_IOR(HWHEEL_IOC_MAGIC, 0x00, struct hwheel_info)
#define HWHEEL_IOC_ARM		_IOWR(HWHEEL_IOC_MAGIC, 0x01, struct hwheel_op)
#define HWHEEL_IOC_REFRESH	_IOW(HWHEEL_IOC_MAGIC, 0x02, struct hwheel_op)
#define HWHEEL_IOC_CANCEL	_IOW(HWHEEL_IOC_MAGIC, 0x03, struct hwheel_op)

#endif /* _UAPI_LINUX_HWHEEL_H */
