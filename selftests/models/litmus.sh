#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# litmus.sh KSRC [TEST...]: judges each litmus test in litmus/ by the kernel's memory model, which
# is in KSRC/tools/memory-model. The outcome that a test asks for must never happen. Then the
# script replaces, one at a time, the lines that have such a comment, and the outcome must happen:
#   /* not: */        without the line
#   /* not: CODE */   with CODE in its place
#   /* spare: CODE */ with CODE in its place the outcome must not happen, as another barrier, a lock
#                     or a dependency keeps the order
#   /* too: */        the line goes together with the line above that goes without CODE
# HERD7 is herd7, and may have options. Prints TAP; skips where there is no herd7. Debian has none:
# release 7.57 of herdtools7 builds with Debian's ocaml-nox, ocaml-dune, menhir, libmenhir-ocaml-dev
# and libzarith-ocaml-dev. One that is not installed needs its library, too:
# HERD7="FOLDER/herd7 -set-libdir SOURCE/herd/libdir".
set -uo pipefail

here=$(dirname "$(realpath "$0")")
model=${1:?KSRC is needed}/tools/memory-model
shift
# shellcheck source=selftests/harness/tap.sh
. "$here/../harness/tap.sh"

read -ra herd <<<"${HERD7:-herd7}"
replacement='\/\* \(not\|spare\):\(.*\) \*\/'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# judge FILE: prints the verdict. herd7 finds the model in its own folder.
judge() {
	(cd "$model" && "${herd[@]}" -conf linux-kernel.cfg "$1")
}

# Prints how many outcomes there are.
states() {
	judge "$1" | sed -n 's/^States //p'
}

# The model says nothing of the outcomes of a test with a data race.
never() {
	local verdict

	verdict=$(judge "$1")
	grep -q '^Observation [^ ]* Never ' <<<"$verdict" && ! grep '^Flag ' <<<"$verdict"
}

# Without a barrier plain accesses may race, but no lock may be without its unlock.
happens() {
	local verdict

	verdict=$(judge "$1")
	grep -qE '^Observation [^ ]* (Sometimes|Always) ' <<<"$verdict" &&
		! grep '^Flag ' <<<"$verdict" | grep -v '^Flag data-race$'
}

# replace TEST LINE: prints the test with the replacement of the line, and without those that go
# together with it
replace() {
	awk -v line="$2" '
		/\/\* (not|spare): \*\/$/ { left_out = NR == line }
		/\/\* too: \*\/$/ && left_out { next }
		{ print }' "$1" | sed "$2s/^.*$replacement$/\2/"
}

# without JUDGEMENT TEST LINE: with the replacement of the line
without() {
	replace "$2" "$3" >"$work/${2##*/}"
	"$1" "$work/${2##*/}"
}

check() {
	local test=$here/litmus/$1.litmus line

	report "$1: never" never "$test"
	echo "# states=$(states "$test")"
	while IFS=: read -r line _; do
		report "$1: line $line is needed" without happens "$test" "$line"
	done < <(grep -n "/\* not:" "$test")
	while IFS=: read -r line _; do
		report "$1: line $line is spare" without never "$test" "$line"
	done < <(grep -n "/\* spare:" "$test")
}

names=("$@")
[ $# -gt 0 ] || mapfile -t names < <(basename -s .litmus "$here"/litmus/*.litmus)
echo "TAP version 13"
if command -v "${herd[0]}" >/dev/null; then
	for name in "${names[@]}"; do
		check "$name"
	done
else
	skip "litmus tests" "there is no ${herd[0]}"
fi
tap_end
