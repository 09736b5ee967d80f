# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# What tests that load and unload hwheel.ko share; they read it from their own folder, where
# tap.sh is, too. begin unloads a module that was loaded before, end loads it again.

# shellcheck source=selftests/harness/tap.sh
. ./tap.sh

was_loaded=false
work=/tmp/${0##*/}.$$

loaded() {
	[ -d /sys/module/hwheel ]
}

# Files of those that were killed are closed a little later.
unused() {
	[ "$(cat /sys/module/hwheel/refcnt)" -eq 0 ]
}

# shellcheck disable=SC2120 # others pass parameters of the module
load() {
	insmod ./hwheel.ko "$@" 2>"$work/insmod"
}

unload() {
	rmmod hwheel 2>"$work/rmmod"
}

clear_log() {
	dmesg -c >/dev/null
}

# repeat TIMES COMMAND...
repeat() {
	local times=$1
	shift
	for _ in $(seq "$times"); do
		"$@" || return
	done
}

# await COMMAND...: until it succeeds, which it has to within 20 s
await() {
	for _ in $(seq 200); do
		"$@" && return
		sleep 0.1
	done
	diagnose "not in time: $*"
	return 1
}

# threads NAME: how many there are whose names begin so
threads() {
	grep -l "^Name:.$1" /proc/[0-9]*/status 2>/dev/null | wc -l
}

# Is there no wheel but the system wheel? Default wheels are kept for a second.
only_system_wheel() {
	[ "$(cd /sys/kernel/debug/hwheel && echo -- *)" = "-- system-1" ]
}

# And no thread but its worker?
only_system_thread() {
	[ "$(threads hwheel/)" -eq 1 ]
}

begin() {
	mkdir -p "$work"
	if loaded; then
		was_loaded=true
		rmmod hwheel || exit 1
	fi
	echo "TAP version 13"
}

# The status is that of the whole test.
end() {
	local status

	tap_end
	status=$?
	if $was_loaded; then
		insmod ./hwheel.ko
	fi
	rm -rf "$work"
	return $status
}
