#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash disable=SC3040 # busybox knows pipefail
#
# Guest script of make torture. The file torture says how many calls the fuzzer makes, how
# many operations the torture module, and from which seed, if from a certain one; the file
# fire how often the module is reloaded, CPUs go away and processes are killed, and how
# many time-outs are pending on one wheel. The test points go to the console and to
# /results/NAME.tap.
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

read -r calls ops seed <torture
# shellcheck disable=SC2086 # no seed is none
run fuzz_test "$calls" $seed
# shellcheck disable=SC2086
run torture_test "$ops" $seed
read -r reloads offline kills pending <fire
run unload_test "$reloads"
run hotplug_test "$offline"
run storm_test "$kills"
run many_test "$pending"
[ $bad -eq 0 ]
