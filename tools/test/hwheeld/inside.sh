#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# inside.sh BUILD KILLS REQUESTS: all tests of hwheeld that need the module, in a user-mode
# kernel which has this machine's files; BUILD has the programs. A tmpfs is at /tmp.
set -uo pipefail

build=$1 kills=$2 requests=$3
tests=$(dirname "$(realpath "$0")")
bad=0

run_test() {
	local name=$1

	shift
	echo "# $name"
	python3 -B "$tests/$name.py" "$build/hwheeld" "/tmp/$name" "$@" |
		tee "/tmp/results/$name.tap" || bad=1
	cat "/tmp/$name"/*/log "/tmp/$name"/log >"/tmp/results/$name.log" 2>/dev/null
	rm -rf "/tmp/${name:?}"
}

ip link set lo up
run_test api_test
run_test disk_test "$build/fail_sync.so"
run_test fuzz_test "$requests"
run_test kill_test "$kills"
exit $bad
