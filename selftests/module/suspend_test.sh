#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# A wheel on CLOCK_BOOTTIME, in suspend: what became due meanwhile fires when the machine
# is awake again, not when it has been awake for so long. A timeout in jiffies, which stand still
# in suspend, fires when jiffies have reached its time. Run as root where nobody else
# uses the module, in a machine that an alarm of its RTC wakes; needs hwheel.ko,
# hwheel_suspend.ko, common.sh and tap.sh beside it. Prints TAP. A module that was loaded
# before is loaded again at the end.

cd "$(dirname "$0")" || exit 1
# shellcheck source=selftests/harness/common.sh
. ./common.sh
alarm=/sys/class/rtc/rtc0/wakealarm

# The timeout is due while the machine sleeps, as long as that begins before.
delay=12
asleep=15

fall_asleep() {
	echo 0 >$alarm && echo +$asleep >$alarm && echo mem >/sys/power/state
}

expired() {
	dmesg | grep -q 'hwheel_suspend: boottime_ms=' &&
		dmesg | grep -q 'hwheel_suspend: late_ms='
}

jiffies_late() {
	dmesg | sed -n 's/^.*hwheel_suspend: late_ms=//p'
}

# elapsed CLOCK: in ms, from when it was armed to when it expired
elapsed() {
	dmesg | sed -n "s/^.*hwheel_suspend: .*$1_ms=\([0-9]*\).*$/\1/p"
}

# By the other clock the timeout would be due up to $delay s later, within what await waits.
fires_after_resume() {
	clear_log
	insmod ./hwheel_suspend.ko delay_ms=$((delay * 1000)) || return
	fall_asleep && await expired
	woken=$?
	rmmod hwheel_suspend && [ $woken -eq 0 ] || return
	diagnose "armed for $delay s, fired after $(elapsed boottime) ms," \
		 "of which it was awake for $(elapsed monotonic) ms"
	[ "$(elapsed boottime)" -ge $((delay * 1000)) ] &&
		[ "$(elapsed monotonic)" -lt $((delay * 1000)) ]
}

# Late by the suspend would be 12000 ms at least.
in_jiffies_is_in_time() {
	diagnose "late by $(jiffies_late) ms"
	[ "$(jiffies_late)" -ge 0 ] && [ "$(jiffies_late)" -lt 10000 ]
}

logged() {
	"$@" && return
	diagnose "$(dmesg | tail -n 20)"
	return 1
}

# In suspend-to-idle the clocks may go on.
can_sleep() {
	grep -q deep /sys/power/mem_sleep 2>/dev/null && [ -e $alarm ]
}

begin
if ! can_sleep; then
	skip "fires after resume" "the machine can't be suspended and woken"
	end
	exit
fi
quietly load
report "fires after resume" logged fires_after_resume
report "a timeout in jiffies is neither early nor late by the suspend" logged in_jiffies_is_in_time
report "the module can be unloaded" unload
end
