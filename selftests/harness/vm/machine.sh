# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# A machine that is there for one guest script, a virtual one or a user-mode kernel: its files and
# its results. It finds the script and FILEs in /hwheel/, and sends over a wire the files that the
# script left in /results/, success last. Needs messages.sh.
#
# The script that boots it sets these variables:
#   out      folder for the results and console.log
#   guest    the script
#   busybox  of the machine, if its programs are not those of this one
#   channel  terminal of the machine that is the wire
#   modules  that it needs before anything else
#   files    the FILEs
#   work     a folder that is not kept; $work/channel has what came over the wire
#   timeout  seconds it was given
#   status   it ended with
#   console  quiet if nobody saw what it printed, programs if the kernel's part was hidden
#   races    count only reports of KCSAN that contain this TEXT, if set
#   oom      yes if the kernel may kill processes for want of memory
#   machine  process to be killed at the end, if any

# shellcheck disable=SC2034 # the script that boots it reads them
out='' guest='' busybox='' channel=ttyS1 timeout=300 console=live races='' oom='' machine='' work='' status=''
files=() modules=()
failed=0

# shellcheck source=selftests/harness/complaints.sh
. "$(dirname "${BASH_SOURCE[0]}")/../complaints.sh"
# shellcheck source=selftests/harness/vm/races.sh
. "$(dirname "${BASH_SOURCE[0]}")/races.sh"

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

# The console's lines, those from before init's blanked out, if it got so far, and without
# those from after the end.
since_beginning() {
	local blank=''

	! grep -aq "$beginning" "$out/console.log" || blank="1,/$beginning/s/.*//"
	LC_ALL=C sed -e "$blank" -e "/$end/q" "$out/console.log"
}

# Blanks out what the kernel tells when it kills a process for want of memory: it prints the stack of
# the task that wants some.
without_kills() {
	sed -e '/ invoked oom-killer: /,/<\/TASK>/s/.*//'
}

# Leaves the lines of the console that are to be judged in $work/judged.
judged() {
	since_beginning | if [ -n "$races" ]; then
		without_races_of_others "$races"
	elif [ -n "$oom" ]; then
		without_kills
	else
		cat
	fi >"$work/judged"
}

judge_console() {
	local found status=2

	if judged; then
		found=$(grep -aEn "$splat" "$work/judged") && status=0 || status=$?
	fi
	case $status in
	0) complain "the kernel complained (line of console.log: text)"
	   head -n 5 <<<"$found" | tr -d '\r' >&2 ;;
	1) ;;
	*) complain "what the kernel said cannot be judged" ;;
	esac
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
