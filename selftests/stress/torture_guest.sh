#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash disable=SC3040 # busybox knows pipefail
#
# Guest script of make torture. The file torture says how many calls the fuzzer makes and
# how many operations the torture module; the file fire how often the module is reloaded,
# CPUs go away and processes are killed, and how many time-outs are pending on one wheel.
# All choices come from the number in the file seed, if there is one in it. The test points
# go to the console and to /results/NAME.tap.
set -o pipefail

bad=0

# run NAME PARAMETER...: if it was brought along
run() {
	[ -e "$1.sh" ] || return
	echo "# $*"
	name=$1
	shift
	"./$name.sh" "$@" 2>&1 | tee "/results/$name.tap" || bad=$((bad + 1))
}

SEED=$(cat seed) && export SEED
read -r calls ops <torture
run fuzz_test "$calls"
run torture_test "$ops"
read -r reloads offline kills pending <fire
run unload_test "$reloads"
run hotplug_test "$offline"
run kill_midcall_test "$kills"
run populate_test "$pending"
[ $bad -eq 0 ]
