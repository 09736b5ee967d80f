#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# selftest.sh --out DIR RUN OPTION...
#
# Does the harness fail when it must? Each case has RUN, this folder's run.sh or one that
# takes the same options, boot a VM of its own with a script that goes wrong in one way,
# and expects what it says about it. Prints TAP.
set -uo pipefail

[ $# -ge 3 ] && [ "$1" = --out ] || exit 2
out=$2
shift 2
runner=("$@")

# What the scripts do. Those that fail must be seen to have got as far as that.
declare -A script=(
	[ships]='echo reached; dd if=/dev/urandom of=/results/random bs=64k count=48
		 sha256sum </results/random >/results/sum'
	[exits_3]='echo reached; exit 3'
	[is_killed]='echo reached; kill -9 $$'
	[hangs]='echo reached; while :; do sleep 1; done'
	[panics]='echo reached; echo c >/proc/sysrq-trigger'
	[powers_off]='echo reached; echo success >/dev/ttyS1; poweroff -f'
	[complains]='echo reached; echo "<4>WARNING: CPU: 0 PID: 1 at a.c:1" >/dev/kmsg'
	[races]='echo reached; echo "<3>==========" >/dev/kmsg
		 echo "<3>BUG: KCSAN: data-race in a / b" >/dev/kmsg
		 echo "<3> a+0x1/0x2 [mine]" >/dev/kmsg; echo "<3>==========" >/dev/kmsg'
)

# run NAME OPTION...: boots NAME's script; what run.sh says goes to NAME.log.
run() {
	local name=$1

	shift
	mkdir -p "$out/$name"
	echo "${script[$name]}" >"$out/$name/guest.sh"
	"${runner[@]}" --out "$out/$name/vm" --smp 1 --mem 256 \
		--guest "$out/$name/guest.sh" --quiet "$@" >"$out/$name/log" 2>&1
}

# run_failing NAME MESSAGE OPTION...
run_failing() {
	local name=$1 message=$2

	shift 2
	if run "$name" "$@"; then
		echo "# run.sh succeeded"
		return 1
	fi
	grep -q '^reached' "$out/$name/vm/console.log" &&
		grep -q "FAILED: $message" "$out/$name/log"
}

run_shipping() {
	run ships &&
		grep -q '^reached' "$out/ships/vm/console.log" &&
		[ "$(stat -c %s "$out/ships/vm/random")" -eq 3145728 ] &&
		[ "$(sha256sum <"$out/ships/vm/random")" = "$(cat "$out/ships/vm/sum")" ]
}

tests=0 bad=0

# point NAME DESCRIPTION COMMAND...
point() {
	local name=$1 description=$2 verdict=ok

	shift 2
	tests=$((tests + 1))
	if ! "$@"; then
		verdict="not ok"
		bad=$((bad + 1))
		sed 's/^/# /' "$out/$name/log"
	fi
	echo "$verdict $tests - $description"
}

rm -rf "$out"

echo "TAP version 13"
echo "1..9"
point ships "what the script leaves arrives unchanged" run_shipping
point exits_3 "a script that exits with 3 fails the run" \
	run_failing exits_3 ".*status 3"
point is_killed "a script that is killed fails the run" \
	run_failing is_killed ".*status 137"
point hangs "a script that hangs fails the run" \
	run_failing hangs "not done after" --timeout 20
point panics "a kernel panic fails the run" \
	run_failing panics "the kernel complained"
point powers_off "an early power-off fails the run" \
	run_failing powers_off "the VM went down before"
point complains "a kernel warning fails the run, though the script succeeds" \
	run_failing complains "the kernel complained"
point races "a data race fails the run if it is ours" \
	run_failing races "the kernel complained" --races '[mine]'
point races "a data race does not fail the run if it is others'" \
	run races --races '[yours]'
[ $bad -eq 0 ]
