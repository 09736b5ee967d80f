/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tracepoints, for perf, trace-cmd and bpftrace.
 *
 * Timeouts and wheels are told apart by their addresses: a timeout may be gone when the
 * event is written, so nothing is read through the pointer, but its callback. @own: the timeout is
 * of a file of the device, and events of device/file_trace.h tell more of it.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM hwheel

#if !defined(_HWHEEL_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _HWHEEL_TRACE_H

#include <linux/hwheel.h>
#include <linux/tracepoint.h>

#include "state.h"
#include "wheel.h"

/* It is pending, with this deadline in ns on the wheel's clock. */
TRACE_EVENT(timeout_arm,
	TP_PROTO(const struct hwheel *wheel,
		 const struct hwheel_timeout *timeout, u64 deadline),
	TP_ARGS(wheel, timeout, deadline),
	TP_STRUCT__entry(
		__field(const void *,	wheel)
		__field(const void *,	timeout)
		__field(bool,		own)
		__field(unsigned int,	wheel_id)
		__field(u64,		deadline)
	),
	TP_fast_assign(
		__entry->wheel = wheel;
		__entry->timeout = timeout;
		__entry->own = wheel->own;
		__entry->wheel_id = wheel->id;
		__entry->deadline = deadline;
	),
	TP_printk("wheel=%p timeout=%p deadline=%llu", __entry->wheel,
		  __entry->timeout, __entry->deadline)
);

TRACE_EVENT(timeout_refresh,
	TP_PROTO(const struct hwheel *wheel,
		 const struct hwheel_timeout *timeout, u64 deadline,
		 bool earlier),
	TP_ARGS(wheel, timeout, deadline, earlier),
	TP_STRUCT__entry(
		__field(const void *,	wheel)
		__field(const void *,	timeout)
		__field(bool,		own)
		__field(unsigned int,	wheel_id)
		__field(u64,		deadline)
		__field(bool,		earlier)
	),
	TP_fast_assign(
		__entry->wheel = wheel;
		__entry->timeout = timeout;
		__entry->own = wheel->own;
		__entry->wheel_id = wheel->id;
		__entry->deadline = deadline;
		__entry->earlier = earlier;
	),
	TP_printk("wheel=%p timeout=%p deadline=%llu earlier=%d",
		  __entry->wheel, __entry->timeout, __entry->deadline,
		  __entry->earlier)
);

/* @queued: the worker did not know of its latest state yet. */
TRACE_EVENT(timeout_cancel,
	TP_PROTO(const struct hwheel *wheel,
		 const struct hwheel_timeout *timeout, bool queued),
	TP_ARGS(wheel, timeout, queued),
	TP_STRUCT__entry(
		__field(const void *,	wheel)
		__field(const void *,	timeout)
		__field(bool,		own)
		__field(unsigned int,	wheel_id)
		__field(bool,		queued)
	),
	TP_fast_assign(
		__entry->wheel = wheel;
		__entry->timeout = timeout;
		__entry->own = wheel->own;
		__entry->wheel_id = wheel->id;
		__entry->queued = queued;
	),
	TP_printk("wheel=%p timeout=%p queued=%d", __entry->wheel,
		  __entry->timeout, __entry->queued)
);

/* Around the callback, on whatever thread runs it */
TRACE_EVENT(timeout_expire_entry,
	TP_PROTO(const struct hwheel *wheel,
		 const struct hwheel_timeout *timeout,
		 const void *function, u64 word),
	TP_ARGS(wheel, timeout, function, word),
	TP_STRUCT__entry(
		__field(const void *,	wheel)
		__field(const void *,	timeout)
		__field(bool,		own)
		__field(unsigned int,	wheel_id)
		__field(const void *,	function)
		__field(u64,		deadline)
	),
	TP_fast_assign(
		__entry->wheel = wheel;
		__entry->timeout = timeout;
		__entry->own = wheel->own;
		__entry->wheel_id = wheel->id;
		__entry->function = function;
		__entry->deadline = hwheel_word_deadline(word);
	),
	TP_printk("wheel=%p timeout=%p function=%ps deadline=%llu",
		  __entry->wheel, __entry->timeout, __entry->function,
		  __entry->deadline)
);

TRACE_EVENT(timeout_expire_exit,
	TP_PROTO(const struct hwheel *wheel,
		 const struct hwheel_timeout *timeout),
	TP_ARGS(wheel, timeout),
	TP_STRUCT__entry(
		__field(const void *,	wheel)
		__field(const void *,	timeout)
	),
	TP_fast_assign(
		__entry->wheel = wheel;
		__entry->timeout = timeout;
	),
	TP_printk("wheel=%p timeout=%p", __entry->wheel, __entry->timeout)
);

/* A pass begins, having reached this edge. */
TRACE_EVENT(worker_wake,
	TP_PROTO(const struct hwheel *wheel, u64 edge),
	TP_ARGS(wheel, edge),
	TP_STRUCT__entry(
		__field(const void *,	wheel)
		__field(u64,		edge)
	),
	TP_fast_assign(
		__entry->wheel = wheel;
		__entry->edge = edge;
	),
	TP_printk("wheel=%p edge=%llu", __entry->wheel, __entry->edge)
);

/* Until this edge, or for ever: -1. @deep: a thread that submits wakes it. */
TRACE_EVENT(worker_sleep,
	TP_PROTO(const struct hwheel *wheel, u64 edge, bool deep),
	TP_ARGS(wheel, edge, deep),
	TP_STRUCT__entry(
		__field(const void *,	wheel)
		__field(s64,		edge)
		__field(bool,		deep)
	),
	TP_fast_assign(
		__entry->wheel = wheel;
		__entry->edge = edge;
		__entry->deep = deep;
	),
	TP_printk("wheel=%p edge=%lld deep=%d", __entry->wheel, __entry->edge,
		  __entry->deep)
);

/* The worker goes on, after its account's share of a CPU has held it back for so long. */
TRACE_EVENT(worker_throttled,
	TP_PROTO(const struct hwheel *wheel, u64 ns),
	TP_ARGS(wheel, ns),
	TP_STRUCT__entry(
		__field(const void *,	wheel)
		__field(unsigned int,	wheel_id)
		__field(u64,		ns)
	),
	TP_fast_assign(
		__entry->wheel = wheel;
		__entry->wheel_id = wheel->id;
		__entry->ns = ns;
	),
	TP_printk("wheel=%p wheel_id=%u ns=%llu", __entry->wheel, __entry->wheel_id,
		  __entry->ns)
);

/* So many timeouts were taken from the submission queues. */
TRACE_EVENT(drain,
	TP_PROTO(const struct hwheel *wheel, unsigned int timeouts),
	TP_ARGS(wheel, timeouts),
	TP_STRUCT__entry(
		__field(const void *,	wheel)
		__field(unsigned int,	timeouts)
	),
	TP_fast_assign(
		__entry->wheel = wheel;
		__entry->timeouts = timeouts;
	),
	TP_printk("wheel=%p timeouts=%u", __entry->wheel, __entry->timeouts)
);

#endif /* _HWHEEL_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
