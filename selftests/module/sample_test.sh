#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Loads the sample module, which arms, refreshes and cancels, waits until it fires,
# and unloads it. Run as root where nobody else uses the module; needs hwheel.ko,
# hwheel_sample.ko, common.sh and tap.sh beside it. Prints TAP. A module that was loaded
# before is loaded again at the end.

cd "$(dirname "$0")" || exit 1
# shellcheck source=selftests/harness/common.sh
. ./common.sh

# logged COMMAND...: the modules' lines in the kernel's log explain a failure.
logged() {
	"$@" && return
	dmesg | sed -n 's/^.*hwheel/# hwheel/p'
	return 1
}

load_sample() {
	clear_log
	insmod ./hwheel_sample.ko
}

said() {
	dmesg | grep -q "hwheel_sample: $1"
}

unload_sample() {
	rmmod hwheel_sample && [ ! -d /sys/module/hwheel_sample ]
}

# It has a timeout pending, which has to be cancelled before its code goes. On a slow
# machine that may expire before rmmod gets that far: then it is tried again.
unloads_at_once() {
	for _ in $(seq 20); do
		load_sample && unload_sample || return
		! said "session 0 was closed in time" || return 0
	done
	return 1
}

held() {
	! rmmod hwheel 2>/dev/null
}

begin
quietly load
report "loads" logged load_sample
report "holds hwheel" logged held
report "cancels" logged said "session 1 was closed in time"
report "fires" logged await said "session 0 was idle for too long"
report "unloads" logged unload_sample
report "unloads while a timeout is pending" logged unloads_at_once
report "hwheel can be unloaded" unload
end
