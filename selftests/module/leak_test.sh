#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Modules that leave wheels behind, or timeouts on the system wheel. Run as root where nobody
# else uses hwheel; needs hwheel.ko, hwheel_leak.ko, hwheel_system.ko, client, common.sh and
# leaks.sh beside it. Prints TAP.

cd "$(dirname "$0")" || exit 1
# shellcheck source=selftests/harness/common.sh
. ./common.sh
# shellcheck source=selftests/module/leaks.sh
. ./leaks.sh

# leak0 has two timeouts with a release op, leak1 four, and each one without.
delay_ms=3000
files=/sys/kernel/debug/hwheel

load_leak() {
	insmod ./hwheel_leak.ko "$@" 2>"$work/insmod"
}

unload_leak() {
	rmmod hwheel_leak && [ ! -d /sys/module/hwheel_leak ]
}

# said TIMES PATTERN: that many lines of the log match.
said() {
	[ "$(dmesg | grep -cE "$2")" -eq "$1" ] && return
	diagnose "not said $1 times: $2"
	dmesg | sed -n 's/^.*\(hwheel\)/# \1/p'
	return 1
}

# Has the deadline come before we got so far? Then the test has to be tried again.
too_late() {
	dmesg | grep -q "hwheel_leak: fired"
}

# in_time COMMAND...: the command, from before its modules are loaded, until none of
# their timeouts was due too soon.
in_time() {
	for _ in 1 2 3 4 5; do
		clear_log
		"$@" || return
		too_late || return 0
	done
	return 1
}

# shows WHEEL NAME VALUE: in the debugfs file of the wheel
shows() {
	grep -qx "$2 $3" $files/"$1"-* && return
	diagnose "not $2 $3: $(cat $files/"$1"-*)"
	return 1
}

load_and_unload() {
	quietly load_leak "$@" && unload_leak
}

load_in_vain() {
	if load_leak fail=1 "$@"; then
		diagnose "loaded, which it was not to be"
		return 1
	fi
	grep -q "No such device" "$work/insmod" && [ ! -d /sys/module/hwheel_leak ]
}

# complaint WHEEL PENDING: as the log should name one that was left behind
complaint() {
	echo "hwheel: module hwheel_leak is unloaded without destroying wheel $1" \
	     "\($2 pending, made by make_wheel \[hwheel_leak\]\)"
}

# How often the module came and went: where loading fails insmod may try it another way.
tries() {
	fails=$(dmesg | grep -c "hwheel_leak: fails")
	[ "$fails" -gt 0 ] || fails=1
	echo "$fails"
}

named() {
	said "$(tries)" "$(complaint leak0 3)" && said "$(tries)" "$(complaint leak1 5)" &&
		said $((2 * $(tries))) "is unloaded without"
}

all_released() {
	said $((2 * $(tries))) "hwheel_leak: released from leak0" &&
		said $((4 * $(tries))) "hwheel_leak: released from leak1"
}

# The releases come before the module is gone, and after it was found out.
released() {
	all_released || return
	order=$(dmesg | sed -n 's/^.*destroying wheel leak\(.\).*/named\1/p
				s/^.*released from leak\(.\)/released\1/p' | uniq |
		tr '\n' ' ')
	expected=$(repeat "$(tries)" printf 'named0 released0 named1 released1 ')
	[ "$order" = "$expected" ] && return
	diagnose "$order"
	return 1
}

stopped() {
	for wheel in leak0 leak1; do
		shows $wheel pending 0 && shows $wheel stopped yes &&
			shows $wheel expired 0 || return
	done
	shows leak0 handed_back 3 && shows leak1 handed_back 5 &&
		[ "$(threads hwheel/leak)" -eq 0 ]
}

# One that is armed after them, for a later time, on a wheel that goes on.
nothing_fires() {
	quietly ./client wait $((delay_ms + 500)) && said 0 "hwheel_leak: fired"
}

left_behind() {
	in_time load_and_unload forget=1 delay_ms=$delay_ms
}

again() {
	left_behind && named && released
}

clean() {
	in_time load_and_unload && all_released &&
		said 0 "is unloaded" && [ "$(threads hwheel/leak)" -eq 0 ]
}

left_by_init() {
	in_time load_in_vain forget=1 && named && released
}

clean_init() {
	in_time load_in_vain && all_released && said 0 "is unloaded"
}

# on_system TIMEOUTS: as the log should name those that were left on the system wheel
on_system() {
	echo "hwheel: module hwheel_leak is unloaded without cancelling $1 timeouts on the system wheel"
}

# Beside a module that stays; one that is there already is loaded anew.
leave_on_system() {
	if [ -d /sys/module/hwheel_system ]; then
		quietly rmmod hwheel_system || return
	fi
	quietly insmod ./hwheel_system.ko delay_ms=$delay_ms &&
		load_and_unload wheels=0 on_system=4 delay_ms=$delay_ms
}

left_on_system() {
	in_time leave_on_system && said 1 "$(on_system 4)" && said 1 "is unloaded without" &&
		shows system pending 1
}

fired_beside() {
	dmesg | grep -q "hwheel_system: fired"
}

others_fire() {
	await fired_beside && nothing_fires && shows system pending 0
}

left_on_system_by_init() {
	in_time load_in_vain wheels=0 on_system=4 delay_ms=$delay_ms &&
		said "$(tries)" "$(on_system 4)" && nothing_fires
}

goes_unnamed() {
	clear_log
	quietly insmod ./hwheel_system.ko && quietly rmmod hwheel_system &&
		said 0 "is unloaded" && shows system pending 0
}

unload_hwheel() {
	quietly unload && ! loaded && [ "$(threads hwheel)" -eq 0 ] && [ ! -e $files ]
}

# Long delays, as nobody waits for them.
round() {
	quietly load && quietly load_leak forget=1 delay_ms=60000 && unload_leak &&
		load_in_vain forget=1 delay_ms=60000 && quietly unload
}

leaks_nothing() {
	quietly load && find_caches && quietly unload && leaks_nothing_in 20 round
}

begin
quietly load
report "a module leaves two wheels behind" left_behind
report "the log names module, wheels, creator and what is pending" named
report "release ops ran while their code was there" released
report "the wheels are stopped" stopped
report "nothing fires afterwards" nothing_fires
report "it is loaded and leaves wheels behind again" again
report "a module that destroys its wheels is not named" clean
report "an init function that fails leaves wheels behind" left_by_init
report "one that destroys them is not named" clean_init
report "a module leaves timeouts on the system wheel, and is named" left_on_system
report "these do not fire, and those of others do" others_fire
quietly rmmod hwheel_system
report "an init function that fails leaves timeouts there" left_on_system_by_init
report "a module that cancels its timeout is not named" goes_unnamed
report "hwheel is unloaded, and all that was left with it" unload_hwheel
# The console is slow, and has seen the messages.
dmesg -n 1
report_leaks "rounds of all this leak nothing" leaks_nothing
dmesg -n 5
end
