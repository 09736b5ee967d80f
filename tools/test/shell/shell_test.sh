#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# shell_test.sh OUT: what make shell offers, to lines that do not come from a terminal. Prints
# TAP.
set -uo pipefail

cd "$(dirname "$(realpath "$0")")/../../.." || exit
# shellcheck source=selftests/harness/tap.sh
. selftests/harness/tap.sh
out=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

lines() {
	cat <<-EOF
	echo "shell: \${BASH_VERSION:-none}"
	echo "folder: \$(pwd)"
	hwheelctl info | sed -n 's/^tick */tick: /p'
	gcc first.c "$PWD/build/tools/libhwheel.a" -I"$PWD/tools" -I"$PWD/module/include/uapi" \\
		-pthread -o first_here && ./first_here
	man -P cat hwheelctl 2>/dev/null | sed -n 's/^HWHEELCTL(1).*/page: hwheelctl/p'
	touch "$PWD/not_here" || echo "the rest is read-only"
	heartbeat --help | sed -n 's/^usage: /demonstration: /p'
	EOF
}

# says PATTERN: a whole line
says() {
	grep -qxE "$1" "$out/said" && return
	diagnose "nowhere '$1': $(tail -n 20 "$out/said")"
	return 1
}

runs_lines() {
	cp tools/examples/first.c "$work/" && mkdir -p "$out" &&
		lines | make --no-print-directory shell SHARE="$work" >"$out/said" 2>&1
}

program_is_built() {
	says 'cookie 42, [0-9]+ ns after its deadline' && [ -x "$work/first_here" ]
}

rest_is_read_only() {
	says 'the rest is read-only' && [ ! -e not_here ]
}

echo "TAP version 13"
report "make shell runs lines" runs_lines
report "in Bash" says 'shell: [0-9.()]+-?.*'
report "in the folder that is shared" says "folder: $work"
report "with the module" says 'tick: 10 ms'
report "a program that is built there runs, and is here" program_is_built
report "the manual pages are there" says 'page: hwheelctl'
report "other files can only be read" rest_is_read_only
report "the demonstration has help" says 'demonstration: .*FOLDER.*'
tap_end
