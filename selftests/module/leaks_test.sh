#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# leaks_test.sh: what leaks.sh takes for a leak, by counts that are given. Needs no
# kernel. Prints TAP.
set -uo pipefail

cd "$(dirname "$(realpath "$0")")" || exit
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck source=selftests/harness/tap.sh
. ../harness/tap.sh
# shellcheck source=selftests/module/leaks.sh
. ./leaks.sh

# Each time that rounds are counted takes the next one: "CACHE BEFORE AFTER, CACHE ..."
counts=()
# Caches that never change, as leaks.sh wants to see many
quiet=21

repeat() { :; }
let_go() { :; }

# write_count FILE FIELD CHANGES
write_count() {
	tr ',' '\n' <<<"$3" | awk -v field="$2" -v quiet="$quiet" '
		{ print $1, $field }
		END { while (quiet--) print "quiet-" quiet, 100 }
	' >"$work/$1"
}

count_rounds() {
	[ ${#counts[@]} -gt 0 ] || return
	write_count before 2 "${counts[0]}"
	write_count after 3 "${counts[0]}"
	counts=("${counts[@]:1}")
}

# leak COUNT...: do twenty rounds each with these counts leak, and were all of these looked at?
leak() {
	counts=("$@")
	! leaks_no_objects_in 20 true && [ ${#counts[@]} -eq 0 ]
}

no_leak() {
	counts=("$@")
	leaks_no_objects_in 20 true && [ ${#counts[@]} -eq 0 ]
}

few_caches() {
	quiet=5
	leak "kmalloc-8 100 100"
}

echo "TAP version 13"
report "what stays is no leak" no_leak "kmalloc-96 443 443"
report "what grows by less than half an object a round is none" no_leak "kmalloc-96 443 452"
report "an object a round is a leak" \
	leak "kmalloc-96 443 463" "kmalloc-96 463 483" "kmalloc-96 483 503"
report "an object a round is a leak beside what stops to grow" \
	leak "kmalloc-96 443 463, kmalloc-8 100 200" "kmalloc-96 463 483, kmalloc-8 200 200" \
	"kmalloc-96 483 503, kmalloc-8 200 200"
report "what grew once is none" no_leak "kmalloc-96 443 466" "kmalloc-96 466 466"
report "what goes before the next rounds is none" \
	no_leak "kmalloc-96 443 466" "kmalloc-96 443 466" "kmalloc-96 443 466"
# As an s390x with kernel 6.1 counted
report "two caches that stop to grow, one after the other, are none" \
	no_leak "kmalloc-96 443 466, kmalloc-8 1024 1024" \
	"kmalloc-96 454 466, kmalloc-8 1024 1024" "kmalloc-96 466 466, kmalloc-8 1024 1192"
report "two caches that take turns to grow are none" \
	no_leak "kmalloc-96 443 466, kmalloc-8 1024 1024" \
	"kmalloc-96 454 466, kmalloc-8 1024 1192" "kmalloc-96 466 466, kmalloc-8 1024 1192"
report "too few caches prove nothing" few_caches
tap_end
