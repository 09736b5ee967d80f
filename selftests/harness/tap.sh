# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Test points as TAP, for every test that is a shell script: the script sources this file.
# The plan comes last, so a test that ends too early has none.

tap_points=0
tap_failures=0

# diagnose TEXT...: lines that explain something
diagnose() {
	echo "$*" | sed 's/^/# /'
}

# verdict STATUS NAME: a test point about a command that ended with STATUS
verdict() {
	tap_points=$((tap_points + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $tap_points - $2"
	else
		echo "not ok $tap_points - $2"
		tap_failures=$((tap_failures + 1))
	fi
}

# report NAME COMMAND...: a test point, which passes if the command succeeds
report() {
	local tap_name=$1 tap_status=0

	shift
	"$@" || tap_status=$?
	verdict $tap_status "$tap_name"
}

# skip NAME REASON: a test point that is not to be run here
skip() {
	tap_points=$((tap_points + 1))
	echo "ok $tap_points - $1 # SKIP $2"
}

# quietly COMMAND...: the command's output, and what insmod left, is shown only if the
# command fails. Needs $work, a folder.
quietly() {
	"$@" >"${work:?}/output" 2>&1 && return
	diagnose "$* failed: $(tail -qn 40 "$work/output" "$work/insmod" 2>/dev/null)"
	return 1
}

# Prints the plan; the status is that of the whole test.
tap_end() {
	echo "1..$tap_points"
	[ $tap_failures -eq 0 ]
}
