#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# The examples: each is run, and does what it says. Run as root where nobody else uses hwheel
# or tracing; needs hwheel.ko and the examples beside it, and what they need. Prints TAP.

cd "$(dirname "$0")" || exit 1
# shellcheck source=selftests/harness/common.sh
. ./common.sh
# shellcheck source=tools/test/examples.sh
. ./examples.sh
record_names=/sys/kernel/debug/tracing/options/record-cmd

# The same program, with the shared library
first_shared() {
	LD_LIBRARY_PATH=. ./first_shared >"$work/out" &&
		grep -qE '^cookie 42, [0-9]+ ns after its deadline$' "$work/out"
}

unread() {
	./hwheelctl list --files | awk -v pid="$server" '$2 == pid && $7 > 0 { found = 1 }
		END { exit !found }'
}

# The server stands still until the timeout has expired: a beat that came before that counts.
late_heartbeat() {
	start_heartbeat 2000 || return
	await heard connected 1 && kill -STOP $server && echo beat >&5 && await unread &&
		kill -CONT $server && await heard 'late, and goes on' 1 && exec 5>&- &&
		await heard 'hung up' 1 && heard 'timed out' 0
	status=$?
	exec 5>&-
	kill -CONT $server
	kill $server "$beater" 2>/dev/null
	wait $server "$beater" 2>/dev/null
	[ $status -eq 0 ] || diagnose "$(cat "$work/heartbeat")"
	return $status
}

# The load is there for signals to be sent to, too.
loading() {
	./hwheelctl list --files | awk -v pid="$load" '$2 == pid && $5 > 0 { found = 1 }
		END { exit !found }'
}

running() {
	grep -qs '^State:.[^ZX]' "/proc/$1/status"
}

# A tracer that hangs is not waited for; it is told where it hangs.
trace_for_minutes() {
	setsid ./tracing.sh "$1" >"$work/out" 2>&1 &
	tracer=$!
	for _ in $(seq 1800); do
		running $tracer || break
		sleep 0.1
	done
	if running $tracer; then
		diagnose "$1 hangs: $(hanging)"
		kill -KILL -$tracer
	fi
	wait $tracer
}

# The processes in its session, and what each waits for
hanging() {
	for process in /proc/[0-9]*; do
		[ "$(cut -d' ' -f6 "$process/stat" 2>/dev/null)" = "$tracer" ] || continue
		tr '\0' ' ' <"$process/cmdline"
		cat "$process/stack"
	done
}

# printed STATUS PATTERN...: the example ended with 0, and its output has these
printed() {
	local status=$1

	shift
	for pattern; do
		grep -qE -- "$pattern" "$work/out" || status=1
	done
	[ "$status" -eq 0 ] && return
	diagnose "$(head -n 30 "$work/out")"
	return 1
}

# traces EXAMPLE PATTERN...: while there is load, by system calls unless $calls is none, as the user
# that $as says, it finds these
traces() {
	local example=$1

	shift
	# shellcheck disable=SC2086 # none is none
	${as-} ./hwheelctl load ${calls---calls} --quiet --rate 500 --time 1h --delay 100ms >/dev/null 2>&1 &
	load=$!
	await loading
	trace_for_minutes "$example"
	status=$?
	kill $load
	wait $load
	printed "$status" "$@"
}

# mapped COMMAND...: its load is in mapped memory
mapped() {
	local calls=

	"$@"
}

# prints EXAMPLE PATTERN...: without load
prints() {
	local example=$1

	shift
	./tracing.sh "$example" >"$work/out" 2>&1
	printed $? "$@"
}

# A user's account that has a hundredth of a CPU needs more than that, but perhaps not in each second.
holds_back() {
	local as="/usr/bin/setpriv --reuid 1000 --regid 1000 --clear-groups" status=1

	quietly unload && quietly load worker_percent=1 && chmod 666 /dev/hwheel || return
	for _ in $(seq 20); do
		traces held_back '^@held_back_ns\[hwheel/u1000\]: [1-9]' >"$work/tried" && status=0 && break
	done
	[ $status -eq 0 ] || cat "$work/tried"
	quietly unload && quietly load && return $status
}

# with_names COMMAND...: tracing tells whose the events are, which init has it forget.
with_names() {
	local status

	echo 1 >$record_names
	"$@"
	status=$?
	echo 0 >$record_names
	return $status
}

begin
quietly load
ip link set lo up
report_examples
report "first, with the shared library" first_shared
report "heartbeat that comes too late" late_heartbeat
report "bpftrace: who_arms" traces who_arms '^@armed\[[0-9]+\]: [1-9]'
report "bpftrace: how_late" traces how_late '^@late_us\[[0-9]+\]:' '\) +[1-9][0-9]* \|@*'
report "bpftrace: callbacks" traces callbacks '^@\[entry_expire\]: [1-9]'
report "bpftrace: callback_time" traces callback_time '^@took_us:' '\) +[1-9][0-9]* \|@*'
report "bpftrace: who_arms, mapped" mapped traces who_arms '^@mapped\[[0-9]+\]: [1-9]'
report "bpftrace: how_late, mapped" mapped traces how_late '^@late_us\[[0-9]+\]:'
report "bpftrace: held_back" holds_back
report "strace: asks" prints asks '^openat\(AT_FDCWD, "/dev/hwheel"' \
	'^ioctl\(3, _IOC\(_IOC_READ\|_IOC_WRITE, 0xbd, 0x1, 0x28\)'
report "strace: asks_how_often" prints asks_how_often ' ioctl$'
report "trace-cmd: record" with_names traces record 'hwheelctl-[0-9]+ .* timeout_arm: ' \
	' timeout_expire_entry: .*function=entry_expire' ' worker_sleep: '
report "trace-cmd: record_filtered" traces record_filtered ' timeout_cancel: .* queued=0'
report "tracefs: plain" traces plain ' timeout_arm: wheel=' ' worker_wake: wheel='
quietly unload
end
