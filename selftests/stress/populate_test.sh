#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# populate_test.sh [NR]: NR timeouts (300000) pending on one wheel, and how it gets rid of
# them: through the device and by the exported symbols. 10,000,000 need 2 GB of memory. Run
# as root where nobody else uses the module; needs hwheel.ko, hwheel_populate.ko,
# populate, common.sh and leaks.sh beside it. Prints TAP. A module that was loaded before is
# loaded again at the end.

cd "$(dirname "$0")" || exit 1
# shellcheck source=selftests/harness/common.sh
. ./common.sh
# shellcheck source=selftests/module/leaks.sh
. ./leaks.sh
nr=${1:-300000}

# Of each timeout in a file, and on the way: what is in the way of nobody else
bytes_each=150
way_kb=30000
done_so_far=0

available_kb() {
	sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo
}

# Pages that wait on lists of each CPU are free, too, though not counted as available:
# since 6.7 these hold up to an eighth of all memory.
listed_kb() {
	awk '$1 == "count:" { pages += $2 } END { print pages * 4 }' /proc/zoneinfo
}

free_kb() {
	echo $(($(available_kb) + $(listed_kb)))
}

fits() {
	[ "$(available_kb)" -gt $((nr * bytes_each / 1000)) ]
}

count() {
	done_so_far=$((done_so_far + nr))
	diagnose "$(tr '\n' ' ' <"$work/output")"
}

# populate HOW...: the timeouts are there, and go
populate() {
	how=$1
	shift
	quietly ./populate "$how" "$nr" "$@" && count
}

total_kb() {
	sed -n 's/^MemTotal: *\([0-9]*\) kB/\1/p' /proc/meminfo
}

# KASAN keeps back what is freed, up to a share of all memory.
kept_kb() {
	if grep -qw kasan_report /proc/kallsyms; then
		echo $(($(total_kb) / 32))
	else
		echo 0
	fi
}

# Memory that was freed may be counted with some delay.
given_back() {
	[ "$(free_kb)" -gt $least_kb ]
}

killed_in_midst() {
	populate kill && [ "$(sed -n 's/^stopped_when_killed=//p' "$work/output")" -lt "$nr" ]
}

# STOP may be quicker than whoever kills it, where that has to wait for a CPU.
some_killed_in_midst() {
	for _ in 1 2 3 4 5; do
		killed_in_midst && return
	done
	return 1
}

# hand_back PARAMETER...: what the module says has to be there, too.
hand_back() {
	local inserted

	clear_log
	quietly insmod ./hwheel_populate.ko nr="$nr" "$@"
	inserted=$?
	dmesg | sed -n 's/^.*hwheel_populate: //p' >"$work/output"
	if [ $inserted -ne 0 ]; then
		diagnose "$(cat "$work/output")"
		return 1
	fi
	rmmod hwheel_populate || return
	count
	done_so_far=$((done_so_far + nr))
	grep -q "^stop: handed_back=$nr otherwise=0 pending=0 " "$work/output" &&
		grep -q "^destroy: released=$nr otherwise=0 " "$work/output"
}

begin
if ! fits; then
	skip "$nr pending" "$(available_kb) kB of memory are too few"
	end
	exit
fi
quietly load max_user_bytes=$((1 << 50))
quietly ./populate close 1000
before_kb=$(free_kb)
least_kb=$((before_kb - way_kb - $(kept_kb)))
report "$nr pending, closed" populate close
report "$nr pending on a wheel of its own, closed" populate close own
report "$nr pending, stopped and read" populate stop
report "$nr pending, left to the exit" populate exit
report "$nr pending, killed while they are stopped" some_killed_in_midst
report "nobody holds the module" await unused
report "no thread is left but those of hwheel's own wheels" await only_system_thread
report "$nr pending in the kernel, handed back and released" hand_back
report "$nr pending on three levels, handed back and released" hand_back levels=3
report "memory is given back" await given_back
diagnose "kB of memory: $before_kb before, $(free_kb) after, $least_kb at least"
diagnose "operations=$done_so_far"
report "the module can be unloaded" unload
end
