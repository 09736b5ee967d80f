/* SPDX-License-Identifier: LGPL-2.1-only OR MIT */
/*
 * libhwheel: time-outs from the hwheel kernel module for a program.
 *
 * A handle is a private set of time-outs. Register them with hwheel_arm(), move
 * them with hwheel_refresh(), end them with hwheel_cancel(); those that expire
 * are read as events with hwheel_next_events(), and hwheel_fd() gives the
 * descriptor that poll() and epoll wait on.
 *
 * Times are nanoseconds of CLOCK_MONOTONIC. No event comes before its deadline;
 * it comes less than one tick (see hwheel_info()) plus a wake-up after it.
 *
 * Every function but hwheel_fd() returns 0 (hwheel_next_events(): a count) or a
 * negative errno, and may be called from any thread at any time on any handle,
 * except that a handle must not be in use when hwheel_close() is called on it.
 * After fork() both processes share the handle's set of time-outs.
 */
#ifndef LIBHWHEEL_H
#define LIBHWHEEL_H

#include <stddef.h>
#include <stdint.h>

#include <linux/hwheel.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where the module's device is */
#define HWHEEL_DEVICE		"/dev/hwheel"

/* For hwheel_open(): hwheel_next_events() does not wait */
#define HWHEEL_NONBLOCK		0x1U

/* One open set of time-outs; what is in it is the library's own affair */
struct hwheel;

/**
 * hwheel_open() - make an empty set of time-outs
 * @wheel: out: the handle; written only on success
 * @flags: 0 or HWHEEL_NONBLOCK
 *
 * The descriptor behind it is closed on exec.
 *
 * Return: 0; -EINVAL: unknown flag; -ENOENT: the module is not loaded; -EACCES:
 * the device is not open to this user; -EMFILE, -ENFILE, -ENOMEM.
 */
int hwheel_open(struct hwheel **wheel, unsigned int flags);

/**
 * hwheel_close() - free a handle and every time-out in it
 * @wheel: the handle, or NULL; not to be used again, whatever is returned
 *
 * Pending time-outs end without an event and unread events are dropped, once no
 * other process has the descriptor open.
 *
 * Return: 0 or a negative errno of close().
 */
int hwheel_close(struct hwheel *wheel);

/**
 * hwheel_fd() - the descriptor to wait on
 * @wheel: the handle
 *
 * For poll(), epoll and the like: readable when an event waits. It belongs to the
 * handle: do not read or close it.
 *
 * Return: the descriptor; never fails.
 */
int hwheel_fd(const struct hwheel *wheel);

/**
 * hwheel_info() - what the handle can do and what its wheel is like
 * @wheel: the handle
 * @info:  out: tick in ns, limits, features; written only on success
 *
 * Return: 0 or -EFAULT.
 */
int hwheel_info(const struct hwheel *wheel, struct hwheel_info *info);

/**
 * hwheel_map() - have refreshes be stores
 * @wheel: the handle; not in use by others yet
 *
 * From now on hwheel_refresh() and hwheel_refresh_at() make no system call to set a
 * deadline that is later than before and less than 12 hours from now (half a turn on a
 * simple wheel): they store it where the module looks when the time-out is due. Costs 8
 * bytes of memory for each time-out that the handle may hold. Who refreshes, also after
 * fork(), must be in the time namespace in which the handle was opened.
 *
 * Return: 0, also if it was done before; -EOPNOTSUPP: the module can't do this; -ENOMEM;
 * -EAGAIN: more than may be locked in memory (mlockall()); -EINTR: killed.
 */
int hwheel_map(struct hwheel *wheel);

/**
 * hwheel_arm() - register a time-out that expires after a delay
 * @wheel:    the handle
 * @delay_ns: from now, in ns; 0 means at the next tick, and what is beyond the
 *            clock's range (292 years) never
 * @cookie:   any number; the event brings it back
 * @id:       out: names the time-out for refresh and cancel, never 0; it is there
 *            before the event can be read, also by another thread
 *
 * Return: 0; -ENOSPC: the handle holds as many time-outs as it may; -EAGAIN: the
 * wheel does; -ENOMEM; -EFAULT. On failure nothing is armed.
 */
int hwheel_arm(struct hwheel *wheel, uint64_t delay_ns, uint64_t cookie, uint64_t *id);

/**
 * hwheel_arm_at() - register a time-out that expires at a point in time
 * @wheel:       the handle
 * @deadline_ns: in ns on CLOCK_MONOTONIC; in the past means by the next tick
 * @cookie:      as for hwheel_arm()
 * @id:          as for hwheel_arm()
 *
 * Return: as hwheel_arm().
 */
int hwheel_arm_at(struct hwheel *wheel, uint64_t deadline_ns, uint64_t cookie, uint64_t *id);

/**
 * hwheel_refresh() - give a pending time-out another deadline, a delay from now
 * @wheel:    the handle
 * @id:       of the time-out
 * @delay_ns: from now, in ns
 *
 * After hwheel_map() it may come too late and return 0 all the same, in the moment in which
 * the time-out expires: the event's deadline_ns tells which deadline counted. And an id
 * whose time-out has ended may then mean another one of this handle, which is delayed.
 *
 * Return: 0; -ENOENT: it is not pending (any more), and nothing was changed.
 */
int hwheel_refresh(struct hwheel *wheel, uint64_t id, uint64_t delay_ns);

/**
 * hwheel_refresh_at() - give a pending time-out another deadline
 * @wheel:       the handle
 * @id:          of the time-out
 * @deadline_ns: in ns on CLOCK_MONOTONIC
 *
 * Return: as hwheel_refresh().
 */
int hwheel_refresh_at(struct hwheel *wheel, uint64_t id, uint64_t deadline_ns);

/**
 * hwheel_cancel() - end a pending time-out
 * @wheel: the handle
 * @id:    of the time-out
 *
 * Return: 0: it was pending, and no event will come; -EALREADY: it had expired
 * (its event comes or came) or was cancelled; -ENOENT: this handle never had that
 * id.
 */
int hwheel_cancel(struct hwheel *wheel, uint64_t id);

/**
 * hwheel_next_events() - take the events that wait
 * @wheel:  the handle
 * @events: out: room for @count events
 * @count:  how many fit, at least 1
 *
 * Waits for the first event, unless the handle was opened with HWHEEL_NONBLOCK.
 * Each event is returned once, to one caller.
 *
 * Return: how many were written; 0: none, and none will come any more; -EAGAIN:
 * none now (HWHEEL_NONBLOCK); -EINTR: a signal came first; -EINVAL: @count is 0;
 * -EFAULT.
 */
int hwheel_next_events(struct hwheel *wheel, struct hwheel_event *events, size_t count);

#ifdef __cplusplus
}
#endif

#endif /* LIBHWHEEL_H */
