#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# harness_test.sh --out DIR [--wrong|--racy MODULE] RUN OPTION...
#
# Does the harness fail when it must? RUN, run_vm.sh or one that takes the same options, boots VMs with
# scripts that go wrong, each in one way. Lines of kernels are judged without a VM. Prints TAP.
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
out=$2 work=$2
shift 2
cases=harness wrong=''
case $1 in
--wrong) cases=sanitizers wrong=$2; shift 2 ;;
--racy)  cases=racy wrong=$2; shift 2 ;;
esac
runner=("$@")

# check DESCRIPTION COMMAND...: a test point; what the last VM's runner said explains a failure.
check() {
	report "$1" explained "${@:2}"
}

explained() {
	"$@" && return
	sed 's/^/# /' "$out/log"
	return 1
}

# run SCRIPT OPTION...: has the script, which says first that it was reached, run in a VM. What the
# runner says goes to the file log.
run() {
	printf 'echo reached\n%s\n' "$1" >"$out/guest.sh"
	"${runner[@]}" --out "$out/vm" --smp 1 --mem 256 --guest "$out/guest.sh" --quiet "${@:2}" \
		>"$out/log" 2>&1
}

reached() {
	grep -q '^reached' "$out/vm/console.log"
}

# fails MESSAGE SCRIPT OPTION...
fails() {
	! run "${@:2}" && reached && grep -q "FAILED: $1" "$out/log"
}

ships() {
	run 'dd if=/dev/urandom of=/results/random bs=64k count=48
		sha256sum </results/random >/results/sum' && reached &&
		[ "$(stat -c %s "$out/vm/random")" -eq 3145728 ] &&
		[ "$(sha256sum <"$out/vm/random")" = "$(cat "$out/vm/sum")" ]
}

shows_programs() {
	run 'echo "<4>a warning" >/dev/kmsg; echo the end' --programs &&
		grep -q '^reached$' "$out/log" && grep -q '^the end$' "$out/log" &&
		! grep -q '^\[ ' "$out/log" && grep -q 'a warning' "$out/vm/console.log"
}

# stands_still TIMES OPTION...: as run, in a VM that never begins this many times
stands_still() {
	local bin=$out/bin qemu

	mkdir -p "$bin"
	: >"$out/starts"
	cat >"$bin/stand_in" <<-EOF
		#!/bin/sh
		echo x >>"$out/starts"
		[ \$(wc -l <"$out/starts") -gt $1 ] || exec sleep 1000
		exec env PATH="$PATH" "\${0##*/}" "\$@"
	EOF
	chmod +x "$bin/stand_in"
	# The kernel's machine has one of them.
	for qemu in $(compgen -c qemu-system- | sort -u); do
		ln -sf stand_in "$bin/$qemu"
	done
	PATH=$(realpath "$bin"):$PATH run '' "${@:2}"
}

begins_late() {
	stands_still 1 --boot 15 && grep -q "no init after 15 s" "$out/log" && reached
}

begins_never() {
	! stands_still 3 --boot 1 --timeout 5 && [ "$(wc -l <"$out/starts")" -eq 3 ] &&
		grep -q "FAILED: not done after 5 s" "$out/log"
}

# complains LINE...: does it find a complaint in a kernel's lines?
complains() {
	printf '[    1.000000][    T1] %s\n' "$@" >"$out/console.log"
	failed=0
	judge_console >"$out/log" 2>&1
	[ $failed -ne 0 ]
}

takes() {
	! complains "$@"
}

warning='WARNING: CPU: 0 PID: 1 at a.c:1'

kernel_lines() {
	local kill=('a invoked oom-killer: gfp_mask=0x1' 'Call Trace:' ' </TASK>') line

	for line in "$warning" 'BUG: spinlock bad magic' '[ BUG: Invalid wait context ]' \
		'BUG kmalloc-64 (Tainted: G' 'kernel BUG at mm/slub.c:1!' 'Oops: 0002' \
		'Call Trace:' 'rcu: INFO: rcu_preempt detected stalls on CPUs' \
		'INFO: task a:1 blocked for more than 120 seconds.' \
		'kmemleak: 3 new suspected memory leaks' 'ODEBUG: Out of memory. ODEBUG disabled' \
		'huh, entered softirq 1 TIMER' '** 4 printk messages dropped **'; do
		check "'$line' fails the run" complains "$line"
	done
	check "other lines do not" takes 'hwheel: loaded' 'workqueue: run hogged CPU' 'DEBUG: 1' \
		'INFO: all is well'
	check "a kill for want of memory fails the run" complains "${kill[@]}"
	oom=yes
	check "but where it is to be expected" takes "${kill[@]}"
	check "a warning after it fails the run there, too" complains "${kill[@]}" "$warning"
	oom=''
}

data_races() {
	local race='BUG: KCSAN: data-race in a / b' rule='==========' item='Workqueue: run [mine]'
	local read='read to 0x1 of 8 bytes by task 1 on cpu 1:' a=' a+0x1/0x2' b=' b+0x1/0x2'
	local write='write to 0x1 of 8 bytes by interrupt on cpu 0:' mine=' c+0x1/0x2 [mine]'
	local reordered='  +-> reordered to:' by='Reported by Kernel Concurrency Sanitizer on:' known
	races='[mine]'

	check "a data race fails the run if it is ours" complains "$race" "$mine" "$rule"
	check "whatever came before" complains "$rule" "$rule" "$rule" "$race" "$mine" "$rule"
	check "but not if it is others'" takes "$race" "$a" ' b+0x1/0x2 [yours]' "$rule"
	check "nor if we are further out in the stack, or in the last lines" \
		takes "$race" "$read" "$a" "$b" "$mine" "$item" "$rule"
	check "one does in what we call, in either stack" \
		complains "$race" "$read" "$a" "$b" "$write" "$a" "$mine" "$rule"
	check "nor for the work item in which the kernel reordered one" \
		takes "$race" "$read" "$a" "$b" "$reordered a+0x2/0x2" "$by" "$item" "$rule"
	check "one does that is reordered to where we are" \
		complains "$race" "$read" "$a" "$b" "$reordered c+0x2/0x2 [mine]" "$rule"
	check "and so it does where a report does not end" complains "$race" "$a" "$b" "$mine"
	for known in "${known_races[@]}"; do
		check "a $known does not" takes "BUG: KCSAN: $known" "$mine" "$rule"
	done
	check "a warning amid others' data race fails the run" complains "$race" "$warning" "$rule"
	check "and so it does behind one that is not whole" complains "$race" "$warning"
}

harness() {
	check "what the script leaves arrives unchanged" ships
	check "programs are shown, and the kernel's warnings hidden" shows_programs
	check "a script that exits with 3 fails the run" fails ".*status 3" 'exit 3'
	# shellcheck disable=SC2016 # the guest's variables
	check "a script that is killed fails the run" fails ".*status 137" 'kill -9 $$'
	check "a script that hangs fails the run" \
		fails "not done after" 'while :; do sleep 1; done' --timeout 20
	check "a VM that stands still before init is booted again" begins_late
	check "one that does so each time fails the run" begins_never
	check "a kernel panic fails the run" \
		fails "the kernel complained" 'echo c >/proc/sysrq-trigger'
	# shellcheck disable=SC2016
	check "an early power-off fails the run" \
		fails "the VM went down before" 'echo success >"/dev/$channel"; poweroff -f'
	check "a kernel warning fails the run, though the script succeeds" \
		fails "the kernel complained" "echo '<4>$warning' >/dev/kmsg"
	kernel_lines
	data_races
}

# says TEXT: the kernel's console
says() {
	grep -aq "$1" "$out/vm/console.log"
}

# complained TEXT: the kernel did so, in a way that fails a run
complained() {
	grep -aE -A 1 "$splat" "$out/vm/console.log" | grep -q "$1"
}

# The kernel goes on after each. lockdep gives up after a report of KASAN or of its own.
sanitizers() {
	# shellcheck disable=SC2016 # the guest's variable
	check "what is wrong fails the run" fails "the kernel complained" '
		for deed in lock_order sleep_atomic init_active add_twice shift use_after_free leak; do
			insmod hwheel_wrong.ko deed=$deed && rmmod hwheel_wrong || exit
		done' --append panic_on_warn=0 "$wrong"
	check "lockdep sees a possible deadlock" \
		complained "possible circular locking dependency"
	check "sleeping where that is forbidden is seen" \
		complained "BUG: sleeping function called from invalid context"
	check "an armed timer's initialisation is seen" complained "ODEBUG: init active"
	check "adding to a list twice is seen" complained "list_add double add"
	check "a shift that is too far is seen" complained "UBSAN: shift-out-of-bounds"
	check "a read of freed memory is seen" complained "KASAN: slab-use-after-free"
	check "memory that is lost is seen" complained "BUG: leaks: "
}

# KCSAN finds a race only while both CPUs run, and those of a busy host may not for a while.
# finds_race DEED
finds_race() {
	fails "the kernel complained" "for try in 1 2 3 4 5 6 7 8 9 10; do
			insmod hwheel_wrong.ko deed=$1 && rmmod hwheel_wrong || exit
			! dmesg | grep -q KCSAN: || break
		done" --smp 2 --races '[hwheel' "$wrong"
}

racy() {
	check "a data race in a module fails the run" finds_race race
	check "it is the one that there is" says "KCSAN: data-race in race"
	check "so does one for want of a barrier" finds_race no_release
	check "it is the one that there is" says "KCSAN: data-race in take_turns"
	check "where the barrier is there is none" run \
		"insmod hwheel_wrong.ko deed=release && rmmod hwheel_wrong" \
		--smp 2 --races '[hwheel' "$wrong"
}

rm -rf "$out"
mkdir -p "$out"

echo "TAP version 13"
$cases
tap_end
