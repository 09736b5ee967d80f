# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# A machine that is there for one guest script, a virtual one or a user-mode kernel: its files and
# its results. It finds the script and FILEs in /hwheel/, and sends over a wire the files that the
# script left in /results/. Options of run_vm.sh and run_uml.sh become variables of the same name.
#
# The script that boots it also sets these:
#   busybox  of the machine, if its programs are not those of this one
#   channel  terminal of the machine that is the wire; $work/channel has what came over it
#   modules  that it needs before anything else
#   status   it ended with
#   machine  process to be killed at the end, if any

# shellcheck disable=SC2034 # the script that boots it reads them
kver='' kdir='' out='' guest='' smp='' mem=1024 timeout=300 boot=120 append='' races='' oom='' share=''
busybox='' channel=ttyS1 console=live machine='' work='' status='' failed=0
files=() modules=()

# shellcheck source=selftests/harness/messages.sh
. "$(dirname "${BASH_SOURCE[0]}")/../messages.sh"
# shellcheck source=selftests/harness/complaints.sh
. "$(dirname "${BASH_SOURCE[0]}")/../complaints.sh"

parse() {
	while [ $# -gt 0 ]; do
		case $1 in
		--kver|--kdir|--out|--guest|--smp|--mem|--timeout|--boot|--append|--races|--share)
			declare -g "${1#--}=$2"
			shift ;;
		--oom) oom=yes ;;
		--icount) icount ;;
		--one-thread) one_thread ;;
		--quiet|--programs|--interactive) console=${1#--} ;;
		--*) die "unknown option $1" ;;
		*)   files+=("$1") ;;
		esac
		shift
	done
	if [ -z "$kver$kdir" ] || [ -z "$out" ] || [ -z "$guest" ]; then
		die "--kver or --kdir, --out and --guest are needed"
	fi
}

# On the console, whatever the level it was printed at. Userspace may print such words; the
# kernel puts its time before them.
splat='\[ *[0-9]+\.[0-9]{6}\](\[ *[TC][0-9]+\])? '
splat+="($complaints|[*]{2} [0-9]+ printk messages dropped)"

# With this init begins: what the kernel complains of before is not about what is tested.
# (With two CPUs a user-mode kernel starts the second in a way that lockdep does not like.)
beginning='hwheel: init begins'

# The options that each kernel gets. A busy machine or a slow kernel is no reason to fail: RCU waits
# longer before it reports a stall.
guest_command_line() {
	local line="loglevel=5 rdinit=/init channel=$channel oops=panic panic=-1"

	line+=" rcupdate.rcu_cpu_stall_timeout=120"
	[ -n "$races" ] || line+=" panic_on_warn=1"
	echo "$line"
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

make_initramfs() {
	local vm file

	vm=$(dirname "${BASH_SOURCE[0]}")
	mkdir -p "$work"/root/{bin,boot,dev,hwheel,proc,results,root,sys,tmp}
	cp "${busybox:-$(command -v busybox || echo /bin/busybox)}" "$work/root/bin/busybox"
	for file in "${!modules[@]}"; do
		cp "${modules[file]}" "$(printf '%s/root/boot/%02d-%s' "$work" "$file" \
			"$(basename "${modules[file]}")")"
	done
	install -m 755 "$vm/init" "$work/root/init"
	for file in "$guest" "${files[@]}"; do
		add_file "$file"
	done
	(cd "$work/root" && find . | cpio -o -H newc -R 0:0 --quiet) >"$work/initramfs"
}

complain() {
	say "vm: FAILED: $*"
	failed=1
}

# A panic may end the machine like a proper power-off does, so its status says little.
judge_boot() {
	if [ "$status" -eq 124 ] || [ "$status" -eq 137 ]; then
		complain "not done after $timeout s"
	elif [ "$status" -ne 0 ]; then
		complain "the VM ended with status $status"
	fi
}

# After this nothing of ours is there any more: what drivers complain of while the machine
# powers off is theirs.
end='reboot: Power down'

# Prints the console's lines that are to be judged. Blank are those from before init's, if it got so
# far, and where memory may be short, what the kernel tells when it kills a process for want of it:
# it prints the stack of the task that wants some.
judged() {
	local blank=''

	! grep -aq "$beginning" "$out/console.log" || blank="1,/$beginning/s/.*//"
	[ -z "$oom" ] || blank+="; / invoked oom-killer: /,/<\/TASK>/s/.*//"
	LC_ALL=C sed -e "$blank" -e "/$end/q" "$out/console.log" |
		if [ -n "$races" ]; then without_races_of_others "$races"; else cat; fi
}

judge_console() {
	local found

	judged >"$work/judged" && found=$(grep -aEn "$splat" "$work/judged") || [ $? -eq 1 ] ||
		complain "what the kernel said cannot be judged"
	if [ -n "${found-}" ]; then
		complain "the kernel complained (line of console.log: text)"
		head -n 5 <<<"$found" | tr -d '\r' >&2
	fi
}

# The channel holds an archive of what the script left, and its status. The last bytes are the
# archive's checksum. The VM's clock may be ahead, so files get the time at which they are unpacked.
judge_channel() {
	local ended

	tar -xzkmf "$work/channel" -C "$out" --no-same-owner 2>/dev/null ||
		{ complain "the VM went down before it was done"; return; }
	ended=$(cat "$out/.status")
	rm "$out/.status"
	[ "$ended" = 0 ] || complain "the script in the VM ended with status $ended"
}

judge() {
	judge_boot
	judge_console
	judge_channel
	if [ $failed -ne 0 ] && [ "$console" = quiet ]; then
		say "vm: the console's last lines:"
		tail -n 20 "$out/console.log" | tr -d '\r' >&2
	fi
	[ $failed -eq 0 ] || say "vm: the whole console is in $out/console.log"
	return $failed
}

end_machine() {
	kill "$machine"
}

cleanup() {
	[ -z "$machine" ] || end_machine 2>/dev/null || true
	rm -rf "$work"
}

# Sets up the folder that is not kept.
work_begin() {
	work=$(mktemp -d)
	trap cleanup EXIT
	trap 'exit 130' INT TERM
}
