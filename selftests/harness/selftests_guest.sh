#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash disable=SC3040 # busybox knows pipefail
#
# Guest script of the kselftests: runs each program and script that the file tests names, as "NAME
# ARGUMENT...", with the module loaded. What these choose comes from the number in the file seed, if
# there is one in it. If the file first is not empty, the first test point that fails is the last.
# The test points go to the console and to /results/NAME.tap.
set -o pipefail

cd "$(dirname "$0")" || exit 1
# shellcheck source=selftests/harness/tap.sh
. ./tap.sh
bad=0
filter="cat"
[ ! -s first ] || filter="sed /^not.ok/q"

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

uptime_seconds() {
	cut -d. -f1 /proc/uptime
}

# run_test NAME ARGUMENT...: a test may have left the module unloaded.
run_test() {
	local name=$1 since program=./$1

	since=$(uptime_seconds)
	shift
	echo "# $name"
	[ -e /sys/module/hwheel ] || insmod hwheel.ko
	[ -x "$program" ] || program=./$name.sh
	"$program" "$@" </dev/null 2>&1 | $filter | tee "/results/$name.tap"
	case $? in
	0|4) ;;
	*)   bad=$((bad + 1)) ;;
	esac
	echo "# $name took $(($(uptime_seconds) - since)) s"
}

SEED=$(cat seed) && export SEED
both echo "TAP version 13"
both report "insmod" insmod hwheel.ko
both report "the device is there" test -c /dev/hwheel
while read -r line; do
	# shellcheck disable=SC2086 # a name, and arguments
	run_test $line
	[ $bad -eq 0 ] || [ ! -s first ] || break
done <tests
[ ! -e /sys/module/hwheel ] || both report "rmmod" rmmod hwheel
both report "the device is gone" is_gone
both tap_end && [ $bad -eq 0 ]
