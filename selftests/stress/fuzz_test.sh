#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash disable=SC3040 # busybox knows pipefail
#
# fuzz_test.sh [CALLS [SEED]]: CALLS random calls (100000), which come from SEED (that of
# the environment, or another one each time), on the module as it is by default but for memory, and
# as many where each limit is near; and some that show whether anything is left of them. Run
# as root where nobody else uses the module; needs hwheel.ko, fuzz, common.sh and
# leaks.sh beside it. Prints TAP. A module that was loaded before is loaded again at the
# end.
set -o pipefail

cd "$(dirname "$0")" || exit 1
# shellcheck source=selftests/harness/common.sh
. ./common.sh
# shellcheck source=selftests/module/leaks.sh
. ./leaks.sh
calls=${1:-100000}
seed=${2-${SEED-}}
threads=4
rounds=20
# A short run's rounds are no longer than itself.
calls_of_round=$((calls < 500 * rounds ? calls / rounds : 500))
limits="tick_ns=1000000 slots=64 levels=2 max_timeouts=500 max_user_wheels=3 max_pending=200"
limits="$limits max_user_bytes=1000000"

# The points of the fuzzer are a subtest; how many calls it made can be added up. What it
# says has to be there if it hangs.
# shellcheck disable=SC2086 # no seed is none
fuzz() {
	./fuzz "$1" $threads $seed 2>&1 | awk '{ print (/^# operations=/ ? "" : "    ") $0; fflush() }'
}

# fuzz_with CALLS PARAMETER...: unloads the module even when the fuzzer fails, because
# closed files do not hinder that
fuzz_with() {
	fuzz_calls=$1
	shift
	quietly load "$@" || return 1
	fuzz "$fuzz_calls"
	fuzz_status=$?
	quietly unload && ! loaded && return "$fuzz_status"
}

# shellcheck disable=SC2086 # several parameters
round() {
	quietly load $limits && quietly ./fuzz $calls_of_round $threads $seed && quietly unload
}

leaks_nothing() {
	quietly load && find_caches && quietly unload && leaks_nothing_in $rounds round
}

begin
report "$calls calls" fuzz_with "$calls" max_user_bytes=$((1 << 50))
# shellcheck disable=SC2086 # several parameters
report "$calls calls near all limits" fuzz_with "$calls" $limits
report_leaks "rounds of calls leave nothing behind" leaks_nothing
end
