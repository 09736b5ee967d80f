#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# run_vm.sh --kver KVER --out DIR --guest SCRIPT [OPTION]... FILE...
#
# Boots Debian's kernel KVER, whatever machine it is for, in QEMU with FILEs and SCRIPT in
# /hwheel/, runs SCRIPT there and leaves in DIR what it wrote to /results/, and console.log.
# Fails unless the VM said at its very end that SCRIPT had succeeded, and whenever the kernel
# complained.
#
#   --smp N, --mem MB   CPUs and memory of the VM (2, 1024)
#   --icount            one CPU, and each of its instructions takes 1 ns of the VM's
#                       time, so that a difference of times counts instructions
#   --one-thread        a single thread of the host's emulates all CPUs: for scripts that
#                       enable tracepoints while another CPU passes them, see one_thread()
#   --timeout SEC       the VM is ended after that, and the run fails (300)
#   --boot SEC          it is booted again if init has not begun after that (120)
#   --append WORDS      more of the kernel's command line
#   --races TEXT        what KCSAN reports ends neither VM nor run where it has no TEXT:
#                       kernels have data races of their own, of which some are known
#   --oom               the kernel may kill processes for want of memory
#   --quiet             the console goes to console.log only
#   --programs          of the console only what programs print is shown: an emulated machine has
#                       the kernel warn of its clocks, which says nothing of what is run
#   --share DIR         the machine finds this folder, and all of this machine's files to be read,
#                       as 9p file systems "share" and "root"
#   --interactive       the console is this terminal; if there is none, SCRIPT
#                       finds what comes from stdin in /hwheel/stdin
set -euo pipefail

here=$(dirname "$(realpath "$0")")
# shellcheck source=selftests/harness/debian.sh
. "$here/../debian.sh"
# shellcheck source=selftests/harness/vm/machine.sh
. "$here/machine.sh"

accel=(-accel "tcg,thread=multi")

# For the kernel a breakpoint replaces the code of a tracepoint for a moment while it is
# enabled. A CPU that another thread emulates may come upon the breakpoint after the kernel
# has removed it. QEMU stays there, or the kernel reports an unknown breakpoint.
one_thread() {
	accel=(-accel "tcg,thread=single")
}

# Sleeping takes the host no time (sleep=off), so the VM's clock runs ahead of its own.
icount() {
	smp=1
	accel=(-accel "tcg,thread=single" -icount "shift=0,sleep=off")
}

# A serial line drops what is typed before somebody reads it, so lines that do
# not come from a person wait in a file.
take_stdin() {
	if [ "$console" = interactive ] && [ ! -t 0 ]; then
		console=live
		cat >"$work/stdin" 2>/dev/null || : >"$work/stdin"
		files+=("$work/stdin")
	fi
}

kernel_command_line() {
	local line

	# A soft lockup is a failure in any case: the VM need not go on until its time is over.
	line="console=$machine_console softlockup_panic=1 $(guest_command_line)"
	if [ "$console" = interactive ]; then
		line+=" TERM=${TERM:-linux} SIZE=$(stty size | tr ' ' ,)"
	fi
	[ -z "$share" ] || line+=" SHARE=$share"
	echo "$line $append -- ${guest##*/}"
}

# The console goes to a file, not to a pipe: QEMU drops what a slow reader does
# not take, and with it perhaps a stack trace.
qemu_command() {
	local folder=$cache/${machine_package/:/-}

	read -ra qemu <<<"$machine_qemu"
	if [[ $machine_package == *:* ]]; then
		export QEMU_MODULE_DIR=$folder/usr/lib
		qemu=("$folder/usr/bin/${qemu[0]}" -L "$folder/usr/share/qemu"
		      -L "$folder/usr/share/seabios" "${qemu[@]:1}")
	fi
	qemu+=("${accel[@]}" -smp "${smp:-2}" -m "$mem" -nic none -display none -no-reboot
	       -kernel "$(kernel_image_path "$kver")" -initrd "$work/initramfs"
	       -append "$(kernel_command_line)" -chardev "file,id=channel,path=$work/channel")
	# Files that the machine makes are its caller's here.
	local options=security_model=none,multidevs=remap
	[ -z "$share" ] ||
		qemu+=(-virtfs "local,path=/,mount_tag=root,readonly=on,$options"
		       -virtfs "local,path=$share,mount_tag=share,$options")
	if [ "$console" = interactive ]; then
		qemu+=(-chardev "stdio,id=console,mux=on,signal=off,logfile=$out/console.log"
		       -mon chardev=console)
	else
		qemu+=(-chardev "file,id=console,path=$out/console.log")
	fi
}

# tail ends by itself after the VM, with all that it has printed. Lines of the kernel begin with its
# time.
start() {
	local hidden=''

	: >"$out/console.log"
	timeout -k 5 "$timeout" "${qemu[@]}" </dev/null &
	machine=$!
	[ "$console" = live ] || hidden='/^\[ *[0-9]*\.[0-9]\{6\}\] /d'
	[ "$console" = quiet ] || tail -f -n +1 -s 0.2 --pid="$machine" "$out/console.log" |
		sed -u "s/\r\$//; $hidden" &
}

finish() {
	wait "$machine" && status=0 || status=$?
	machine=
	wait
}

# begins SEC: does the machine get as far as init by then, or to its end?
begins() {
	local until=$((SECONDS + $1))

	until grep -aq "$beginning" "$out/console.log"; do
		[ "$SECONDS" -lt "$until" ] || return
		kill -0 "$machine" 2>/dev/null || return 0
		sleep 0.2
	done
}

# Under emulation a kernel now and then stands still while it starts, with nothing of ours
# there yet. That says nothing of what is tested, so it is booted again, with more time.
boot_watched() {
	local limit

	start
	for limit in "$boot" $((2 * boot)); do
		! begins "$limit" || break
		kill "$machine"
		finish
		cp "$out/console.log" "$out/console-$limit.log"
		say "vm: no init after $limit s, booting again (see console-$limit.log)"
		start
	done
	finish
}

boot() {
	qemu_command
	if [ "$console" = interactive ]; then
		# A person may take all the time there is.
		say "Leave the shell to power the VM off (or Ctrl-A x to pull the plug)."
		"${qemu[@]}" && status=0 || status=$?
	else
		boot_watched
	fi
}

# The modules with which a machine mounts a folder of this one, each after the modules that it needs.
# Kernels for clouds have none.
choose_share() {
	local folder=$1 name

	share=$(realpath "$share")
	[ -e "$folder/9p.ko" ] || die "the kernel $kver cannot mount folders: SHARE= leaves them out"
	for name in virtio_ring virtio virtio_pci_modern_dev virtio_pci_legacy_dev virtio_pci netfs \
		fscache 9pnet 9pnet_virtio 9p; do
		[ ! -e "$folder/$name.ko" ] || modules+=("$folder/$name.ko")
	done
}

# What the kernel's machine has of its own
choose_machine() {
	local folder=$cache/kernel-$kver

	machine_choose "$kver"
	! machine_is_foreign || busybox=$cache/sysroot-$machine_debian/bin/busybox
	channel=$machine_channel
	[ "$machine_module" = - ] || modules=("$folder/$machine_module")
	[ -z "$share" ] || choose_share "$folder"
}

parse "$@"
choose_machine
work_begin
[ -f "$(kernel_image_path "$kver")" ] || die "no kernel $kver in the cache"
empty_out
take_stdin
make_initramfs
: >"$work/channel"
boot
judge
