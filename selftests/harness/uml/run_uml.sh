#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# run_uml.sh --kdir KDIR --out DIR --guest SCRIPT [OPTION]... FILE...
#
# As vm/run_vm.sh, in a user-mode kernel, of which KDIR is the build folder: it runs as a
# process here, at the machine's own speed, and sees nothing of the machine's files.
#
#   --smp N, --mem MB   CPUs (1; more if the kernel can) and memory (1024)
#   --timeout SEC       it is ended after that, and the run fails (300)
#   --append WORDS      more of the kernel's command line
#   --races TEXT        as there
#   --quiet             the console goes to console.log only
set -euo pipefail

# shellcheck source=selftests/harness/vm/machine.sh
. "$(dirname "$(realpath "$0")")/../vm/machine.sh"

# The console is what its process prints, the first of the serial lines to be written
# to is its descriptor 3. It wants to be told when it can read and write, which files
# and /dev/null never do: so it reads from a pipe into which nobody writes.
uml_command() {
	read -ra words <<<"$(guest_command_line) $append"
	uml=("$kdir/linux" mem="${mem}M" seccomp=auto uml_dir="$work/uml/"
	     initrd="$work/initramfs" con=null "con0=fd:0,fd:1" ssl=null "ssl1=fd:4,fd:3"
	     "${words[@]}")
	[ "${smp:-1}" -eq 1 ] || uml+=(ncpus="$smp")
	uml+=(-- "${guest##*/}")
	mkfifo "$work"/{silence,console,wire}
}

# The kernel, a child of timeout, has helpers in a process group of its own. It hangs on a signal that
# it can handle, or complains, and a helper may outlive it: all are killed.
end_machine() {
	local kernel

	read -r kernel _ <"/proc/$machine/task/$machine/children"
	kill -KILL -- "-$kernel" || kill "$machine"
}

# The kernel drops what does not fit into a pipe, so what is read is not held up.
boot() {
	uml_command
	cat <"$work/wire" >"$work/channel" &
	if [ "$console" = live ]; then
		tee "$out/console.log" <"$work/console" &
	else
		cat <"$work/console" >"$out/console.log" &
	fi
	timeout -s KILL "$timeout" "${uml[@]}" 0<>"$work/silence" 4<>"$work/silence" \
		>"$work/console" 2>&1 3>"$work/wire" &
	machine=$!
	wait "$machine" && status=0 || status=$?
	machine=
	wait
}

parse "$@"
work_begin
[ -x "$kdir/linux" ] || die "no kernel in $kdir"
empty_out
make_initramfs
boot
judge
