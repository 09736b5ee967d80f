# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Test points as TAP. What a command printed is shown if it fails. Needs $work, a folder.
: "${work:?}"

tests=0 bad=0

# point DESCRIPTION COMMAND...
point() {
	local description=$1 verdict=ok

	shift
	tests=$((tests + 1))
	if ! "$@" >"$work/output" 2>&1; then
		verdict="not ok"
		bad=$((bad + 1))
		tail -n 40 "$work/output" | sed 's/^/# /'
	fi
	echo "$verdict $tests - $description"
}

# skip DESCRIPTION REASON: one that is not to be run here
skip() {
	tests=$((tests + 1))
	echo "ok $tests - $1 # SKIP $2"
}

# Its status is that of the whole.
end() {
	echo "1..$tests"
	[ $bad -eq 0 ]
}
