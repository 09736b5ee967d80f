#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# A wheel on CLOCK_BOOTTIME, in suspend: what became due meanwhile fires when the machine
# is awake again, not when it has been awake for so long. Run as root, in a machine that
# an alarm of its RTC wakes; needs hwheel.ko and hwheel_suspend.ko beside it. Prints TAP.

cd "$(dirname "$0")" || exit 1
alarm=/sys/class/rtc/rtc0/wakealarm

# The timeout is due while the machine sleeps, as long as that begins before.
delay=12
asleep=15

fall_asleep() {
	echo 0 >$alarm && echo +$asleep >$alarm && echo mem >/sys/power/state
}

# Waits for it, if only because it would be due later by the other clock.
expired() {
	for _ in $(seq 300); do
		dmesg | grep -q 'hwheel_suspend: boottime_ms=' && return
		sleep 0.1
	done
	return 1
}

# elapsed CLOCK: in ms, from when it was armed to when it expired
elapsed() {
	dmesg | sed -n "s/^.*hwheel_suspend: .*$1_ms=\([0-9]*\).*$/\1/p"
}

fires_after_resume() {
	dmesg -c >/dev/null
	insmod ./hwheel_suspend.ko delay_ms=$((delay * 1000)) || return
	fall_asleep && expired
	woken=$?
	rmmod hwheel_suspend && [ $woken -eq 0 ] || return
	echo "# armed for $delay s, fired after $(elapsed boottime) ms," \
	     "of which it was awake for $(elapsed monotonic) ms"
	[ "$(elapsed boottime)" -ge $((delay * 1000)) ] &&
		[ "$(elapsed monotonic)" -lt $((delay * 1000)) ]
}

echo "TAP version 13"
echo "1..1"
if ! grep -q mem /sys/power/state 2>/dev/null || [ ! -e $alarm ]; then
	echo "ok 1 fires after resume # SKIP the machine can't be suspended and woken"
	exit 0
fi
was_loaded=true
if [ ! -d /sys/module/hwheel ]; then
	was_loaded=false
	insmod ./hwheel.ko || exit 1
fi
if fires_after_resume; then
	echo "ok 1 fires after resume"
	status=0
else
	echo "not ok 1 fires after resume"
	dmesg | tail -n 20 | sed 's/^/# /'
	status=1
fi
$was_loaded || rmmod hwheel || exit 1
exit $status
