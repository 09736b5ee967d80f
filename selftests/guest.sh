#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash disable=SC3040 # busybox knows pipefail
#
# Guest script of make selftests: runs every *_test, *_test_32 and *_test.sh with the
# module loaded. What these choose comes from the number in the file seed, if there is one in
# it. The test points go to the console and to /results/NAME.tap.
set -o pipefail

tests=0
bad=0

# point DESCRIPTION COMMAND...
point() {
	local description=$1 verdict=ok

	shift
	tests=$((tests + 1))
	if ! "$@"; then
		verdict="not ok"
		bad=$((bad + 1))
	fi
	echo "$verdict $tests - $description" | tee -a /results/guest.tap
}

is_gone() {
	[ ! -e /dev/hwheel ] && [ ! -e /sys/module/hwheel ]
}

# A test may have left the module unloaded.
run_test() {
	echo "# $1"
	[ -e /sys/module/hwheel ] || insmod hwheel.ko
	"./$1" 2>&1 | tee "/results/${1%.sh}.tap"
	case $? in
	0|4) ;;
	*)   bad=$((bad + 1)) ;;
	esac
}

SEED=$(cat seed) && export SEED
printf 'TAP version 13\n1..4\n' | tee /results/guest.tap
point "insmod" insmod hwheel.ko
point "the device is there" test -c /dev/hwheel
for program in *_test *_test_32 *_test.sh; do
	[ ! -e "$program" ] || run_test "$program"
done
point "rmmod" rmmod hwheel
point "the device is gone" is_gone
[ $bad -eq 0 ]
