#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Guest script of make bench, in a VM that counts instructions: those of operations in the
# kernel, with so many timers. What hwheel_bench.ko has measured goes to /results, with what
# it was measured on.
set -e

clocks=/sys/devices/system/clocksource/clocksource0

# measure N ROUNDS
measure() {
	insmod hwheel_bench.ko n="$1" rounds="$2"
	cat /sys/kernel/debug/hwheel_bench
	rmmod hwheel_bench
}

insmod hwheel.ko
{
	echo "kernel $(uname -r)"
	echo "clocksource $(cat $clocks/current_clocksource)"
	echo "spectre_v2 $(cat /sys/devices/system/cpu/vulnerabilities/spectre_v2)"
	measure 1000 10
	measure 10000 5
	measure 100000 3
	measure 1000000 1
} >/results/bench
cat /results/bench
rmmod hwheel
