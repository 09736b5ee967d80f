#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# storm_test.sh [KILLS]: processes that are killed in the midst of everything, so many of
# them (100) at least, and what is left of them: nothing. When they are comes from SEED of
# the environment, if there is one. Run as root where nobody else uses the module; needs
# hwheel.ko, storm, churn, common.sh and objects.sh beside it. Prints TAP. A module that
# was loaded before is loaded again at the end.

cd "$(dirname "$0")" || exit 1
# shellcheck source=selftests/common.sh
. ./common.sh
# shellcheck source=selftests/objects.sh
. ./objects.sh
kills=${1:-100}
wheels=/sys/kernel/debug/hwheel
kinds=11

storm() {
	# shellcheck disable=SC2086 # no seed is none
	./storm "$kills" $((10 * kills)) ${SEED-} >"$work/storm" && return
	diagnose "$(cat "$work/storm")"
	return 1
}

# Some of them are rare, for which there may be more kills.
each_kind() {
	diagnose "$(cat "$work/storm")"
	diagnose "operations=$(sed -n 's/^kills=//p' "$work/storm")"
	[ "$(grep -c '^killed_in_.*=[1-9]' "$work/storm")" -eq $kinds ]
}

shared_wheel_only() {
	[ "$(ls $wheels)" = dev-1 ] && [ "$(threads hwheel)" -eq 1 ]
}

nothing_pending() {
	grep -qx "pending 0" $wheels/dev-1
}

round() {
	quietly ./storm 12
}

leaks_nothing() {
	find_caches && leaks_nothing_in 10 round
}

begin
quietly load
report "processes killed in the midst of it" storm
report "of everything that there is" each_kind
report "nobody holds the module" await unused
report "no wheel is left but the shared one" await shared_wheel_only
report "nothing is pending" nothing_pending
report "the wheel goes on" quietly ./churn load
report_leaks "rounds of this leak nothing" leaks_nothing
report "the module can be unloaded" unload
end
