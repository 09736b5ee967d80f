#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# lint.sh: every checker over every file. KVER, KDIR, KSRC and MAKE come from the
# Makefile. Prints TAP; what a checker finds is printed before its point.
set -uo pipefail

cd "$(dirname "$(realpath "$0")")/../.." || exit

mapfile -t c_files < <(find module kunit selftests tools -name '*.[ch]' | sort)
mapfile -t module_files < <(find module -name '*.[ch]' | sort)
mapfile -t scripts < <(grep -rlE -m 1 '^#!/bin/(busybox )?(ba)?sh|shellcheck shell=' \
	--exclude-dir=build --exclude-dir=.git --include='*.sh' --include=init \
	--include=run --include=hwheelctl --include=library --include='*.postinst' . | sort)

# Only what is said about a place in a file: make has warnings of its own. Those of the
# modules that test it are in it.
module_warnings() {
	local log=build/lint.log

	"$MAKE" --no-print-directory _test_modules MODULE="$PWD/build/lint-$KVER" \
		TEST_MODULES="$PWD/build/lint-$KVER/test" KVER="$KVER" KDIR="$KDIR" \
		W=1 C=2 >"$log" 2>&1 || { cat "$log"; return 1; }
	! grep -E '^[^ ]+:[0-9]+:.*(warning|error):|modpost:' "$log"
}

# Tracepoints are laid out as everywhere in the kernel, not as checkpatch has it.
checkpatch() {
	local options=(--no-tree --strict --quiet --terse --no-summary --show-types)

	printf '%s\n' "${c_files[@]}" | grep -v '^module/trace\.h$' |
		xargs perl "$KSRC/scripts/checkpatch.pl" "${options[@]}" -f &&
	perl "$KSRC/scripts/checkpatch.pl" "${options[@]}" \
		--ignore OPEN_ENDED_LINE,PARENTHESIS_ALIGNMENT -f module/trace.h
}

kernel_doc() {
	"$KSRC/scripts/kernel-doc" -none -Werror "${module_files[@]}"
}

# inout is a word of syzkaller's, Nd a macro of manual pages.
spelling() {
	codespell --quiet-level=2 --ignore-words-list=inout,nd --skip=./build,./.git .
}

tests=0 bad=0

# point DESCRIPTION COMMAND...
point() {
	local description=$1 verdict=ok

	shift
	tests=$((tests + 1))
	if ! "$@" 2>&1 | sed 's/^/# /'; then
		verdict="not ok"
		bad=$((bad + 1))
	fi
	echo "$verdict $tests - $description"
}

echo "TAP version 13"
echo "1..9"
mkdir -p build
# Each kernel's objects are built anew, else the checkers would see nothing.
rm -rf "build/lint-$KVER"
point "module: no warning at W=1 C=2" module_warnings
point "checkpatch --strict" checkpatch
point "kernel-doc" kernel_doc
point "shellcheck" shellcheck -x "${scripts[@]}"
point "codespell" spelling
point "mandoc -Tlint" selftests/lib/mandoc.sh
point "the syzkaller description fits the header" \
	selftests/syzkaller/check.py module/include/uapi
point "the README tells what was measured" \
	python3 -B selftests/lib/bench check-readme README.md doc/bench.json doc/bench-about.json
point "the README tells what was tested" \
	python3 -B selftests/lib/trust.py check-readme README.md doc/trust.json
[ $bad -eq 0 ]
