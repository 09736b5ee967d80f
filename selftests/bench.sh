#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Guest script of make bench, in a VM that counts instructions. What the module and the
# program have measured goes to /results, with what it was measured on.
set -e

clocks=/sys/devices/system/clocksource/clocksource0

insmod hwheel.ko
insmod hwheel_bench.ko
{
	echo "kernel $(uname -r)"
	echo "clocksource $(cat $clocks/current_clocksource)"
	echo "spectre_v2 $(cat /sys/devices/system/cpu/vulnerabilities/spectre_v2)"
	cat /sys/module/hwheel_bench/parameters/results
	./user_bench
} >/results/bench
cat /results/bench
rmmod hwheel_bench
rmmod hwheel
