#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Statistics as debugfs shows them, and the warning about many wheels. Run as root where
# nobody else uses hwheel; needs hwheel.ko, hwheel_leak.ko, client and common.sh beside it.
# Prints TAP.

cd "$(dirname "$0")" || exit 1
# shellcheck source=selftests/harness/common.sh
. ./common.sh

folder=/sys/kernel/debug/hwheel
file=''

# A work item makes the file.
default_is_shown() {
	ls $folder/u0-* >/dev/null 2>&1
}

# Has hwheel loaded, and the default wheel stay.
load_and_keep() {
	quietly load "$@" || return
	exec 6<>/dev/hwheel
	quietly ./client keep <&6 && await default_is_shown && file=$(echo $folder/u0-*)
}

unload_kept() {
	exec 6<&-
	quietly unload
}

# value NAME: of the default wheel
value() {
	sed -n "s/^$1 //p" "$file"
}

# shows NAME VALUE
shows() {
	[ "$(value "$1")" = "$2" ] && return
	diagnose "not $1 $2: $(cat "$file")"
	return 1
}

cancelled() {
	echo $(($(value cancelled_queued) + $(value cancelled_filed)))
}

lateness() {
	value lateness | awk '{ for (i = 1; i <= NF; i++) sum += $i; print sum + 0, NF }'
}

# Every counter is there, and is 0 but for those of a worker that has been started.
fresh() {
	for counter in pending armed refreshed_later refreshed_earlier cancelled_queued \
		       cancelled_filed expired handed_back drained drained_max \
		       lag lag_max overlong contained; do
		shows $counter 0 || return
	done
	[ "$(lateness)" = "0 16" ] && [ "$(value passes)" -le 2 ] &&
		[ "$(value wakeups)" -le 1 ]
}

described() {
	shows name u0 && shows tick_ns 10000000 && shows slots 4096 && shows kind hashed &&
		shows clock monotonic && shows stopped no &&
		shows max_pending 0 && value creator | grep -q '^account_create \[hwheel\]$'
}

is_private() {
	[ "$(stat -c %a "$file")" = 400 ]
}

# matches EXPECTED: what client counted, against the file
matches() {
	while read -r name expected; do
		case $name in
		cancelled)
			[ "$(cancelled)" -eq "$expected" ] ;;
		cancelled_filed_at_least)
			[ "$(value cancelled_filed)" -ge "$expected" ] ;;
		*)
			[ "$(value "$name")" -eq "$expected" ] ;;
		esac || {
			diagnose "not $name $expected: $(cat "$file")"
			return 1
		}
	done <"$1"
}

# Sums that hold whatever the worker did in how many passes.
adds_up() {
	ended=$(($(cancelled) + $(value expired) + $(value handed_back)))
	[ "$(value armed)" -eq $((ended + $(value pending))) ] &&
		[ "$(lateness)" = "$(value expired) 16" ] &&
		[ "$(value drained)" -ge "$(value drained_max)" ] &&
		[ "$(value drained_max)" -ge 1 ] && [ "$(value lag)" -ge "$(value lag_max)" ] &&
		[ "$(value passes)" -ge 2 ] && [ "$(value wakeups)" -ge 1 ] &&
		shows contained 0 && shows handed_back 0 && return
	diagnose "$(cat "$file")"
	return 1
}

# Those that are left are cancelled by the close.
close_cancels() {
	before=$(cancelled)
	held=$(value pending)
	exec 3<&-
	shows pending 0 && [ "$(cancelled)" -eq $((before + held)) ] && [ "$held" -gt 0 ] &&
		adds_up
}

counts() {
	exec 3<>/dev/hwheel
	quietly ./client count <&3 && cp "$work/output" "$work/expected" &&
		grep -q "^armed" "$work/expected" && matches "$work/expected" && adds_up &&
		close_cancels
	status=$?
	exec 3<&-
	return $status
}

# All figures go on from where they were.
counts_twice() {
	awk '{ print $1, $1 == "pending" ? $2 : 2 * $2 }' "$work/expected" >"$work/double"
	# What the first file held was cancelled when it was closed.
	held=$(sed -n 's/^pending //p' "$work/expected")
	awk -v held="$held" '{ print $1, $1 == "cancelled" ? $2 + held : $2 }' \
		"$work/double" >"$work/expected_twice"
	exec 3<>/dev/hwheel
	quietly ./client count <&3 && matches "$work/expected_twice" && adds_up
	status=$?
	exec 3<&-
	return $status
}

# The same, where the pending ones are counted one by one.
counts_with_limit() {
	unload_kept && load_and_keep max_pending=100000 && shows max_pending 100000 && counts
}

# client arms 1012, 1001 times in vain, lets one expire, and leaves the rest to the exit.
counts_no_failures() {
	unload_kept && load_and_keep max_pending=1000 && quietly ./client limit || return
	shows armed 1012 && shows expired 1 && shows pending 0 &&
		shows refreshed_earlier 1 && shows refreshed_later 0 &&
		[ "$(cancelled)" -eq 1011 ] && adds_up
}

file_vanishes() {
	unload_kept && [ ! -e $folder ] && load_and_keep && [ -e "$file" ]
}

# Like an open /dev/hwheel it keeps the module, and works.
held_by_open_file() {
	exec 6<&- 4<$folder/system-1
	if unload; then
		diagnose "unloaded under an open file"
		exec 4<&-
		return 1
	fi
	grep -q "^armed 0$" <&4
	status=$?
	exec 4<&-
	[ $status -eq 0 ] && quietly unload && quietly load
}

load_leak() {
	insmod ./hwheel_leak.ko delay_ms=3600000 "$@" 2>"$work/insmod"
}

unload_leak() {
	rmmod hwheel_leak
}

# The wheel is destroyed under its file, which then has nothing to tell, and no crash.
destroyed_under_open_file() {
	quietly load_leak || return
	exec 4<"$(echo $folder/leak0-*)" 5<"$(echo $folder/leak1-*)"
	grep -q "^pending 5$" <&5 && unload_leak && await only_system_wheel
	status=$?
	cat <&4 >"$work/output" 2>&1 && status=1
	cat <&5 >>"$work/output" 2>&1 && status=1
	exec 4<&- 5<&-
	diagnose "$(cat "$work/output")"
	[ $status -eq 0 ] && ! grep -q pending "$work/output" && quietly unload && quietly load
}

come_and_go() {
	load_leak released=5 && unload_leak
}

# Of what is read each is whole, or not there.
read_while_wheels_come_and_go() {
	: >"$work/seen"
	while [ -e "$work/seen" ]; do
		cat $folder/* >>"$work/read" 2>/dev/null
	done &
	reader=$!
	repeat 20 come_and_go
	status=$?
	rm "$work/seen"
	wait $reader
	diagnose "read $(grep -c '^name' "$work/read") files"
	[ $status -eq 0 ] && grep -q '^name system' "$work/read"
}

warnings() {
	dmesg | grep -c "hwheel: more than 64 wheels at a time"
}

# warned TIMES WHEELS: in the log since hwheel was loaded, with so many of kernel code
warned() {
	quietly load_leak released=0 wheels="$2" && unload_leak || return
	[ "$(warnings)" -eq "$1" ] && return
	diagnose "$(warnings) warnings, not $1"
	return 1
}

# A wheel that was stopped is counted out when it stops, and not again when it is destroyed. Those of
# programs do not count.
warns_once() {
	quietly unload && clear_log && quietly load && quietly ./client stop 10 &&
		quietly ./client wheels 16 || return
	warned 0 64 && warned 0 64 && warned 1 65 && warned 1 70 &&
		dmesg | grep -q "64 wheels at a time, the latest made by make_wheel \[hwheel_leak\]"
}

begin
load_and_keep
report "a wheel has a file, for root alone" is_private
report "it says what the wheel is like" described
report "nothing is counted before anything happens" fresh
report "all that happens is counted" counts
report "and added up" counts_twice
report "also under a limit" counts_with_limit
report "what failed is not counted" counts_no_failures
report "the file goes with the wheel" file_vanishes
report "an open file of hwheel's own wheel keeps it loaded" held_by_open_file
report "a wheel is destroyed while its file is open" destroyed_under_open_file
report "files are read while wheels come and go" read_while_wheels_come_and_go
report "the 65th wheel warns, once" warns_once
quietly unload
end
