#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# inside.sh BUILD KILLS REQUESTS [SEED]: all tests of hwheeld that need the module, in a user-mode
# kernel which has this machine's files; BUILD has the programs. A tmpfs is at /tmp, below which
# the checkout may be, under any name.
set -uo pipefail

build=$1 kills=$2 requests=$3 seed=(${4:+"$4"})
tests=$(dirname "$(realpath "$0")")
# The daemon of a test may belong to another user.
scratch=$(mktemp -d)
chmod 755 "$scratch"
bad=0

run_test() {
	local name=$1 since=$SECONDS

	shift
	python3 -B "$tests/$name.py" "$build/hwheeld" "$scratch/$name" "$@" |
		tee "/tmp/results/$name.tap" || bad=1
	cat "$scratch/$name"/*/log "$scratch/$name"/log >"/tmp/results/$name.log" 2>/dev/null
	rm -rf "${scratch:?}/$name"
	echo "# $name took $((SECONDS - since)) s"
}

ip link set lo up
run_test api_test
run_test wheel_test "$build/fail_map.so"
run_test disk_test "$build/fail_sync.so"
run_test fuzz_test "$requests" "${seed[@]}"
run_test kill_test "$kills" "${seed[@]}"
exit $bad
