#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# wheel_kinds.sh --kver KVER --out DIR HWHEEL.KO LIFE.KO
#
# Has timeouts live on each kind of wheel, in a VM for each of the combinations, the
# quickest first. What each has measured is left in DIR/KIND-NR-SPREAD. From the
# environment, to choose among the combinations (those of earlier runs with the same
# modules stay in DIR):
#   KINDS     simple hashed hierarchical
#   NUMBERS   of timeouts: 1000 100000 1000000
#   SPREADS   of their delays, in seconds: 1 60 3600 2592000
set -euo pipefail

here=$(dirname "$(realpath "$0")")
# shellcheck source=selftests/harness/messages.sh
. "$here/../harness/messages.sh"

if [ $# -ne 6 ] || [ "$1" != --kver ] || [ "$3" != --out ]; then
	die "--kver, --out and two modules are needed"
fi
kver=$2 out=$4
modules=("$5" "$6")

# A month in which little happens is soon over if nothing else happens, either.
quiet="tsc=reliable nowatchdog psi=0"

forget_other_modules() {
	local sums

	sums=$(sha256sum "${modules[@]}" | cut -d' ' -f1)
	if [ "$sums" != "$(cat "$out/modules" 2>/dev/null)" ]; then
		rm -rf "$out"
		mkdir -p "$out"
		echo "$sums" >"$out/modules"
	fi
}

# live KIND NR SPREAD
live() {
	say "$2 timeouts over $3 s, $1 wheel"
	echo "$*" >"$out/life"
	"$here/../harness/vm/run_vm.sh" --kver "$kver" --out "$out/$1-$2-$3" --icount --append "$quiet" \
		--timeout $((300 + $2 / 400)) --quiet --guest "$here/wheel_kinds_guest.sh" \
		"${modules[@]}" "$out/life"
}

forget_other_modules
for nr in ${NUMBERS:-1000 100000 1000000}; do
	for spread in ${SPREADS:-1 60 3600 2592000}; do
		for kind in ${KINDS:-simple hashed hierarchical}; do
			live "$kind" "$nr" "$spread"
		done
	done
done
