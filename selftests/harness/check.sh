#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# check.sh: runs all parts of make check, each whatever became of the others, and
# gathers their test points in build/check.tap. MAKE comes from the Makefile. The
# last line says how many passed, failed and were skipped.
set -uo pipefail

cd "$(dirname "$(realpath "$0")")/../.." || exit

parts=()

# part NAME TAP... -- COMMAND...: TAP files are what COMMAND writes. An old one
# must not stand for it.
part() {
	local name=$1 taps=() status

	shift
	while [ "$1" != -- ]; do
		taps+=("$1")
		shift
	done
	shift
	rm -f "${taps[@]}"
	printf '\n== %s\n' "$name"
	"$@" && status=0 || status=$?
	parts+=(--part "$name" "$status" "${taps[@]}")
}

target() {
	"$MAKE" --no-print-directory "$1"
}

mkdir -p build

part tap -- python3 -B selftests/harness/tap_test.py
part trust -- python3 -B selftests/harness/trust_test.py
part english -- python3 -B selftests/harness/english_test.py
part blocks -- python3 -B selftests/harness/documents/blocks_test.py
part bench -- python3 -B selftests/bench/report/bench_test.py
part judge -- python3 -B tools/demo/judge_test.py
part lint build/lint.tap -- target lint
part kunit build/kunit.tap -- target kunit
part harness build/harness.tap -- target _harness
part selftests build/selftests.tap -- target selftests
part tools build/tools.tap -- target tools-test
part out-of-tree build/out-of-tree/sample_test.tap -- target _out_of_tree
part readme build/readme.tap build/readme-run/guest.tap -- target _readme
part run -- target run

printf '\n'
python3 -B selftests/harness/tap.py --out build/check.tap "${parts[@]}"
