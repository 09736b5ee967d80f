#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR MIT
#
# tracing.sh EXAMPLE: one-liners for the module's tracepoints, to be copied from here. Each
# looks at what goes on for $SECONDS_TO_TRACE (1). Run as root; the packages are Debian's
# bpftrace and trace-cmd; the last one needs neither.
set -eu

seconds=${SECONDS_TO_TRACE:-1}
tracefs=/sys/kernel/tracing

# Programs that arm timeouts, by name
who_arms() {
	bpftrace -e "tracepoint:hwheel:timeout_arm { @[comm] = count(); }
		interval:s:$seconds { exit(); }"
}

# Which callbacks run
callbacks() {
	bpftrace -e "tracepoint:hwheel:timeout_expire_entry { @[ksym(args->function)] = count(); }
		interval:s:$seconds { exit(); }"
}

# How late timeouts expire, in us (on wheels with CLOCK_MONOTONIC)
lateness() {
	bpftrace -e "tracepoint:hwheel:timeout_expire_entry {
			@late_us = hist((nsecs - args->deadline) / 1000); }
		interval:s:$seconds { exit(); }"
}

# How long callbacks take, in us
callback_time() {
	bpftrace -e "tracepoint:hwheel:timeout_expire_entry { @start[args->timeout] = nsecs; }
		tracepoint:hwheel:timeout_expire_exit /@start[args->timeout]/ {
			@took_us = hist((nsecs - @start[args->timeout]) / 1000);
			delete(@start[args->timeout]); }
		interval:s:$seconds { exit(); } END { clear(@start); }"
}

# All that happens, in a file, and then as text
record() {
	trace-cmd record -q -o hwheel.dat -e hwheel sleep "$seconds" >/dev/null
	trace-cmd report -i hwheel.dat
}

# Only what was cancelled after the worker had filed it
record_filtered() {
	trace-cmd record -q -o hwheel.dat -e hwheel:timeout_cancel -f 'queued == 0' \
		sleep "$seconds" >/dev/null
	trace-cmd report -i hwheel.dat
}

# The same as record, without any tool
plain() {
	echo 1 >"$tracefs/events/hwheel/enable"
	sleep "$seconds"
	echo 0 >"$tracefs/events/hwheel/enable"
	grep -v '^#' "$tracefs/trace"
}

case ${1-} in
who_arms)        who_arms ;;
callbacks)       callbacks ;;
lateness)        lateness ;;
callback_time)   callback_time ;;
record)          record ;;
record_filtered) record_filtered ;;
plain)           plain ;;
*)
	echo "usage: $0 who_arms|callbacks|lateness|callback_time|record|record_filtered|plain" >&2
	exit 2
	;;
esac
