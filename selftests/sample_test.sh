#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Loads the sample module, which arms, refreshes and cancels, waits until it fires,
# and unloads it. Run as root; needs hwheel.ko and hwheel_sample.ko beside it.
# Prints TAP.

cd "$(dirname "$0")" || exit 1
number=0
failures=0

# report NAME COMMAND...: one test, which passes if the command succeeds.
report() {
	name=$1
	shift
	number=$((number + 1))
	if "$@"; then
		echo "ok $number $name"
	else
		echo "not ok $number $name"
		dmesg | sed -n 's/^.*hwheel/# hwheel/p'
		failures=$((failures + 1))
	fi
}

load() {
	dmesg -c >/dev/null
	insmod ./hwheel_sample.ko
}

said() {
	dmesg | grep -q "hwheel_sample: $1"
}

# Waits up to 10 s: the sample's sessions are idle after 0.2 s.
says() {
	for _ in $(seq 100); do
		said "$1" && return
		sleep 0.1
	done
	return 1
}

unload() {
	rmmod hwheel_sample && [ ! -d /sys/module/hwheel_sample ]
}

# It has a timeout pending, which has to be cancelled before its code goes. On a slow
# machine that may expire before rmmod gets that far: then it is tried again.
unloads_at_once() {
	for _ in $(seq 20); do
		load && unload || return
		! said "session 0 was closed in time" || return 0
	done
	return 1
}

held() {
	! rmmod hwheel 2>/dev/null
}

echo "TAP version 13"
was_loaded=true
if [ ! -d /sys/module/hwheel ]; then
	was_loaded=false
	insmod ./hwheel.ko || exit 1
fi

report "loads" load
report "holds hwheel" held
report "cancels" said "session 1 was closed in time"
report "fires" says "session 0 was idle for too long"
report "unloads" unload
report "unloads while a timeout is pending" unloads_at_once
echo "1..$number"

$was_loaded || rmmod hwheel || exit 1
[ $failures -eq 0 ]
