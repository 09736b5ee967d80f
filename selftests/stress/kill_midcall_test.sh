#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# kill_midcall_test.sh [KILLS]: processes are killed in the midst of their calls, so many of
# them (100) at least, and leave nothing behind. SEED of the environment, if there is one,
# says when. Run as root where nobody else uses the module; needs hwheel.ko, kill_midcall,
# client, common.sh and leaks.sh beside it. Prints TAP. A module that was loaded before is
# loaded again at the end.

cd "$(dirname "$0")" || exit 1
# shellcheck source=selftests/harness/common.sh
. ./common.sh
# shellcheck source=selftests/module/leaks.sh
. ./leaks.sh
kills=${1:-100}
wheels=/sys/kernel/debug/hwheel
kinds=12

kill_processes() {
	# shellcheck disable=SC2086 # no seed is none
	./kill_midcall "$kills" $((10 * kills)) ${SEED-} >"$work/counts" 2>&1 && return
	diagnose "$(cat "$work/counts")"
	return 1
}

# Some of them are rare, for which there may be more kills.
each_kind() {
	diagnose "$(cat "$work/counts")"
	diagnose "operations=$(sed -n 's/^kills=//p' "$work/counts")"
	[ "$(grep -c '^killed_in_.*=[1-9]' "$work/counts")" -eq $kinds ]
}

own_ones_only() {
	only_system_wheel && only_system_thread
}

nothing_pending() {
	! grep -vx "pending 0" $wheels/u0-* 2>/dev/null | grep -q "^pending "
}

round() {
	quietly ./kill_midcall 12
}

leaks_nothing() {
	find_caches && leaks_nothing_in 10 round
}

begin
quietly load
report "processes killed in the midst of it" kill_processes
report "of everything that there is" each_kind
report "nobody holds the module" await unused
report "no wheel is left but those of hwheel" await own_ones_only
report "nothing is pending" nothing_pending
report "the wheel goes on" quietly ./client load
report_leaks "rounds of this leak nothing" leaks_nothing
report "the module can be unloaded" unload
end
