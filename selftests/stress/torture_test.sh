#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# torture_test.sh [OPS [SEED]]: inserts hwheel_torture.ko with several parameters, which
# runs the test, and reads its verdict. OPS is how many calls the main one makes
# (2000000), and SEED what all choices come from (that of the environment, or another one
# each time). Run as root where nobody else uses hwheel; needs hwheel.ko,
# hwheel_torture.ko, common.sh and tap.sh beside it. Prints TAP. A module that was loaded
# before is loaded again at the end.

cd "$(dirname "$0")" || exit 1
# shellcheck source=selftests/harness/common.sh
. ./common.sh
ops=${1:-2000000}
seed=${2:-${SEED:-0}}
parameters=/sys/module/hwheel_torture/parameters

# What the module has printed since the log was cleared, without the time
log() {
	dmesg | sed -n 's/^[^a-z]*torture: //p'
}

# run PARAMETER...: leaves the verdict in $verdict; fails if there is none, or if
# the module can't be removed afterwards.
run() {
	clear_log
	diagnose "hwheel_torture $*"
	insmod ./hwheel_torture.ko seed="$seed" "$@" || return
	verdict=$(cat $parameters/verdict)
	rmmod hwheel_torture
}

operations() {
	log | sed -n 's/^operations=//p'
}

# Of what has passed how much it was is worth reading.
torture() {
	if run "$@" && [ "$verdict" = passed ]; then
		diagnose "operations=$(operations)"
		return
	fi
	diagnose "$(log)"
	return 1
}

# And here all other counts
torture_in_full() {
	torture ops="$ops" || return
	diagnose "$(log | grep -v '^operations=')"
	[ "$(operations)" -ge "$ops" ]
}

# at_most CALLS: no other case makes more calls than the main one.
at_most() {
	if [ "$1" -lt "$ops" ]; then
		echo "$1"
	else
		echo "$ops"
	fi
}

# With a single call most of what is counted has not happened: that has to be noticed.
unfinished() {
	run threads=1 ops=1 && [ "$verdict" != passed ]
}

refused() {
	if insmod ./hwheel_torture.ko "$@" 2>/dev/null; then
		rmmod hwheel_torture
		return 1
	fi
}

# A wheel has up to four levels, and about 64 bytes a slot; a dozen of them may live at a time.
most_slots() {
	local kb slots=1048576

	kb=$(awk '/^(MemAvailable|VmallocTotal):/ && (!kb || $2 < kb) { kb = $2 }
		END { print kb }' /proc/meminfo)
	while [ $((slots * 3)) -gt "$kb" ]; do
		slots=$((slots / 2))
	done
	echo $slots
}

begin
quietly load
report "torture" torture_in_full
report "ticks of 50 us, one slot" torture ops="$(at_most 300000)" tick_us=50 slots=1
report "ticks of 50 us, as many slots as there is room for" \
	torture ops="$(at_most 100000)" tick_us=50 slots="$(most_slots)" cover=0
report "ticks of 10 ms, many objects" \
	torture ops="$(at_most 300000)" tick_us=10000 objects=10000 cover=0
report "one thread" torture ops="$(at_most 200000)" threads=1 cover=0
report "many threads, wheels that do not live long" \
	torture ops="$(at_most 200000)" threads=32 wheel_life=500 cover=0
report "one wheel, all for the same objects" \
	torture ops="$(at_most 300000)" wheels=1 objects=8 cover=0
report "many wheels, few objects" \
	torture ops="$(at_most 300000)" wheels=16 objects=32 threads=12 cover=0
report "a test that covers too little fails" unfinished
report "parameters out of range are refused" refused threads=0
report "the module can be unloaded" unload
end
