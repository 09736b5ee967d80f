#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Guest script of make bench, in user-mode kernels, which run at the machine's own speed:
# what operations in the kernel take there, with one CPU, and how much one wheel can take,
# with one or two. What the modules have measured goes to /results, with what it was
# measured on.
set -e

# measure MODULE PARAMETER...: a module that measures while it is loaded
measure() {
	local module=$1

	insmod "$@"
	module=${module%.ko}
	cat "/sys/kernel/debug/$module"
	rmmod "$module"
}

insmod hwheel.ko
{
	echo "kernel $(uname -r)"
	if [ -e hwheel_bench.ko ]; then
		measure hwheel_bench.ko n=1000 rounds=20
		measure hwheel_bench.ko n=100000 rounds=10
		measure hwheel_bench.ko n=1000000 rounds=3
	fi
	measure hwheel_saturation.ko n=100000
	[ ! -e hwheel_bench.ko ] || ./user_bench lives_timed
} >/results/bench
cat /results/bench
rmmod hwheel
