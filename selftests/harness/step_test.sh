#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# step_test.sh: what step.sh shows of a step, and what it keeps. Prints TAP.
set -uo pipefail

cd "$(dirname "$(realpath "$0")")" || exit
# shellcheck source=selftests/harness/tap.sh
. ./tap.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# step STATUS COMMAND...: leaves what it has shown in $work/shown
step() {
	local expected=$1 status

	shift
	./step.sh "$work/folder/log" "Building a thing" "$@" >"$work/shown" 2>&1
	status=$?
	[ $status -eq "$expected" ] && return
	diagnose "status $status: $(cat "$work/shown")"
	return 1
}

one_line() {
	step 0 sh -c 'echo out; echo error >&2' &&
		grep -qxE '  Building a thing: done, in [0-9]+ s' "$work/shown" &&
		[ "$(wc -l <"$work/shown")" -eq 1 ] &&
		[ "$(sort "$work/folder/log" | xargs)" = "error out" ]
}

failure_is_shown() {
	step 7 sh -c 'seq 100; echo wrong >&2; exit 7' && grep -q 'FAILED with status 7' "$work/shown" &&
		[ "$(tail -n 1 "$work/shown")" = wrong ] && ! grep -qx 1 "$work/shown" &&
		grep -qx 1 "$work/folder/log"
}

old_log_is_replaced() {
	step 0 echo first && step 0 echo second && [ "$(cat "$work/folder/log")" = second ]
}

echo "TAP version 13"
report "a step shows one line, and the log has the rest" one_line
report "a step that fails shows the end of the log, and has its status" failure_is_shown
report "a log is of the last run" old_log_is_replaced
tap_end
