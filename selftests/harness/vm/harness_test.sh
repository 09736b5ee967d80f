#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# harness_test.sh --out DIR [--wrong|--racy MODULE] RUN OPTION...
#
# Does the harness fail when it must? Each case has RUN, run_vm.sh or one that
# takes the same options, boot a VM of its own with a script that goes wrong in one way,
# and expects what it says about it. Prints TAP.
#
# With MODULE, hwheel_wrong.ko, the kernel has to notice: one that looks for all faults that the
# module makes, or one that looks for data races.
set -uo pipefail

here=$(dirname "$(realpath "$0")")
# shellcheck source=selftests/harness/tap.sh
. "$here/../tap.sh"
# shellcheck source=selftests/harness/vm/machine.sh
. "$here/machine.sh"

[ $# -ge 3 ] && [ "$1" = --out ] || exit 2
out=$2
shift 2
cases=harness wrong=''
case $1 in
--wrong) cases=sanitizers wrong=$2; shift 2 ;;
--racy)  cases=racy wrong=$2; shift 2 ;;
esac
runner=("$@")

# The scripts. One that fails the run has to say before that it was reached.
declare -A script=(
	[ships]='echo reached; dd if=/dev/urandom of=/results/random bs=64k count=48
		 sha256sum </results/random >/results/sum'
	[warns]='echo reached; echo "<4>a warning" >/dev/kmsg; echo the end'
	[exits_3]='echo reached; exit 3'
	[begins_late]='echo reached'
	[begins_never]='echo reached'
	[is_killed]='echo reached; kill -9 $$'
	[hangs]='echo reached; while :; do sleep 1; done'
	[panics]='echo reached; echo c >/proc/sysrq-trigger'
	[powers_off]="echo reached; echo success >/dev/\$channel; poweroff -f"
	[complains]='echo reached; echo "<4>WARNING: CPU: 0 PID: 1 at a.c:1" >/dev/kmsg'
	[kills]='echo reached; echo "<4>a invoked oom-killer: gfp_mask=0x1" >/dev/kmsg
		 echo "<4>Call Trace:" >/dev/kmsg; echo "<4> </TASK>" >/dev/kmsg'
	[kills_and_warns]='echo reached; echo "<4>a invoked oom-killer: gfp_mask=0x1" >/dev/kmsg
		 echo "<4>Call Trace:" >/dev/kmsg; echo "<4> </TASK>" >/dev/kmsg
		 echo "<4>WARNING: CPU: 0 PID: 1 at a.c:1" >/dev/kmsg'
	[races]='echo reached; echo "<3>==========" >/dev/kmsg
		 echo "<3>BUG: KCSAN: data-race in a / b" >/dev/kmsg
		 echo "<3> a+0x1/0x2 [mine]" >/dev/kmsg; echo "<3>==========" >/dev/kmsg'
	[races_beneath_us]='echo reached; echo "<3>BUG: KCSAN: data-race in a / b" >/dev/kmsg
		 echo "<3>read to 0x1 of 8 bytes by task 1 on cpu 1:" >/dev/kmsg
		 echo "<3> a+0x1/0x2" >/dev/kmsg; echo "<3> b+0x1/0x2" >/dev/kmsg
		 echo "<3> c+0x1/0x2 [mine]" >/dev/kmsg
		 echo "<3>Workqueue: name run [mine]" >/dev/kmsg; echo "<3>==========" >/dev/kmsg'
	[races_for_us]='echo reached; echo "<3>BUG: KCSAN: data-race in a / b" >/dev/kmsg
		 echo "<3>read to 0x1 of 8 bytes by task 1 on cpu 1:" >/dev/kmsg
		 echo "<3> a+0x1/0x2" >/dev/kmsg; echo "<3> b+0x1/0x2" >/dev/kmsg
		 echo "<3>write to 0x1 of 8 bytes by interrupt on cpu 0:" >/dev/kmsg
		 echo "<3> a+0x1/0x2" >/dev/kmsg; echo "<3> c+0x1/0x2 [mine]" >/dev/kmsg
		 echo "<3>==========" >/dev/kmsg'
	[races_reordered_beneath_us]='echo reached
		 echo "<3>BUG: KCSAN: data-race in a / a" >/dev/kmsg
		 echo "<3>read to 0x1 of 8 bytes by task 1 on cpu 1:" >/dev/kmsg
		 echo "<3> a+0x1/0x2" >/dev/kmsg; echo "<3> b+0x1/0x2" >/dev/kmsg
		 echo "<3>  +-> reordered to: a+0x2/0x2" >/dev/kmsg
		 echo "<3>Reported by Kernel Concurrency Sanitizer on:" >/dev/kmsg
		 echo "<3>Workqueue: name run [mine]" >/dev/kmsg; echo "<3>==========" >/dev/kmsg'
	[races_reordered_in_us]='echo reached
		 echo "<3>BUG: KCSAN: data-race in a / a" >/dev/kmsg
		 echo "<3>read to 0x1 of 8 bytes by task 1 on cpu 1:" >/dev/kmsg
		 echo "<3> a+0x1/0x2" >/dev/kmsg; echo "<3> b+0x1/0x2" >/dev/kmsg
		 echo "<3>  +-> reordered to: c+0x2/0x2 [mine]" >/dev/kmsg
		 echo "<3>==========" >/dev/kmsg'
	[races_behind_half_a_race]='echo reached
		 echo "<3>BUG: KCSAN: data-race in a / b" >/dev/kmsg
		 echo "<3> a+0x1/0x2" >/dev/kmsg; echo "<3> b+0x1/0x2" >/dev/kmsg
		 echo "<3> c+0x1/0x2 [mine]" >/dev/kmsg'
	[races_as_known]="echo reached
		 $(printf "echo '<3>%s' >/dev/kmsg; echo '<3> a+0x1/0x2 [mine]' >/dev/kmsg
		 echo '<3>==========' >/dev/kmsg\n" "${known_races[@]/#/BUG: KCSAN: }")"
	[warns_in_a_race]='echo reached; echo "<3>BUG: KCSAN: data-race in a / b" >/dev/kmsg
		 echo "<4>WARNING: CPU: 0 PID: 1 at a.c:1" >/dev/kmsg
		 echo "<3>==========" >/dev/kmsg'
	[warns_behind_half_a_race]='echo reached
		 echo "<3>BUG: KCSAN: data-race in a / b" >/dev/kmsg
		 echo "<4>WARNING: CPU: 0 PID: 1 at a.c:1" >/dev/kmsg'
	[races_behind_a_rule]='echo reached; echo "<3>==========" >/dev/kmsg
		 echo "<3>==========" >/dev/kmsg; echo "<3>==========" >/dev/kmsg
		 echo "<3>BUG: KCSAN: data-race in a / b" >/dev/kmsg
		 echo "<3> a+0x1/0x2 [mine]" >/dev/kmsg; echo "<3>==========" >/dev/kmsg'
)
script[kills_as_told]=${script[kills]}
script[races_elsewhere]=${script[races]}

# run NAME OPTION...: boots NAME's script; what the runner says goes to NAME.log.
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
		echo "# the run succeeded"
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

# run_standing_still NAME TIMES OPTION...: as run, in a VM that never begins this many times
run_standing_still() {
	local name=$1 times=$2 bin=$out/$1/bin qemu

	shift 2
	mkdir -p "$bin"
	: >"$out/$name/starts"
	cat >"$bin/stand_in" <<-EOF
		#!/bin/sh
		echo x >>"$out/$name/starts"
		[ \$(wc -l <"$out/$name/starts") -gt $times ] || exec sleep 1000
		exec env PATH="$PATH" "\${0##*/}" "\$@"
	EOF
	chmod +x "$bin/stand_in"
	# The kernel's machine has one of them.
	for qemu in $(compgen -c qemu-system- | sort -u); do
		ln -s stand_in "$bin/$qemu"
	done
	PATH=$(realpath "$bin"):$PATH run "$name" "$@"
}

run_begun_again() {
	run_standing_still begins_late 1 --boot 15 &&
		grep -q "no init after 15 s" "$out/begins_late/log" &&
		grep -q '^reached' "$out/begins_late/vm/console.log"
}

run_never_begun() {
	! run_standing_still begins_never 3 --boot 1 --timeout 5 &&
		[ "$(wc -l <"$out/begins_never/starts")" -eq 3 ] &&
		grep -q "FAILED: not done after 5 s" "$out/begins_never/log"
}

# A line of each kind that a kernel complains in
complaints=('BUG: spinlock bad magic' '[ BUG: Invalid wait context ]' 'BUG kmalloc-64 (Tainted: G'
	    'kernel BUG at mm/slub.c:1!' 'WARNING: CPU: 0 PID: 1 at a.c:1' 'Oops: 0002 [#1]'
	    'Call Trace:' 'rcu: INFO: rcu_preempt detected stalls on CPUs'
	    'INFO: task a:1 blocked for more than 120 seconds.'
	    'kmemleak: 3 new suspected memory leaks' 'ODEBUG: Out of memory. ODEBUG disabled'
	    'huh, entered softirq 1 TIMER' '** 4 printk messages dropped **')
remarks=('hwheel: loaded' 'workqueue: run hogged CPU' 'DEBUG: 1' 'INFO: all is well')

complaints_count() {
	local text

	mkdir -p "$out/complaints"
	for text in "${complaints[@]}"; do
		grep -qE "$splat" <<<"[    1.000000][    T1] $text" && continue
		echo "does not count: $text" >>"$out/complaints/log"
	done
	for text in "${remarks[@]}"; do
		grep -qE "$splat" <<<"[    1.000000] $text" || continue
		echo "counts: $text" >>"$out/complaints/log"
	done
	[ ! -e "$out/complaints/log" ]
}

# check CASE DESCRIPTION COMMAND...: a test point; the case's log explains a failure.
check() {
	report "$2" explained "$1" "${@:3}"
}

explained() {
	"${@:2}" && return
	sed 's/^/# /' "$out/$1/log"
	return 1
}

run_showing_programs() {
	run warns --programs && grep -q '^reached$' "$out/warns/log" &&
		grep -q '^the end$' "$out/warns/log" && ! grep -q '^\[ ' "$out/warns/log" &&
		grep -q 'a warning' "$out/warns/vm/console.log"
}

harness() {
	check ships "what the script leaves arrives unchanged" run_shipping
	check warns "programs are shown, and the kernel's warnings hidden" run_showing_programs
	check exits_3 "a script that exits with 3 fails the run" \
		run_failing exits_3 ".*status 3"
	check is_killed "a script that is killed fails the run" \
		run_failing is_killed ".*status 137"
	check hangs "a script that hangs fails the run" \
		run_failing hangs "not done after" --timeout 20
	check begins_late "a VM that stands still before init is booted again" run_begun_again
	check begins_never "one that does so each time fails the run" run_never_begun
	check panics "a kernel panic fails the run" \
		run_failing panics "the kernel complained"
	check powers_off "an early power-off fails the run" \
		run_failing powers_off "the VM went down before"
	check complains "a kernel warning fails the run, though the script succeeds" \
		run_failing complains "the kernel complained"
	check complaints "so does whatever a kernel complains with" complaints_count
	check kills "a kill for want of memory fails the run" \
		run_failing kills "the kernel complained"
	check kills_as_told "but where it is to be expected" run kills_as_told --oom
	check kills_and_warns "a warning after it fails the run there, too" \
		run_failing kills_and_warns "the kernel complained" --oom
	check races "a data race fails the run if it is ours" \
		run_failing races "the kernel complained" --races '[mine]'
	check races_elsewhere "a data race does not fail the run if it is others'" \
		run races_elsewhere --races '[yours]'
	check races_beneath_us "nor if we are further out in the stack, or in the last lines" \
		run races_beneath_us --races '[mine]'
	check races_for_us "one does in what we call, in either stack" \
		run_failing races_for_us "the kernel complained" --races '[mine]'
	check races_reordered_beneath_us "nor for the work item in which the kernel reordered one" \
		run races_reordered_beneath_us --races '[mine]'
	check races_reordered_in_us "one does that is reordered to where we are" \
		run_failing races_reordered_in_us "the kernel complained" --races '[mine]'
	check races_behind_half_a_race "and so it does where a report does not end" \
		run_failing races_behind_half_a_race "the kernel complained" --races '[mine]'
	check races_as_known "one that is known does not" run races_as_known --races '[mine]'
	check warns_in_a_race "a warning amid others' data race fails the run" \
		run_failing warns_in_a_race "the kernel complained" --races '[mine]'
	check warns_behind_half_a_race "and so it does behind one that is not whole" \
		run_failing warns_behind_half_a_race "the kernel complained" --races '[mine]'
	check races_behind_a_rule "our data race fails the run whatever came before" \
		run_failing races_behind_a_rule "the kernel complained" --races '[mine]'
}

# The kernel goes on after each. lockdep gives up after a report of KASAN or of its own.
script[wrong]="echo reached
	for deed in lock_order sleep_atomic init_active add_twice shift use_after_free leak; do
		insmod hwheel_wrong.ko deed=\$deed && rmmod hwheel_wrong || exit
	done"

# complained TEXT: the kernel did so, in a way that fails a run
complained() {
	grep -aE -A 1 "$splat" "$out/wrong/vm/console.log" | grep -q "$1"
}

sanitizers() {
	check wrong "what is wrong fails the run" \
		run_failing wrong "the kernel complained" --append panic_on_warn=0 "$wrong"
	check wrong "lockdep sees a possible deadlock" \
		complained "possible circular locking dependency"
	check wrong "sleeping where that is forbidden is seen" \
		complained "BUG: sleeping function called from invalid context"
	check wrong "an armed timer's initialisation is seen" complained "ODEBUG: init active"
	check wrong "adding to a list twice is seen" complained "list_add double add"
	check wrong "a shift that is too far is seen" complained "UBSAN: shift-out-of-bounds"
	check wrong "a read of freed memory is seen" complained "KASAN: slab-use-after-free"
	check wrong "memory that is lost is seen" complained "BUG: leaks: "
}

# KCSAN finds a race only while both CPUs run, and those of a busy host may not for a while.
for deed in race no_release; do
	script[$deed]="echo reached
		for try in 1 2 3 4 5 6 7 8 9 10; do
			insmod hwheel_wrong.ko deed=$deed && rmmod hwheel_wrong || exit
			! dmesg | grep -q KCSAN: || break
		done"
done
script[release]="echo reached; insmod hwheel_wrong.ko deed=release && rmmod hwheel_wrong"

racy() {
	check race "a data race in a module fails the run" \
		run_failing race "the kernel complained" --smp 2 --races '[hwheel' "$wrong"
	check race "it is the one that there is" \
		grep -q "KCSAN: data-race in race" "$out/race/vm/console.log"
	check no_release "so does one for want of a barrier" \
		run_failing no_release "the kernel complained" --smp 2 --races '[hwheel' \
		"$wrong"
	check no_release "it is the one that there is" \
		grep -q "KCSAN: data-race in take_turns" "$out/no_release/vm/console.log"
	check release "where the barrier is there is none" \
		run release --smp 2 --races '[hwheel' "$wrong"
}

rm -rf "$out"

echo "TAP version 13"
$cases
tap_end
