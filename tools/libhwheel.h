/* SPDX-License-Identifier: LGPL-2.1-only OR MIT */
/**
 * DOC: libhwheel
 *
 * Timeouts for a program, from the hwheel kernel module, hwheel(4), or in the process itself.
 * pkg-config has the library as hwheel.
 *
 * A handle is a private set of timeouts. hwheel_set() arms one, or moves it if it is pending;
 * hwheel_withdraw() ends it. Those that expire are taken as events with hwheel_next_events(), and
 * hwheel_fd() gives the descriptor that poll() and epoll wait on. A batch does many operations in
 * one system call.
 *
 * An idle connection: hwheel_set(wheel, &connection->id, 30 s, cookie) each time that it is heard,
 * with an id of 0 at first. An event that waits and was not taken does not come then.
 * hwheel_withdraw(wheel, connection->id) when it hangs up: after 0 no event comes, and the object
 * may be freed.
 *
 * A deadline for a request: hwheel_arm(), and hwheel_cancel() when the answer comes.
 *
 * Every second: deadline = hwheel_now(wheel), and hwheel_again(wheel, &id, &deadline, 1 s, cookie,
 * &missed) at the beginning and at each event.
 *
 * Several threads: on a mapped or local handle they set one variable without a lock; a thread that
 * has an event compares event.id with the variable. On another handle the program takes a lock
 * around both.
 *
 * Units: all times are nanoseconds, of CLOCK_MONOTONIC unless hwheel_configure()
 * chose CLOCK_BOOTTIME (hwheel_now() reads whichever it is). No event comes before
 * its deadline; it comes less than one tick (see hwheel_info()) plus a wake-up after
 * it.
 *
 * Errors: functions that can fail return a negative errno, and errno itself means
 * nothing. Nothing is printed, no signal is used, no thread is started.
 *
 * Threads: a handle may be used by any number of threads at any time, but not while
 * hwheel_configure(), the first hwheel_map() or hwheel_close() is at work on it. A batch is for
 * one thread at a time. After fork() both processes share the handle's set of timeouts, not the
 * batches; the set of a handle that is mapped is the parent's alone.
 *
 * Mapped timeouts: after hwheel_map() the functions that arm, refresh, cancel and query work in
 * memory that the program shares with the kernel. None of them makes a system call, but to make
 * more room, and to wake the kernel's worker where nothing was armed or cancelled for a while; nor
 * does hwheel_next_events() as long as there are events. Deadlines are rounded up to 1,024 ns.
 * Each thread has free records of its own, which it finds without a lock. There is a list for each
 * CPU, and threads are spread over these. The first 15 handles that are mapped at a time are the
 * fastest ones. Signal handlers must not use such a handle, and all threads have to be in the time
 * namespace in which the file was opened.
 *
 * An id that is stale gets -ENOENT. Of mapped timeouts one case remains in which it ends or moves
 * another timeout: the thread that has it stands still within hwheel_cancel() or hwheel_refresh()
 * while the very record is armed just 128 times, or a multiple of that, the last time with the
 * deadline, as rounded, that the stale timeout had. A program in which no thread uses an id while
 * another one may end that timeout is not concerned.
 *
 * Without the module: hwheel_open_local() makes a handle whose wheel is in the process, for
 * containers, other kernels and test runs; hwheel_open() does so with HWHEEL_ANYWHERE where the
 * program cannot open the device. All functions work as on the device, with these differences.
 * Each operation takes a lock, so a signal handler must not call any. It needs no system call,
 * except when the next deadline comes to be earlier, once for the events that come at a time, and
 * where threads wait for the lock. After a cancel of all that was pending the descriptor becomes
 * readable once, without an event. Nothing runs beside the program: a timeout expires when a call
 * looks at the clock, which hwheel_cancel(), hwheel_withdraw(), hwheel_arm_at(),
 * hwheel_refresh_at() and hwheel_set_at() do not. So they may still end or move one whose deadline
 * is past and whose event no call has seen, though hwheel_fd() is readable. Whatever
 * hwheel_configure() asks for, the wheel has levels and no longest delay, its tick is rounded down
 * to a power of two, and no limit is the administrator's. hwheel_map() only counts. Several
 * threads may set one variable without a lock. After hwheel_stop() the descriptor stays readable,
 * in place of EPOLLHUP. In a forked child all functions return -EBADF but hwheel_close(),
 * hwheel_fd(), hwheel_info() and hwheel_now(), and the parent's timeouts go on. A signal ends
 * hwheel_next_events() even with SA_RESTART.
 *
 * Linking: libhwheel.a is for programs. A shared object links libhwheel.so, as what each thread has
 * is at a fixed place in a program that has the archive.
 *
 * Each timeout that is armed ends once: it is cancelled, its event is withdrawn, or it has one
 * event. The object behind a cookie may be freed when hwheel_cancel() or hwheel_withdraw() has
 * returned 0, else once the event was taken. Where hwheel_cancel() or hwheel_refresh() returns
 * -ENOENT, the timeout has ended: unless it was cancelled or withdrawn, its event will come, or a
 * thread has taken it, and that thread frees the object. No event comes after hwheel_close(), so
 * the program may free those objects.
 *
 * The descriptor becomes readable with the first event and stays so until the last one was taken.
 * With EPOLLET, epoll_wait() reports new events only: a program opens the handle with
 * HWHEEL_NONBLOCK, and calls hwheel_next_events() until that returns -EAGAIN, or 0 after a stop.
 *
 * An event of one thread may come before another thread's hwheel_arm() has returned, and so
 * before the id is where that puts it. Match events by cookie, not by id. The thread that arms:
 *
 *	lock(object);
 *	error = hwheel_arm(wheel, delay_ns, (uintptr_t)object, &object->id);
 *	unlock(object);
 *
 * The thread that has the event:
 *
 *	object = (struct object *)(uintptr_t)event.cookie;
 *	lock(object);		// now object->id == event.id, and may be used
 *	unlock(object);		// now object may be freed
 *
 * The lock has to be taken around hwheel_arm() if the object is looked at, armed again or freed
 * when its event comes: else the id may be written into memory that is free. With a batch the lock
 * of each object is held from before hwheel_submit() until its id was copied from
 * hwheel_batch_id(); or one lock, which all have, as they have it for a short time. One thread
 * that arms and takes events needs no lock.
 */
#ifndef LIBHWHEEL_H
#define LIBHWHEEL_H

#include <stddef.h>
#include <stdint.h>

#include <linux/hwheel.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The library hides all but what is declared here. */
#pragma GCC visibility push(default)

/* Where the module's device is */
#define HWHEEL_DEVICE		"/dev/hwheel"

/* For hwheel_open(): hwheel_next_events() does not wait */
#define HWHEEL_NONBLOCK		0x1U

/* For hwheel_open(): in the process itself where the program cannot open the device */
#define HWHEEL_ANYWHERE		0x2U

/* In hwheel_info.features: the wheel is in the process itself */
#define HWHEEL_FEATURE_LOCAL	0x8000000000000000ULL

/* One open set of timeouts; only the library looks into it */
struct hwheel;

/* Operations for one system call; only the library looks into it */
struct hwheel_batch;

/**
 * hwheel_open() - make an empty set of timeouts
 * @wheel: out: the handle; written only on success
 * @flags: 0, or some of HWHEEL_NONBLOCK and HWHEEL_ANYWHERE
 *
 * The descriptor behind it is closed on exec. With HWHEEL_ANYWHERE it is that of
 * hwheel_open_local() where the device fails with ENOENT, ENXIO, ENODEV, EACCES or EPERM; features
 * of hwheel_info() has HWHEEL_FEATURE_LOCAL then.
 *
 * Return: 0; -EINVAL: unknown flag; -ENOENT: the module is not loaded; -EACCES:
 * the device is not open to this user; -EMFILE, -ENFILE, -ENOMEM.
 */
int hwheel_open(struct hwheel **wheel, unsigned int flags);

/**
 * hwheel_open_local() - make an empty set of timeouts in the process itself
 * @wheel: out: the handle; written only on success
 * @flags: 0 or HWHEEL_NONBLOCK
 *
 * Return: 0; -EINVAL: unknown flag; -EOPNOTSUPP: no MADV_WIPEONFORK, before Linux 4.14; -EMFILE,
 * -ENFILE, -ENOMEM.
 */
int hwheel_open_local(struct hwheel **wheel, unsigned int flags);

/**
 * hwheel_open_fd() - make a handle of a descriptor that was passed in
 * @wheel: out: the handle; written only on success
 * @fd:    of /dev/hwheel: inherited, or received from another process (SCM_RIGHTS)
 *
 * On success the descriptor belongs to the handle, and hwheel_close() closes it; on failure
 * it still belongs to the caller. A program that goes on using its own one passes a dup().
 * The descriptor stays as it is: hwheel_next_events() waits unless it has O_NONBLOCK, it is
 * closed on exec if it has FD_CLOEXEC, and without write access nothing but
 * hwheel_info(), hwheel_stats(), hwheel_query() and hwheel_next_events() works. Its set of
 * timeouts, with what is pending, is shared with all who have the file open. What they
 * configure later the handle does not learn: the program that opens the file configures it first.
 *
 * Return: 0; -EBADF: not an open descriptor; -ENOTTY: not one of /dev/hwheel; -ENOMEM.
 */
int hwheel_open_fd(struct hwheel **wheel, int fd);

/**
 * hwheel_close() - free a handle and every timeout in it
 * @wheel: the handle, or NULL; not to be used again, whatever is returned
 *
 * Pending timeouts end without an event and unread events are dropped, once no
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
 * hwheel_configure() - give the handle a wheel of its own, or another limit
 * @wheel:  the handle; not in use by others, and nothing was armed yet
 * @config: what the wheel is to be like; clock has to be given (see struct hwheel_config),
 *          and kind for a wheel of its own, other fields that are 0 mean the default
 *
 * Without this, timeouts are on the default wheel of the user (see hwheel(4) for what counts as
 * one), and with HWHEEL_KIND_DEFAULT they stay there. A wheel of its own costs a kernel thread. On
 * a local handle another clock makes another file of the descriptor: epoll instances get it
 * afterwards.
 *
 * Return: 0; -EBUSY: the handle has a wheel of its own, or something was armed; -EINVAL: out of
 * range, another clock or none, or fields that don't go together; -EBADF: as for hwheel_arm();
 * -EPERM: more timeouts than the module's parameter allows (needs CAP_SYS_RESOURCE); -ENOSPC:
 * the account has as many wheels as the module allows, or no room for it in max_user_bytes of
 * hwheel_info(), or the machine has as many threads as it may; -ESHUTDOWN: it was stopped; -ENOMEM;
 * -EINTR: killed.
 */
int hwheel_configure(struct hwheel *wheel, const struct hwheel_config *config);

/**
 * hwheel_map() - arm, refresh and cancel in memory that is shared with the kernel
 * @wheel: the handle; for the first call not in use by others, and nothing was armed yet
 * @count: how many timeouts there is to be room for at once, at least 1; further calls make room
 *         for so many more
 *
 * The library makes more room by itself, up to max_timeouts of hwheel_info(). A timeout takes 80
 * bytes in all; the memory cgroup of the caller pays for that. A thread keeps up to 285 free
 * records, which no other thread takes: so there may be no room for the last ones of max_timeouts
 * while many threads keep some. There are up to 64 lists, and 1,024 threads may use a handle at a
 * time. An id names its timeout until the record of that was armed 2^30 times more.
 *
 * On a mapped handle hwheel_next_events() waits in poll(), which a signal ends even with
 * SA_RESTART, batches are done by the functions for single timeouts, and hwheel_stats() counts
 * what the worker has seen. In a forked child all functions return -EBADF but hwheel_close(),
 * hwheel_fd(), hwheel_info(), hwheel_stats() and hwheel_now().
 *
 * If the first call fails the handle works as before, with two exceptions. After -EPROTONOSUPPORT
 * it can only be closed. After -ENOMEM the kernel may have mapped the file already: then
 * hwheel_arm() returns -EOPNOTSUPP until another hwheel_map() has succeeded.
 *
 * Return: 0; -EOPNOTSUPP: a simple wheel, or no HWHEEL_FEATURE_MAP; -EPROTONOSUPPORT: the kernel
 * has another version of the layout; -EBUSY: something was armed, or another process or handle has
 * mapped the file; -ENOSPC: more than max_timeouts, or more memory than max_user_bytes leaves the
 * account, or the machine has as many threads as it may; -EDQUOT: more than may be pending on the
 * wheel; -EINVAL: @count is 0; -EBADF: a forked child, or the descriptor is not open for reading
 * and writing; -ESHUTDOWN: it was stopped; -ENOMEM: another call may find some; -EINTR: killed.
 */
int hwheel_map(struct hwheel *wheel, size_t count);

/**
 * hwheel_info() - what the handle can do and what its wheel is like
 * @wheel: the handle
 * @info:  out: tick in ns, limits, features; written only on success
 *
 * Return: 0 or -EFAULT.
 */
int hwheel_info(const struct hwheel *wheel, struct hwheel_info *info);

/**
 * hwheel_stats() - what happened in this handle and on its wheel
 * @wheel: the handle
 * @stats: out: counters, and a histogram of lateness in parts of a tick; written only on
 *         success
 *
 * The wheel's counts are those of all handles of the user that are on it. While others go on, each
 * figure is exact at some time, each at another.
 *
 * Return: 0 or -EFAULT.
 */
int hwheel_stats(const struct hwheel *wheel, struct hwheel_file_stats *stats);

/**
 * hwheel_stop() - end all timeouts of the handle, for good
 * @wheel: the handle
 *
 * Pending timeouts are read as events of type HWHEEL_EVENT_STOPPED; when all are read,
 * hwheel_next_events() returns 0. Nothing can be armed from now on. A wheel of the handle's
 * own is stopped, too: its thread ends, and it does not count for the number of wheels any
 * more.
 *
 * Return: how many were pending; a second call: 0; -EINTR: killed, and another call stops
 * the rest; -EBADF: as for hwheel_arm().
 */
int hwheel_stop(struct hwheel *wheel);

/**
 * hwheel_now() - what time is it on the handle's clock?
 * @wheel: the handle
 *
 * Return: ns, as absolute deadlines and events have them; never fails.
 */
uint64_t hwheel_now(const struct hwheel *wheel);

/**
 * hwheel_set() - move a timeout if it is pending, else arm one
 * @wheel:    the handle
 * @id:       in: any number, such as that of the last timeout, or 0 for none yet; out: names the
 *            timeout; written only on success
 * @delay_ns: from now, in ns; 0 means at the next tick, and what is beyond the clock's range (292
 *            years) never
 * @cookie:   any number; the event of a timeout that is armed brings it back, one that is moved
 *            keeps its own
 *
 * If the timeout of @id has expired, and no thread has taken its event, there is no event any more.
 * A thread that has taken it compares event.id with *@id: they differ.
 *
 * On a mapped or local handle *@id is written before the timeout can fire, and any number of
 * threads may set one variable: one timeout is left, with the deadline of one of them. The address
 * of the variable is a multiple of 8. On another handle *@id is written when the call returns, and
 * the caller locks the variable against its other threads, those that take events included.
 *
 * Return: as hwheel_arm(); on failure nothing was changed. -ENOSPC never comes where the timeout is
 * pending; on a mapped handle a timeout whose event was withdrawn holds its place until
 * hwheel_next_events() comes to it.
 */
int hwheel_set(struct hwheel *wheel, uint64_t *id, uint64_t delay_ns, uint64_t cookie);

/**
 * hwheel_set_at() - move a timeout if it is pending, else arm one, for a point in time
 * @wheel:       the handle
 * @id:          as for hwheel_set()
 * @deadline_ns: in ns on the handle's clock, see hwheel_now(); in the past means by the next tick
 * @cookie:      as for hwheel_set()
 *
 * Return: as hwheel_set().
 */
int hwheel_set_at(struct hwheel *wheel, uint64_t *id, uint64_t deadline_ns, uint64_t cookie);

/**
 * hwheel_again() - arm a timeout of a period for the next time
 * @wheel:       the handle
 * @id:          as for hwheel_set()
 * @deadline_ns: in: when it was due; out: when it is due next, the first time after now that is a
 *               whole number of intervals later; a time that lies ahead stays. Written before the
 *               timeout can fire; as it was on failure
 * @interval_ns: the period, not 0
 * @cookie:      as for hwheel_set()
 * @missed:      out: how many times were passed over, as they were past; or NULL
 *
 * @deadline_ns is the caller's exact time, event.deadline_ns is rounded up: a program that goes on
 * from its own one never drifts.
 *
 * Return: as hwheel_set(); -EINVAL: @interval_ns is 0.
 */
int hwheel_again(struct hwheel *wheel, uint64_t *id, uint64_t *deadline_ns, uint64_t interval_ns,
		 uint64_t cookie, uint64_t *missed);

/**
 * hwheel_withdraw() - end a timeout that is pending, or whose event was not taken
 * @wheel: the handle
 * @id:    of the timeout
 *
 * hwheel_fd() may be readable, and hwheel_next_events() find no event.
 *
 * Return: 0: no event will come; -ENOENT: a thread has taken its event, or it was cancelled or
 * withdrawn, or this handle never had that id; -EUSERS, -EBADF: as for hwheel_arm().
 */
int hwheel_withdraw(struct hwheel *wheel, uint64_t id);

/**
 * hwheel_arm() - register a timeout that expires after a delay
 * @wheel:    the handle
 * @delay_ns: from now, in ns; 0 means at the next tick, and what is beyond the
 *            clock's range (292 years) never
 * @cookie:   any number; the event brings it back
 * @id:       out: names the timeout for refresh and cancel, never 0; written before this
 *            returns, but another thread may read the event before that (see above)
 *
 * When cancelled timeouts fill the handle, as the module's worker still refers to them, the
 * call wakes the worker and waits until there is room, also with HWHEEL_NONBLOCK.
 *
 * Return: 0; -ENOSPC: the handle holds as many timeouts as it may that are pending, or whose
 * events were not read yet, or the account as much memory as it may (max_user_bytes); -EUSERS: it
 * is mapped, and 1,024 other threads use it, or there is no memory to notice the thread's end;
 * -EBADF: the descriptor is not open for writing, or it is mapped, and this is a forked child;
 * -EOPNOTSUPP: another handle has mapped the file, or hwheel_map() has failed with -ENOMEM;
 * -EDQUOT: as many are pending on the wheel as may be; -ERANGE: more than a turn away, on a simple
 * wheel; -ESHUTDOWN: the handle was stopped, or it is mapped, and the program has damaged the
 * memory; -EINTR: killed; -ENOMEM, also when the memory cgroup is at its limit; -EFAULT. On failure
 * nothing is armed.
 */
int hwheel_arm(struct hwheel *wheel, uint64_t delay_ns, uint64_t cookie, uint64_t *id);

/**
 * hwheel_arm_at() - register a timeout that expires at a point in time
 * @wheel:       the handle
 * @deadline_ns: in ns on the handle's clock, see hwheel_now(); in the past means by the next tick
 * @cookie:      as for hwheel_arm()
 * @id:          as for hwheel_arm()
 *
 * Return: as hwheel_arm().
 */
int hwheel_arm_at(struct hwheel *wheel, uint64_t deadline_ns, uint64_t cookie, uint64_t *id);

/**
 * hwheel_refresh() - give a pending timeout another deadline, a delay from now
 * @wheel:    the handle
 * @id:       of the timeout
 * @delay_ns: from now, in ns
 *
 * Return: 0; -ENOENT: it has ended, or there never was one; -ERANGE, -EUSERS, -EBADF: as for
 * hwheel_arm(). On failure nothing was changed.
 */
int hwheel_refresh(struct hwheel *wheel, uint64_t id, uint64_t delay_ns);

/**
 * hwheel_refresh_at() - give a pending timeout another deadline
 * @wheel:       the handle
 * @id:          of the timeout
 * @deadline_ns: in ns on the handle's clock, see hwheel_now()
 *
 * Return: as hwheel_refresh().
 */
int hwheel_refresh_at(struct hwheel *wheel, uint64_t id, uint64_t deadline_ns);

/**
 * hwheel_cancel() - end a pending timeout
 * @wheel: the handle
 * @id:    of the timeout
 *
 * Return: 0: it was pending, and no event will come; -ENOENT: it has ended (expired, and
 * its event comes or came, or cancelled, or stopped), or this handle never had that id;
 * -EUSERS, -EBADF: as for hwheel_arm().
 */
int hwheel_cancel(struct hwheel *wheel, uint64_t id);

/**
 * hwheel_query() - what became of a timeout
 * @wheel:   the handle
 * @id:      of the timeout
 * @left_ns: out: ns until its deadline, 0 if that is past; or NULL
 * @cookie:  out: as given when it was armed; or NULL
 *
 * Return: HWHEEL_STATE_*: pending; or expired or stopped, but its event was not read yet (which of
 * these a mapped timeout is, its event tells, if it was stopped after its deadline); -ENOENT: its
 * event was read, or it was cancelled, or this handle never had that id; -EBADF: it is mapped, and
 * this is a forked child. The descriptor need not be open for writing.
 */
int hwheel_query(struct hwheel *wheel, uint64_t id, uint64_t *left_ns, uint64_t *cookie);

/**
 * hwheel_next_events() - take the events that wait
 * @wheel:  the handle
 * @events: out: room for @count events
 * @count:  how many fit, at least 1
 *
 * Waits for the first event, unless the handle was opened with HWHEEL_NONBLOCK.
 * Each event is returned once, to one caller.
 *
 * Return: how many were written; 0: none, and none will come any more; -EAGAIN: none now
 * (HWHEEL_NONBLOCK); -EINTR: a signal came first; -EINVAL: @count is 0; -EIO: it is mapped, and
 * the program has damaged the memory; -EBADF: the descriptor is not open for reading, or it is
 * mapped, and this is a forked child; -EUSERS, -EOPNOTSUPP: as for hwheel_arm(); -EFAULT.
 */
int hwheel_next_events(struct hwheel *wheel, struct hwheel_event *events, size_t count);

/**
 * hwheel_batch_new() - make an empty batch
 * @batch:    out: the batch; written only on success
 * @capacity: how many operations it can hold, 1 to HWHEEL_SUBMIT_MAX
 *
 * It is for any handle, and to be used again after hwheel_batch_clear().
 *
 * Return: 0; -EINVAL: @capacity; -ENOMEM.
 */
int hwheel_batch_new(struct hwheel_batch **batch, size_t capacity);

/**
 * hwheel_batch_free() - free a batch; timeouts armed by it go on
 * @batch: the batch, or NULL
 */
void hwheel_batch_free(struct hwheel_batch *batch);

/**
 * hwheel_batch_clear() - forget the operations in a batch, and their results
 * @batch: the batch
 */
void hwheel_batch_clear(struct hwheel_batch *batch);

/**
 * hwheel_batch_count() - how many operations there are in a batch
 * @batch: the batch
 *
 * Return: the number; never fails.
 */
size_t hwheel_batch_count(const struct hwheel_batch *batch);

/**
 * hwheel_batch_set() - add an operation: as hwheel_set()
 * @batch:    the batch
 * @id:       of the timeout, or 0
 * @delay_ns: in ns from when the batch is submitted, the same moment for all that is in it
 * @cookie:   as for hwheel_set()
 *
 * hwheel_batch_id() has the id afterwards. A batch that is submitted again sets that one.
 *
 * Return: as hwheel_batch_arm().
 */
int hwheel_batch_set(struct hwheel_batch *batch, uint64_t id, uint64_t delay_ns, uint64_t cookie);

/**
 * hwheel_batch_set_at() - add an operation: as hwheel_set_at()
 * @batch:       the batch
 * @id:          of the timeout, or 0
 * @deadline_ns: in ns on the handle's clock
 * @cookie:      as for hwheel_set()
 *
 * Return: as hwheel_batch_arm().
 */
int hwheel_batch_set_at(struct hwheel_batch *batch, uint64_t id, uint64_t deadline_ns,
			uint64_t cookie);

/**
 * hwheel_batch_withdraw() - add an operation: as hwheel_withdraw()
 * @batch: the batch
 * @id:    of the timeout
 *
 * Return: as hwheel_batch_arm().
 */
int hwheel_batch_withdraw(struct hwheel_batch *batch, uint64_t id);

/**
 * hwheel_batch_arm() - add an operation: as hwheel_arm()
 * @batch:    the batch
 * @delay_ns: in ns from when the batch is submitted, the same moment for all that is in it
 * @cookie:   any number; the event brings it back
 *
 * Return: its index, for hwheel_batch_result() and hwheel_batch_id(); -ENOSPC: the batch
 * is full.
 */
int hwheel_batch_arm(struct hwheel_batch *batch, uint64_t delay_ns, uint64_t cookie);

/**
 * hwheel_batch_arm_at() - add an operation: as hwheel_arm_at()
 * @batch:       the batch
 * @deadline_ns: in ns on the handle's clock
 * @cookie:      any number; the event brings it back
 *
 * Return: as hwheel_batch_arm().
 */
int hwheel_batch_arm_at(struct hwheel_batch *batch, uint64_t deadline_ns, uint64_t cookie);

/**
 * hwheel_batch_refresh() - add an operation: as hwheel_refresh()
 * @batch:    the batch
 * @id:       of the timeout
 * @delay_ns: in ns from when the batch is submitted
 *
 * Return: as hwheel_batch_arm().
 */
int hwheel_batch_refresh(struct hwheel_batch *batch, uint64_t id, uint64_t delay_ns);

/**
 * hwheel_batch_refresh_at() - add an operation: as hwheel_refresh_at()
 * @batch:       the batch
 * @id:          of the timeout
 * @deadline_ns: in ns on the handle's clock
 *
 * Return: as hwheel_batch_arm().
 */
int hwheel_batch_refresh_at(struct hwheel_batch *batch, uint64_t id, uint64_t deadline_ns);

/**
 * hwheel_batch_cancel() - add an operation: as hwheel_cancel()
 * @batch: the batch
 * @id:    of the timeout
 *
 * Return: as hwheel_batch_arm().
 */
int hwheel_batch_cancel(struct hwheel_batch *batch, uint64_t id);

/**
 * hwheel_submit() - do what is in a batch, in its order
 * @wheel: the handle
 * @batch: the batch; it keeps its operations, and what is submitted again is done again
 *
 * Each operation fails or succeeds by itself. What the module did not do in one call is done
 * in the next one, and nothing twice. Signals make no difference.
 *
 * Return: how many were done, each of which has a result now. Less than all: the next one
 * met an error, and it and those after it were not done and have the result -ECANCELED. If
 * that was the first one: -EFAULT; or -EBADF, the descriptor is not open for writing. A program
 * puts what is left into another batch.
 */
int hwheel_submit(struct hwheel *wheel, struct hwheel_batch *batch);

/**
 * hwheel_batch_result() - what became of an operation
 * @batch: the batch, after hwheel_submit()
 * @index: of the operation
 *
 * Return: what the single operation would have returned; -ECANCELED: it was not done;
 * -EINVAL: there is no such operation.
 */
int hwheel_batch_result(const struct hwheel_batch *batch, size_t index);

/**
 * hwheel_batch_id() - which timeout an operation was about
 * @batch: the batch, after hwheel_submit()
 * @index: of the operation
 *
 * Return: the id; for one that was to arm: it names a timeout if the result is 0; 0: there
 * is no such operation.
 */
uint64_t hwheel_batch_id(const struct hwheel_batch *batch, size_t index);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* LIBHWHEEL_H */
