/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tracepoints of the timeouts of files: beside the fields of engine/trace.h, their ids and cookies,
 * the wheel by its number, and the process that has opened the file.
 *
 * @owner_name: The process may have ended when a reader sees the event.
 *
 * A program writes the cookie and the generation of a mapped timeout into the record; the worker
 * reads them after its exchange of the word, so a program that writes meanwhile may show others.
 *
 * ARM and REFRESH trace after the engine's call, because it may fail. The worker may expire the
 * timeout before that: file_expire then comes before file_arm.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM hwheel

#if !defined(_HWHEEL_FILE_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _HWHEEL_FILE_TRACE_H

#include <linux/tracepoint.h>

#include "engine/state.h"
#include "engine/wheel.h"
#include "file.h"
#include "mapped/mapping.h"
#include "table.h"

/* The lock of the table, or the worker that expires the timeout, keeps it. */
DECLARE_EVENT_CLASS(file_timeout,
	TP_PROTO(const struct hwheel_entry *timeout),
	TP_ARGS(timeout),
	TP_STRUCT__entry(
		__field(const void *,	wheel)
		__field(unsigned int,	wheel_id)
		__field(pid_t,		owner)
		__array(char,		owner_name,	TASK_COMM_LEN)
		__field(u64,		id)
		__field(u64,		cookie)
		__field(u64,		deadline)
	),
	TP_fast_assign(
		__entry->wheel = hwheel_of(&timeout->timeout);
		__entry->wheel_id = hwheel_of(&timeout->timeout)->id;
		__entry->owner = timeout->file->owner;
		memcpy(__entry->owner_name, timeout->file->owner_name, TASK_COMM_LEN);
		__entry->id = timeout->id;
		__entry->cookie = timeout->cookie;
		__entry->deadline = hwheel_deadline(&timeout->timeout);
	),
	TP_printk("wheel=%p wheel_id=%u owner=%d id=%llu cookie=%llu deadline=%llu",
		  __entry->wheel, __entry->wheel_id, __entry->owner, __entry->id,
		  __entry->cookie, __entry->deadline)
);

DEFINE_EVENT(file_timeout, file_arm,
	TP_PROTO(const struct hwheel_entry *timeout),
	TP_ARGS(timeout)
);

DEFINE_EVENT(file_timeout, file_refresh,
	TP_PROTO(const struct hwheel_entry *timeout),
	TP_ARGS(timeout)
);

DEFINE_EVENT(file_timeout, file_cancel,
	TP_PROTO(const struct hwheel_entry *timeout),
	TP_ARGS(timeout)
);

/* STOP or close ended it. */
DEFINE_EVENT(file_timeout, file_stop,
	TP_PROTO(const struct hwheel_entry *timeout),
	TP_ARGS(timeout)
);

DEFINE_EVENT(file_timeout, file_expire,
	TP_PROTO(const struct hwheel_entry *timeout),
	TP_ARGS(timeout)
);

/* The worker has taken record @index of a mapped file. @state: that of its word; 0 is pending. */
TRACE_EVENT(mapped_act,
	TP_PROTO(const struct hwheel *wheel, struct hwheel_mapping *mapping, u32 index, u64 word),
	TP_ARGS(wheel, mapping, index, word),
	TP_STRUCT__entry(
		__field(const void *,	wheel)
		__field(const void *,	mapping)
		__field(u32,		index)
		__field(unsigned int,	state)
		__field(u64,		deadline)
		__field(unsigned int,	wheel_id)
		__field(pid_t,		owner)
		__array(char,		owner_name,	TASK_COMM_LEN)
		__field(u32,		generation)
		__field(u64,		cookie)
	),
	TP_fast_assign(
		const struct hwheel_map_record *record = hwheel_mapping_record(mapping, index);

		__entry->wheel = wheel;
		__entry->mapping = mapping;
		__entry->index = index;
		__entry->state = hwheel_word_state(word);
		__entry->deadline = hwheel_word_deadline(word);
		__entry->wheel_id = wheel->id;
		__entry->owner = mapping->file->owner;
		memcpy(__entry->owner_name, mapping->file->owner_name, TASK_COMM_LEN);
		__entry->generation = READ_ONCE(record->generation);
		__entry->cookie = READ_ONCE(record->cookie);
	),
	TP_printk("wheel=%p mapping=%p index=%u state=%u deadline=%llu wheel_id=%u owner=%d generation=%u cookie=%llu",
		  __entry->wheel, __entry->mapping, __entry->index, __entry->state,
		  __entry->deadline, __entry->wheel_id, __entry->owner, __entry->generation,
		  __entry->cookie)
);

/* The worker has put record @index into the ring. */
TRACE_EVENT(mapped_end,
	TP_PROTO(const struct hwheel *wheel, struct hwheel_mapping *mapping, u32 index, u64 word,
		 bool stopped),
	TP_ARGS(wheel, mapping, index, word, stopped),
	TP_STRUCT__entry(
		__field(const void *,	wheel)
		__field(const void *,	mapping)
		__field(u32,		index)
		__field(bool,		stopped)
		__field(u64,		deadline)
		__field(unsigned int,	wheel_id)
		__field(pid_t,		owner)
		__array(char,		owner_name,	TASK_COMM_LEN)
		__field(u32,		generation)
		__field(u64,		cookie)
	),
	TP_fast_assign(
		const struct hwheel_map_record *record = hwheel_mapping_record(mapping, index);

		__entry->wheel = wheel;
		__entry->mapping = mapping;
		__entry->index = index;
		__entry->stopped = stopped;
		__entry->deadline = hwheel_word_deadline(word);
		__entry->wheel_id = wheel->id;
		__entry->owner = mapping->file->owner;
		memcpy(__entry->owner_name, mapping->file->owner_name, TASK_COMM_LEN);
		__entry->generation = READ_ONCE(record->generation);
		__entry->cookie = READ_ONCE(record->cookie);
	),
	TP_printk("wheel=%p mapping=%p index=%u deadline=%llu stopped=%d wheel_id=%u owner=%d generation=%u cookie=%llu",
		  __entry->wheel, __entry->mapping, __entry->index, __entry->deadline,
		  __entry->stopped, __entry->wheel_id, __entry->owner, __entry->generation,
		  __entry->cookie)
);

#endif /* _HWHEEL_FILE_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE file_trace
#include <trace/define_trace.h>
