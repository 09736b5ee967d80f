#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash disable=SC3040 # busybox knows pipefail
#
# Guest script of make selftests: runs every *_test, *_test_32 and *_test.sh with the
# module loaded. What these choose comes from the number in the file seed, if there is one in
# it; the file bounds says how much some of them do, as "NAME BOUND", when the run is to be
# quick. The test points go to the console and to /results/NAME.tap. Where the kernel counts the
# module's lines, gcov's counters go to /results/counters.tar.
set -o pipefail

cd "$(dirname "$0")" || exit 1
# shellcheck source=selftests/harness/tap.sh
. ./tap.sh
bad=0
gcov=/sys/kernel/debug/gcov

# both COMMAND...: its output goes to the console and to guest.tap. No pipe: the command
# counts in this shell.
both() {
	local failed=0

	"$@" >/tmp/point || failed=1
	tee -a /results/guest.tap </tmp/point
	return $failed
}

is_gone() {
	[ ! -e /dev/hwheel ] && [ ! -e /sys/module/hwheel ]
}

bound_of() {
	sed -n "s/^${1%.sh} //p" bounds
}

uptime_seconds() {
	cut -d. -f1 /proc/uptime
}

# A test may have left the module unloaded.
run_test() {
	local since

	since=$(uptime_seconds)
	echo "# $1"
	[ -e /sys/module/hwheel ] || insmod hwheel.ko
	# shellcheck disable=SC2046 # no bound is no argument
	"./$1" $(bound_of "$1") 2>&1 | tee "/results/${1%.sh}.tap"
	case $? in
	0|4) ;;
	*)   bad=$((bad + 1)) ;;
	esac
	echo "# $1 took $(($(uptime_seconds) - since)) s"
}

# The kernel makes these files as they are read, so that only cat copies them.
pack_counters() {
	local name

	find $gcov -name '*.gcda' | while read -r name; do
		mkdir -p "/tmp${name%/*}" && cat "$name" >"/tmp$name"
	done
	tar -C "/tmp$gcov" -cf /results/counters.tar .
}

SEED=$(cat seed) && export SEED
QUICK=$(cat bounds) && export QUICK
both echo "TAP version 13"
both report "insmod" insmod hwheel.ko
both report "the device is there" test -c /dev/hwheel
for program in *_test *_test_32 *_test.sh; do
	[ ! -e "$program" ] || run_test "$program"
done
both report "rmmod" rmmod hwheel
both report "the device is gone" is_gone
[ ! -d $gcov ] || both report "lines are counted" pack_counters
both tap_end && [ $bad -eq 0 ]
