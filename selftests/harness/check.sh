#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# check.sh quick|all: runs the parts of make check, or those of make check-all, each even
# if others have failed, and gathers their test points in build/check.tap. Two lanes
# run side by side, as a virtual machine leaves much of two CPUs idle. The terminal shows
# how each part ended and, twice a minute, the last line of each that runs; the folder
# build/check has all that they print. MAKE comes from the Makefile. The last line says how
# many test points passed, failed and were skipped.
set -uo pipefail

cd "$(dirname "$(realpath "$0")")/../.." || exit
# shellcheck source=selftests/harness/messages.sh
. selftests/harness/messages.sh

how=${1:?quick or all}
logs=build/check

# How many lines of a part that failed are shown, of failures and of its end
shown=40

minutes() {
	printf '%d min %02d s' $(($1 / 60)) $(($1 % 60))
}

# conclude NAME STATUS SECONDS
conclude() {
	if [ "$2" -eq 0 ]; then
		say "$1: passed, in $(minutes "$3")"
	else
		say "$1: FAILED with status $2, in $(minutes "$3"); from $logs/$1.log, and its end:"
		grep -aE -A 4 '^(not ok|  vm: FAILED)' "$logs/$1.log" | head -n $shown >&2
		tail -n $shown "$logs/$1.log" >&2
	fi
}

# part NAME TAP... -- COMMAND...: COMMAND writes the TAP files. An old one must not stand
# for it.
part() {
	local name=$1 taps=() status since=$EPOCHSECONDS

	shift
	while [ "$1" != -- ]; do
		taps+=("$1")
		shift
	done
	shift
	rm -f "${taps[@]}"
	"$@" >"$logs/$name.log" 2>&1 </dev/null && status=0 || status=$?
	printf '%s\n' --part "$name" "$status" "${taps[@]}" >"$logs/$name.part"
	conclude "$name" "$status" $((EPOCHSECONDS - since))
}

target() {
	"$MAKE" --no-print-directory "$@"
}

# script_test NAME: a test that is a script of the harness
script_test() {
	"selftests/harness/$1_test.sh" | tee "build/$1.tap"
}

# Each takes seconds.
short_parts() {
	part tap -- python3 -B selftests/harness/tap_test.py
	part row -- python3 -B selftests/harness/row_test.py
	part blocks -- python3 -B selftests/harness/documents/blocks_test.py
	part bench -- python3 -B selftests/bench/report_test.py
	part checker -- python3 -B tools/test/hwheeld/checker_test.py
	part setup build/setup.tap -- script_test setup
	part step build/step.tap -- script_test step
	part leaks build/leaks.tap -- script_test leaks
	part versions build/versions.tap -- script_test versions
	part machines build/machines.tap -- script_test machines
	part report -- python3 -B selftests/stress/syzkaller/report_test.py
	part judges -- python3 -B kunit/mutants/judge_test.py
}

# Kernels that look for faults, bounded, the models, and two faults, of which KUnit must notice one
# and kselftests the other
long_parts() {
	part mutants -- target mutants ONLY="enqueued in the next slot"
	part calls -- target mutants ONLY="kicked through a descriptor for reading"
	part model build/model.tap -- target _model
	part torture build/matrix.tap -- \
		target torture SUITES="wrong torture" CALLS=10000 OPS=100000 \
			TORTURE_TIMEOUT=1200
}

# Prints the seconds after which the emulated machine counts as hung. With the minute that the
# builds take, the column ends within eight minutes on a quiet machine; each process that runs beside
# it may take as much of the CPUs, and adds as much.
arm64_timeout() {
	local load

	read -r load _ </proc/loadavg
	echo $((400 * (1 + ${load%.*})))
}

# On another architecture; with a result of its own, as torture has one
arm64() {
	target matrix KERNELS=arm64 SUITES="gcc quick" RESULT=arm64 TIMEOUT="$(arm64_timeout)"
}

# The daemon of durable timeouts, bounded
hwheeld() {
	target hwheeld-test KILLS_DAEMON=10 POWER=1 REQUESTS=300
}

# Another architecture, and what is built upon the device
guest_long_parts() {
	part arm64 build/arm64.tap -- arm64
	part java build/java.tap -- target java-test
	part hwheeld build/hwheeld.tap -- hwheeld
	part python build/python.tap -- target python-test
	part shell build/shell-test.tap -- target shell-test
	part cluster build/cluster.tap -- target cluster-test KILLS_DAEMON=3
	part chaos build/chaos.tap -- target chaos TIME=90s POWER=0
}

host_lane() {
	short_parts
	part lint build/lint.tap -- target lint
	part kunit build/kunit.tap -- target kunit
	part tools build/tools.tap -- target tools-test
	[ "$how" = quick ] || long_parts
}

# The build comes first, as the other lane needs none of it for some minutes.
guest_lane() {
	part build -- target _everything
	part selftests build/selftests.tap -- \
		target selftests QUICK="$([ "$how" = all ] || echo 1)"
	part out-of-tree build/out-of-tree/sample_test.tap -- target _out_of_tree
	part readme build/readme.tap build/readme-run/guest.tap -- target _readme
	part run -- target run
	part harness build/harness.tap -- target _harness
	[ "$how" = quick ] || guest_long_parts
}

# Shows the last line of each part that has not ended.
show_progress() {
	local log

	for log in "$logs"/*.log; do
		[ -e "${log%.log}.part" ] ||
			say "$(basename "$log" .log): $(tail -n 1 "$log" | cut -c 1-80)"
	done
}

# A part that did not end, as its lane did, has failed.
gather() {
	local log arguments=()

	for log in "$logs"/*.log; do
		[ -e "${log%.log}.part" ] ||
			printf '%s\n' --part "$(basename "$log" .log)" 1 >"${log%.log}.part"
	done
	mapfile -t arguments < <(cat "$logs"/*.part)
	python3 -B selftests/harness/tap.py --out build/check.tap "${arguments[@]}"
}

rm -rf "$logs"
mkdir -p "$logs"
host_lane &
lanes=$!
guest_lane &
lanes+=" $!"
while sleep 30; do show_progress; done &
watch=$!
# shellcheck disable=SC2086 # several of them
wait $lanes
kill $watch
gather
