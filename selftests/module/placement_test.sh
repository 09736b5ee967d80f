#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Where a wheel's worker runs. Run as root where nobody else uses hwheel, on two CPUs at
# least; needs hwheel.ko, hwheel_place.ko and common.sh beside it. Prints TAP.

cd "$(dirname "$0")" || exit 1
# shellcheck source=selftests/harness/common.sh
. ./common.sh

online=/sys/devices/system/cpu/online
second=/sys/devices/system/cpu/cpu1/online

load_place() {
	insmod ./hwheel_place.ko "$@" 2>"$work/insmod"
}

worker() {
	sed -n 's/^Pid:.//p' "$(grep -l "^Name:.hwheel/place$" /proc/[0-9]*/status)"
}

# stat PID FIELD: by its number in proc(5); the second may hold anything.
stat_of() {
	sed 's/^.*) //' "/proc/$1/stat" | cut -d' ' -f$(($2 - 2))
}

# Prints "NICE RT_PRIORITY POLICY CPUS" of the worker; policy 0 is normal, 1 SCHED_FIFO.
placement() {
	pid=$(worker)
	echo "$(stat_of "$pid" 19) $(stat_of "$pid" 40) $(stat_of "$pid" 41)" \
	     "$(sed -n 's/^Cpus_allowed_list:.//p' "/proc/$pid/status")"
}

# placed EXPECTED PARAMETER...: the worker is there, and works.
placed() {
	expected=$1
	shift
	clear_log
	quietly load_place "$@" || return
	found=$(placement)
	rmmod hwheel_place || return
	[ "$found" = "$expected" ] && ! dmesg | grep -q "runs where it must not" && return
	diagnose "$found, not $expected"
	return 1
}

# refused PARAMETER...: and nothing of it stays behind
refused() {
	if load_place "$@"; then
		diagnose "loaded with $*: $(placement)"
		rmmod hwheel_place
		return 1
	fi
	grep -q "Invalid argument" "$work/insmod" && [ "$(threads hwheel/place)" -eq 0 ] &&
		only_system_wheel && return
	diagnose "$(cat "$work/insmod") $(ls /sys/kernel/debug/hwheel)"
	return 1
}

# A CPU that there is, but is off
refused_offline() {
	echo 0 >$second || return
	refused cpus=1 && placed "0 0 0 0-1" cpus=0-1
	status=$?
	echo 1 >$second && return $status
}

begin
quietly load
all=$(cat $online)
report "by default it is like other kernel threads" placed "0 0 0 $all"
report "nice=5" placed "5 0 0 $all" nice=5
report "nice=-20" placed "-20 0 0 $all" nice=-20
report "nice=19" placed "19 0 0 $all" nice=19
report "rt_priority=1" placed "0 1 1 $all" rt_priority=1
report "rt_priority=99" placed "0 99 1 $all" rt_priority=99
report "cpus=0" placed "0 0 0 0" cpus=0
report "cpus=1" placed "0 0 0 1" cpus=1
report "cpus=1 nice=7" placed "7 0 0 1" cpus=1 nice=7
report "cpus=0 rt_priority=50" placed "0 50 1 0" cpus=0 rt_priority=50
report "nice=20 is refused" refused nice=20
report "nice=-21 is refused" refused nice=-21
report "nice=-2147483648 is refused" refused nice=-2147483648
report "rt_priority=100 is refused" refused rt_priority=100
report "rt_priority=-1 is refused" refused rt_priority=-1
report "nice with rt_priority is refused" refused nice=1 rt_priority=1
report "no CPU at all is refused" refused cpus=
if [ -w $second ]; then
	report "a CPU that is offline is refused" refused_offline
else
	skip "a CPU that is offline is refused" "CPU 1 can't be taken offline"
fi
report "it works again after refusals" placed "0 0 0 $all"
quietly unload
end
