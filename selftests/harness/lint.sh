#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# lint.sh: every checker over every file. KVER, KDIR and KSRC come from the
# environment. Prints TAP; what a checker finds is printed before its point.
set -uo pipefail

cd "$(dirname "$(realpath "$0")")/../.." || exit
# shellcheck source=selftests/harness/tap.sh
. selftests/harness/tap.sh

mapfile -t c_files < <(find module kunit selftests tools -name '*.[ch]' | sort)
mapfile -t module_files < <(find module -name '*.[ch]' | sort)
mapfile -t scripts < <(grep -rlE -m 1 '^#!/bin/(busybox )?(ba)?sh|shellcheck shell=' \
	--exclude-dir=build --exclude-dir=.git --include='*.sh' --include=init \
	--include=run --include=hwheelctl --include={build,device,documents,installed,library,service} \
	--include='*.postinst' . | sort)

# Only what is said about a place in a file: make has warnings of its own. Those of the
# modules that test it are in it.
module_warnings() {
	local log=build/lint.log

	MODULE=$PWD/build/lint-$KVER MODULES=$PWD/build/lint-$KVER/test KBUILD="W=1 C=2" \
		selftests/harness/build.sh modules >"$log" 2>&1 || { cat "$log"; return 1; }
	! grep -E '^[^ ]+:[0-9]+:.*(warning|error):|modpost:' "$log"
}

# Tracepoints and groups of fields are laid out as everywhere in the kernel, not as checkpatch has
# it, and names of libcurl and SQLite are their own.
checkpatch() {
	local options=(--no-tree --strict --quiet --terse --no-summary --show-types)

	printf '%s\n' "${c_files[@]}" |
		grep -vE '^(module/(engine/(trace|wheel)|device/file_trace)\.h|tools/hwheeld/(nodes|consensus)/.*|tools/hwheeld/store/database\.[ch])$' |
		xargs perl "$KSRC/scripts/checkpatch.pl" "${options[@]}" -f &&
	perl "$KSRC/scripts/checkpatch.pl" "${options[@]}" \
		--ignore LINE_SPACING,OPEN_ENDED_LINE,PARENTHESIS_ALIGNMENT \
		-f module/engine/{trace,wheel}.h module/device/file_trace.h &&
	perl "$KSRC/scripts/checkpatch.pl" "${options[@]}" --ignore CAMELCASE \
		-f tools/hwheeld/{nodes,consensus,consensus/etcd,consensus/tenure}/*.[ch] tools/hwheeld/store/database.[ch]
}

kernel_doc() {
	"$KSRC/scripts/kernel-doc" -none -Werror "${module_files[@]}"
}

# Pages that they refer to need not be installed here.
manual_pages() {
	local made=(hwheel.4 hwheel.9 libhwheel.3 hwheel_local.3) page
	local pages=(tools/man/*.[1-9] "${made[@]/#/build/}")

	for page in "${made[@]}"; do
		tools/man/kernel_doc.py "$page" >"build/$page" || return
	done
	! grep -v 'STYLE: referenced manual not found: Xr ' \
		<(mandoc -Tlint "${pages[@]}" 2>/dev/null) &&
		mandoc -Tascii "${pages[@]}" >/dev/null 2>&1
}

# inout is a word of syzkaller's, Nd a macro of manual pages, filp the kernel's struct file.
spelling() {
	codespell --quiet-level=2 --ignore-words-list=inout,nd,filp,te \
		--skip=./build,./.git,./LICENSES,./selftests/harness/words \
		-D - -D selftests/harness/words .
}

# Each licence that a file names has its text in LICENSES/, and each source names one. The header of
# the device has the older name of GPL-2.0-only, as the kernel's headers do.
licences() {
	local files=(find . '(' -path ./build -o -path ./.git -o -path ./LICENSES ')' -prune -o -type f)
	local sources=(-regex '.*\.\([ch]\|py\|sh\|java\|pml\|[1348]\)')

	diff <("${files[@]}" -exec grep -hoP 'SPDX-License-Identifier: \K[A-Z][-A-Za-z0-9. ]+' {} + |
		sed -E 's/ (OR|WITH) /\n/g' | sed -E 's/[ -]*$//; s/^GPL-2.0$/&-only/' | sort -u) \
		<(basename -s .txt LICENSES/*.txt | sort) &&
		! grep . <("${files[@]}" "${sources[@]}" \
			-exec grep -L 'SPDX-License-Identifier: ' {} +)
}

# Prints the table rows of the README that the page does not have, and fails if there are any.
figures_are_measured() {
	local rows

	rows=$(sed -n '/^## Performance/,/^## /p' README.md | grep '^|')
	[ "$(wc -l <<<"$rows")" -ge 8 ] && ! grep -vxFf doc/performance.md <<<"$rows"
}

# check NAME COMMAND...: a test point; what the command prints explains it.
check() {
	report "$1" explained "${@:2}"
}

explained() {
	"$@" 2>&1 | sed 's/^/# /'
}

echo "TAP version 13"
mkdir -p build
# Each kernel's objects are built anew, else the checkers would see nothing.
rm -rf "build/lint-$KVER"
check "module: no warning at W=1 C=2" module_warnings
check "checkpatch --strict" checkpatch
check "dependencies of the module and of hwheeld go one way" selftests/harness/layers.py
check "kernel-doc" kernel_doc
check "shellcheck" shellcheck -x "${scripts[@]}"
check "codespell" spelling
check "each licence has its text" licences
check "each mutant made by hand fits the module" python3 -B kunit/mutants check
check "each call that orders others has a judge" python3 -B selftests/models/judges.py
check "each fault of make check T=chaos_faults fits hwheeld" \
	python3 -B tools/hwheeld/test/chaos_faults.py check
check "mandoc -Tlint" manual_pages
check "the syzkaller description fits the header" \
	selftests/stress/syzkaller/check.py module/include/uapi
check "the README's figures are rows of doc/performance.md" figures_are_measured
tap_end
