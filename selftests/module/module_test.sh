#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Loading and unloading hwheel.ko: parameters, an open file, and leaks. Run as
# root where nobody else uses the module; needs hwheel.ko and client beside it.
# Prints TAP. A module that was loaded before is loaded again at the end.

cd "$(dirname "$0")" || exit 1
# shellcheck source=selftests/harness/common.sh
. ./common.sh
# shellcheck source=selftests/module/leaks.sh
. ./leaks.sh
module=hwheel
rounds=50

load_and_unload() {
	quietly load && [ -c /dev/hwheel ] && quietly unload &&
		! loaded && [ ! -e /dev/hwheel ]
}

loading_twice_fails() {
	quietly load || return
	if load; then
		diagnose "loaded twice"
		return 1
	fi
	quietly ./client load && quietly unload
}

# An open file, whatever it was opened for, keeps the module.
refused_while_open() {
	quietly load || return
	exec 3</dev/hwheel
	if unload; then
		diagnose "unloaded under an open file"
		exec 3<&-
		return 1
	fi
	diagnose "$(cat "$work/rmmod")"
	users=$(cat /sys/module/$module/refcnt)
	quietly ./client load
	works=$?
	exec 3<&-
	[ "$users" -eq 1 ] && [ $works -eq 0 ] && quietly unload && ! loaded
}

# rejected PARAMETER VALUE BOUNDS: the log names all three.
rejected() {
	clear_log
	if load "$1=$2"; then
		diagnose "loaded with $1=$2"
		unload
		return 1
	fi
	! loaded && [ ! -e /dev/hwheel ] || return
	dmesg | grep -qF "$module: $1=$2 is out of range $3" && return
	diagnose "the log does not say so: $(dmesg)"
	return 1
}

# The kernel itself refuses a value that is no number, and names it, too.
malformed() {
	clear_log
	if load "$1=$2"; then
		diagnose "loaded with $1=$2"
		unload
		return 1
	fi
	! loaded || return
	dmesg | grep -q "invalid for parameter .$1" && return
	diagnose "the log does not say so: $(dmesg)"
	return 1
}

# One of two that are wrong is enough, and nothing is left behind for the next.
rejected_then_loaded() {
	rejected slots 0 1..1048576 && load_and_unload
}

# effective NAME=VALUE: among what the device says of itself
effective() {
	./client info >"$work/info" 2>&1 && grep -qx "$1" "$work/info" && return
	diagnose "not $1: $(cat "$work/info")"
	return 1
}

# accepted LOAD PARAMETER EFFECTIVE: the module takes it, tells, and works.
accepted() {
	quietly load "$2" || return
	effective "$3" && { [ "$1" = idle ] || quietly ./client load; }
	works=$?
	quietly unload && [ $works -eq 0 ]
}

# A 25th of low memory, less what the kernel itself took
default_bytes() {
	local all

	all=$(sed -n 's/^MemTotal: *\([0-9]*\) kB/\1/p' /proc/meminfo)
	quietly load || return
	bytes=$(cat /sys/module/$module/parameters/max_user_bytes)
	effective "max_user_bytes=$bytes" && [ "$bytes" -gt 0 ] &&
		[ "$bytes" -le $((all * 1024 / 25)) ]
	told=$?
	quietly unload && [ $told -eq 0 ]
}

# One timeout takes a page, and the array of pages.
byte_limit() {
	quietly load max_user_bytes=4000 && effective max_user_bytes=4000 || return
	! ./client load >"$work/output" 2>&1 && echo 100000000 >/sys/module/$module/parameters/max_user_bytes &&
		quietly ./client load
	works=$?
	quietly unload && [ $works -eq 0 ]
}

is_private() {
	quietly load || return
	mode=$(stat -c %a /dev/hwheel)
	quietly unload && [ "$mode" = 600 ]
}

defaults() {
	quietly load || return
	effective tick_ns=10000000 && effective slots=4096 &&
		effective levels=1 && effective kind=1 &&
		effective max_timeouts=65536 && effective max_pending=0
	told=$?
	quietly unload && [ $told -eq 0 ]
}

# Both at their largest: the turn of the wheel takes 120 years.
largest_wheel() {
	quietly load tick_ns=3600000000000 slots=1048576 || return
	effective tick_ns=3600000000000 && effective slots=1048576
	told=$?
	quietly unload && [ $told -eq 0 ]
}

# Its levels are not inherited.
own_wheel_is_alike() {
	quietly load tick_ns=3000000 slots=64 levels=2 || return
	quietly ./client own
	grep -qx tick_ns=3000000 "$work/output" && grep -qx slots=64 "$work/output" &&
		grep -qx kind=1 "$work/output"
	told=$?
	quietly unload && [ $told -eq 0 ]
}

# Kind 2 is hierarchical.
hierarchical() {
	quietly load slots=8 levels="$1" || return
	effective levels="$1" && effective kind=2 && quietly ./client load
	works=$?
	quietly unload && [ $works -eq 0 ]
}

pending_limit() {
	quietly load "max_pending=$1" || return
	effective "max_pending=$1" && quietly ./client limit
	works=$?
	quietly unload && [ $works -eq 0 ]
}

wheel_limit() {
	quietly load "max_user_wheels=$1" || return
	quietly ./client load && quietly ./client wheels "$1"
	works=$?
	quietly unload && [ $works -eq 0 ]
}

default_wheel_limit() {
	quietly load && quietly ./client wheels 16 && quietly unload
}

# More than anybody wants; the limit that counts is memory.
no_wheel_limit() {
	quietly load max_user_wheels=65536 && quietly ./client load &&
		[ "$(cat /sys/module/$module/parameters/max_user_wheels)" -eq 65536 ] &&
		quietly unload
}

# Closed by the exit a moment before: rmmod has to end what is pending.
unload_at_once() {
	for _ in 1 2 3 4 5; do
		quietly load || return
		./client load >"$work/output" 2>&1 && unload || return
	done
}

no_thread_stays() {
	quietly load || return
	during=$(threads hwheel)
	quietly unload || return
	after=$(threads hwheel)
	diagnose "$during while loaded, $after afterwards"
	[ "$during" -ge 1 ] && [ "$after" -eq 0 ]
}

find_caches_of_module() {
	quietly load && find_caches && quietly unload
}

load_churn_unload() {
	quietly load && quietly ./client load && quietly unload
}

leaks_nothing() {
	find_caches_of_module && leaks_nothing_in $rounds load_churn_unload
}

# The pages of more than 2,000 timeouts
is_seen() {
	[ $(($(pages_of "$group") - before)) -ge 60 ]
}

# The count must see held memory: here the module is still loaded, and a file holds timeouts.
held_is_seen() {
	before=$(pages_of "$group")
	quietly load || return
	exec 3<>/dev/hwheel
	./client hold <&3 >"$work/output" 2>&1 || diagnose "$(cat "$work/output")"
	await is_seen
	seen=$?
	exec 3<&-
	quietly unload && return $seen
}

leak_would_be_seen() {
	enter_group || return
	held_is_seen
	seen=$?
	leave_group
	return $seen
}

refuse_values() {
	report "tick_ns=0 is refused" rejected tick_ns 0 50000..3600000000000
	report "tick_ns=49999 is refused" rejected tick_ns 49999 50000..3600000000000
	report "tick_ns above an hour is refused" \
		rejected tick_ns 3600000000001 50000..3600000000000
	report "tick_ns=2^64-1 is refused" \
		rejected tick_ns 18446744073709551615 50000..3600000000000
	report "slots=0 is refused" rejected slots 0 1..1048576
	report "slots=1048577 is refused" rejected slots 1048577 1..1048576
	report "slots=2^32 is refused" rejected slots 4294967296 1..1048576
	report "slots=2^32+1 is refused" rejected slots 4294967297 1..1048576
	report "levels=0 is refused" rejected levels 0 1..8
	report "levels=9 is refused" rejected levels 9 1..8
	report "levels=2^32+1 is refused" rejected levels 4294967297 1..8
	report "max_timeouts=0 is refused" rejected max_timeouts 0 1..16777216
	report "max_timeouts=16777217 is refused" rejected max_timeouts 16777217 1..16777216
	report "max_timeouts=2^32+1 is refused" rejected max_timeouts 4294967297 1..16777216
	report "max_user_wheels=65537 is refused" rejected max_user_wheels 65537 0..65536
	report "max_user_wheels=2^32 is refused" \
		rejected max_user_wheels 4294967296 0..65536
	report "max_user_wheels=2^64-1 is refused" \
		rejected max_user_wheels 18446744073709551615 0..65536
	report "worker_percent=0 is refused" rejected worker_percent 0 1..1000000
	report "max_pending=2^63 is refused" \
		rejected max_pending 9223372036854775808 0..9223372036854775807
	report "max_pending=2^64-1 is refused" \
		rejected max_pending 18446744073709551615 0..9223372036854775807
}

refuse_nonsense() {
	for parameter in tick_ns slots levels max_timeouts max_user_wheels \
		max_user_bytes max_pending; do
		report "$parameter=many is refused" malformed $parameter many
		report "$parameter=-1 is refused" malformed $parameter -1
		report "$parameter=2^64 is refused" malformed $parameter 18446744073709551616
	done
}

accept_values() {
	report "defaults" defaults
	report "the device is for root alone" is_private
	report "tick_ns=50000 works" accepted busy tick_ns=50000 tick_ns=50000
	report "tick_ns=50001 is rounded to 8 ns" accepted busy tick_ns=50001 tick_ns=50008
	report "a tick of an hour loads" accepted idle tick_ns=3600000000000 tick_ns=3600000000000
	report "slots=1 works" accepted busy slots=1 slots=1
	report "slots=2 works" accepted busy slots=2 slots=2
	report "slots=1000 is rounded up" accepted busy slots=1000 slots=1024
	report "slots=1048576 works" accepted busy slots=1048576 slots=1048576
	report "slots=1048575 is rounded up" accepted busy slots=1048575 slots=1048576
	report "the largest wheel loads" largest_wheel
	report "levels=2 works" hierarchical 2
	report "levels=8 works" hierarchical 8
	report "max_timeouts=1 works" accepted busy max_timeouts=1 max_timeouts=1
	report "max_timeouts=16777216 works" accepted busy max_timeouts=16777216 \
		max_timeouts=16777216
	report "tick and slots are those of a file's own wheel by default" own_wheel_is_alike
	report "no more than 16 wheels by default" default_wheel_limit
	report "max_user_wheels=0 is exact" wheel_limit 0
	report "max_user_wheels=1 is exact" wheel_limit 1
	report "max_user_wheels=100 is exact" wheel_limit 100
	report "max_user_wheels=65536 works" no_wheel_limit
	report "max_user_bytes is a share of memory by default" default_bytes
	report "max_user_bytes=4000 is too little, and can be raised" byte_limit
	report "max_user_bytes=2^64-1 works" accepted busy max_user_bytes=18446744073709551615 \
		max_user_bytes=18446744073709551615
	report "max_pending=2^63-1 works" accepted busy max_pending=9223372036854775807 \
		max_pending=9223372036854775807
	report "max_pending=2 is exact" pending_limit 2
	report "max_pending=1000 is exact" pending_limit 1000
}

begin
report "loads and unloads" load_and_unload
report "is not loaded twice" loading_twice_fails
report "rmmod is refused while a file is open" refused_while_open
refuse_values
refuse_nonsense
report "loads after a refusal" rejected_then_loaded
accept_values
report "unloads at once after use" unload_at_once
report "no thread stays" no_thread_stays
if find_hierarchy; then
	report "the leak test sees what is held" leak_would_be_seen
else
	skip "the leak test sees what is held" "no cgroup v2 with memory here"
fi
report_leaks "$rounds rounds leak nothing" leaks_nothing
end
