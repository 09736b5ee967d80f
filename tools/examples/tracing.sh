#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-only OR MIT
#
# tracing.sh EXAMPLE: one-liners that look for a second at what goes on, to be copied from here.
# Run as root; the packages are Debian's bpftrace, strace and trace-cmd; plain needs none of them.
set -eu

# Processes whose files arm timeouts, by the number of the one that has opened the file
who_arms() {
bpftrace -e 'tracepoint:hwheel:file_arm { @armed[args->owner] = count(); }
	tracepoint:hwheel:mapped_act /args->state == 0/ { @mapped[args->owner] = count(); }
	interval:s:1 { exit(); }'
}

# How late timeouts of files expire, in us, by process (on wheels with CLOCK_MONOTONIC)
how_late() {
bpftrace -e 'tracepoint:hwheel:file_expire {
		@late_us[args->owner] = hist((nsecs - args->deadline) / 1000); }
	tracepoint:hwheel:mapped_end /!args->stopped/ {
		@late_us[args->owner] = hist((nsecs - args->deadline) / 1000); }
	interval:s:1 { exit(); }'
}

# Which account is held back: the thread has the account's name
held_back() {
bpftrace -e 'tracepoint:hwheel:worker_throttled { @held_back_ns[comm] = sum(args->ns); }
	interval:s:1 { exit(); }'
}

# What a program, and its children, ask of the device
asks() {
strace -f -P /dev/hwheel hwheelctl arm 10ms
}

# How often, and how long that takes
asks_how_often() {
strace -f -c -P /dev/hwheel hwheelctl load --calls --time 1s
}

# Which callbacks of kernel code run
callbacks() {
bpftrace -e 'tracepoint:hwheel:timeout_expire_entry { @[ksym(args->function)] = count(); }
	interval:s:1 { exit(); }'
}

# How long callbacks take, in us
callback_time() {
bpftrace -e 'tracepoint:hwheel:timeout_expire_entry { @start[args->timeout] = nsecs; }
	tracepoint:hwheel:timeout_expire_exit /@start[args->timeout]/ {
		@took_us = hist((nsecs - @start[args->timeout]) / 1000);
		delete(@start[args->timeout]); }
	interval:s:1 { exit(); } END { clear(@start); }'
}

# All that happens, in a file, and then as text
record() {
	trace-cmd record -q -o hwheel.dat -e hwheel sleep 1 >/dev/null
	trace-cmd report -i hwheel.dat
}

# Only what was cancelled after the worker had filed it
record_filtered() {
	trace-cmd record -q -o hwheel.dat -e hwheel:timeout_cancel -f 'queued == 0' \
		sleep 1 >/dev/null
	trace-cmd report -i hwheel.dat
}

# The same as record, without any tool
plain() {
	tracefs=/sys/kernel/tracing
	echo 1 >"$tracefs/events/hwheel/enable"
	sleep 1
	echo 0 >"$tracefs/events/hwheel/enable"
	grep -v '^#' "$tracefs/trace"
}

case ${1-} in
who_arms | how_late | held_back | asks | asks_how_often | callbacks | callback_time | record | \
record_filtered | plain)
	"$1"
	;;
*)
	echo "usage: $0 who_arms|how_late|held_back|asks|asks_how_often|callbacks|callback_time|" \
		"record|record_filtered|plain" >&2
	exit 2
	;;
esac
