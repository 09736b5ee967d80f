#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# run.sh --kver KVER --out DIR --guest SCRIPT [OPTION]... FILE...
#
# Boots Debian's kernel KVER in QEMU with FILEs and SCRIPT in /hwheel/, runs
# SCRIPT there and leaves in DIR what it wrote to /results/, and console.log.
# Fails unless the VM said at its very end that SCRIPT had succeeded, and
# whenever the kernel complained.
#
#   --smp N, --mem MB   CPUs and memory of the VM (2, 1024)
#   --icount            one CPU, and each of its instructions takes 1 ns of the VM's
#                       time, so that a difference of times counts instructions
#   --timeout SEC       the VM is ended after that, and the run fails (300)
#   --append WORDS      more of the kernel's command line
#   --quiet             the console goes to console.log only
#   --interactive       the console is this terminal; if there is none, SCRIPT
#                       finds what comes from stdin in /hwheel/stdin
set -euo pipefail

here=$(dirname "$(realpath "$0")")
# shellcheck source=selftests/lib/say.sh
. "$here/../lib/say.sh"
# shellcheck source=selftests/lib/cache.sh
. "$here/../lib/cache.sh"
# shellcheck source=selftests/lib/kernel.sh
. "$here/../lib/kernel.sh"

kver='' out='' guest='' smp=2 mem=1024 timeout=300 append='' console=live
accel=(-accel "tcg,thread=multi")
files=()
failed=0

# A stack trace on the console, whatever the level it was printed at. Userspace
# may print such words; the kernel puts its time before them.
splat='\[ *[0-9]+\.[0-9]{6}\](\[ *[TC][0-9]+\])? ([a-z]+: )?('
splat+='BUG: |WARNING: |Oops|Kernel panic|Call Trace:|general protection fault'
splat+='|UBSAN: |KASAN: |KCSAN: |INFO: (task .* blocked|possible |trying to register'
splat+='|rcu|.*detected stalls?|.*self-detected)|kmemleak: [0-9]+ new)'

# Sleeping takes the host no time (sleep=off), so the VM's clock runs ahead of its own.
icount() {
	smp=1
	accel=(-accel "tcg,thread=single" -icount "shift=0,sleep=off")
}

parse() {
	while [ $# -gt 0 ]; do
		case $1 in
		--kver)        kver=$2; shift ;;
		--out)         out=$2; shift ;;
		--guest)       guest=$2; shift ;;
		--smp)         smp=$2; shift ;;
		--mem)         mem=$2; shift ;;
		--icount)      icount ;;
		--timeout)     timeout=$2; shift ;;
		--append)      append=$2; shift ;;
		--quiet)       console=quiet ;;
		--interactive) console=interactive ;;
		--*)           die "unknown option $1" ;;
		*)             files+=("$1") ;;
		esac
		shift
	done
	if [ -z "$kver" ] || [ -z "$out" ] || [ -z "$guest" ]; then
		die "--kver, --out and --guest are needed"
	fi
}

# What an earlier run left must not pass for the result of this one.
empty_out() {
	if [ -d "$out" ] && [ -n "$(ls -A "$out")" ] && [ ! -f "$out/console.log" ]; then
		die "$out holds something else than a run"
	fi
	rm -rf "$out"
	mkdir -p "$out"
	: >"$out/console.log"
}

add_file() {
	local to=$work/root/hwheel/${1##*/}

	[ -f "$1" ] || die "no such file: $1"
	[ ! -e "$to" ] || die "two files are named ${1##*/}"
	cp "$1" "$to"
}

# A serial line drops what is typed before somebody reads it, so lines that do
# not come from a person wait in a file.
take_stdin() {
	if [ $console = interactive ] && [ ! -t 0 ]; then
		console=live
		cat >"$work/stdin" 2>/dev/null || : >"$work/stdin"
		files+=("$work/stdin")
	fi
}

make_initramfs() {
	local file

	mkdir -p "$work"/root/{bin,dev,hwheel,proc,results,root,sys,tmp}
	cp "$(command -v busybox || echo /bin/busybox)" "$work/root/bin/busybox"
	install -m 755 "$here/init" "$work/root/init"
	for file in "$guest" "${files[@]}"; do
		add_file "$file"
	done
	(cd "$work/root" && find . | cpio -o -H newc -R 0:0 --quiet) >"$work/initramfs"
}

kernel_command_line() {
	local line="console=ttyS0 loglevel=5 rdinit=/init"

	line+=" oops=panic panic_on_warn=1 panic=-1"
	if [ $console = interactive ]; then
		line+=" TERM=${TERM:-linux} SIZE=$(stty size | tr ' ' ,)"
	fi
	echo "$line $append -- ${guest##*/}"
}

# The console goes to a file, not to a pipe: QEMU drops what a slow reader does
# not take, and with it perhaps a stack trace.
qemu_command() {
	qemu=(qemu-system-x86_64 "${accel[@]}" -cpu max -smp "$smp"
	      -m "$mem" -nic none -display none -vga none -no-reboot
	      -kernel "$(kernel_image_path "$kver")" -initrd "$work/initramfs"
	      -append "$(kernel_command_line)")
	if [ $console = interactive ]; then
		qemu+=(-chardev "stdio,id=console,mux=on,signal=off,logfile=$out/console.log"
		       -mon chardev=console)
	else
		qemu+=(-chardev "file,id=console,path=$out/console.log")
	fi
	qemu+=(-serial chardev:console -serial "file:$work/channel")
}

# tail ends by itself after the VM, with all that it has printed.
boot_watched() {
	timeout -k 5 "$timeout" "${qemu[@]}" </dev/null &
	vm=$!
	if [ $console = live ]; then
		tail -f -n +1 -s 0.2 --pid="$vm" "$out/console.log" | sed -u 's/\r$//' &
	fi
	wait "$vm" && status=0 || status=$?
	vm=
	wait
}

# A person may take all the time there is.
boot_interactive() {
	say "Leave the shell to power the VM off (or Ctrl-A x to pull the plug)."
	"${qemu[@]}" && status=0 || status=$?
}

boot() {
	qemu_command
	if [ $console = interactive ]; then
		boot_interactive
	else
		boot_watched
	fi
}

complain() {
	say "vm: FAILED: $*"
	failed=1
}

# A panic ends QEMU like a proper power-off does, so its status says little.
judge_boot() {
	if [ "$status" -eq 124 ] || [ "$status" -eq 137 ]; then
		complain "not done after $timeout s"
	elif [ "$status" -ne 0 ]; then
		complain "QEMU ended with status $status"
	fi
}

judge_console() {
	local found

	found=$(grep -aEn -m 5 "$splat" "$out/console.log") || return 0
	complain "the kernel complained (line of console.log: text)"
	printf '%s\n' "$found" | tr -d '\r' >&2
}

# The channel holds: "results SIZE SHA256", so many bytes, "status N", "success".
# The VM's clock may be ahead, so files get the time at which they are unpacked (-m).
judge_channel() {
	local tag='' size='' sum='' start

	IFS=' ' read -r tag size sum < <(head -c 200 "$work/channel" | head -n 1 | tr -d '\0') || true
	if [ "$tag" != results ] || [[ ! $size =~ ^[0-9]+$ ]]; then
		complain "the VM went down before its script had ended"
		return
	fi
	start=$((${#tag} + ${#size} + ${#sum} + 3))
	dd if="$work/channel" of="$work/archive" bs=64K status=none \
		iflag=skip_bytes,count_bytes skip="$start" count="$size"
	if ! echo "$sum  $work/archive" | sha256sum --status -c; then
		complain "the results were cut off"
		return
	fi
	tar -xzkmf "$work/archive" -C "$out" --no-same-owner ||
		complain "the results cannot be unpacked"
	judge_verdict "$(tail -c +$((start + size + 1)) "$work/channel" | tr '\n\0' ' ?')"
}

judge_verdict() {
	case $1 in
	"status 0 success ")        ;;
	"status "[0-9]*" failure ") complain "the script in the VM ended with ${1% failure }" ;;
	*)                          complain "the VM went down before it was done" ;;
	esac
}

judge() {
	judge_boot
	judge_console
	judge_channel
	if [ $failed -ne 0 ] && [ $console = quiet ]; then
		say "vm: the console's last lines:"
		tail -n 20 "$out/console.log" | tr -d '\r' >&2
	fi
	[ $failed -eq 0 ] || say "vm: the whole console is in $out/console.log"
	return $failed
}

cleanup() {
	[ -z "$vm" ] || kill "$vm" 2>/dev/null || true
	rm -rf "$work"
}

parse "$@"
vm=''
work=$(mktemp -d)
trap cleanup EXIT
trap 'exit 130' INT TERM
[ -f "$(kernel_image_path "$kver")" ] || die "no kernel $kver in the cache"
empty_out
take_stdin
make_initramfs
: >"$work/channel"
boot
judge
