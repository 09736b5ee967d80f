#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Guest script of make check-packages: that what the packages installed works: the module that
# DKMS built, udev's rule, hwheelctl and programs with the library. debian.tar has all of
# that as it was installed. Leaves /results/guest.tap.

cd "$(dirname "$0")" || exit 1
# shellcheck source=selftests/harness/common.sh
. ./common.sh

# Busybox's modprobe reads what depmod, which DKMS calls, has left.
probed() {
	modprobe hwheel && [ -c /dev/hwheel ] && [ "$(stat -c %a /dev/hwheel)" = 600 ]
}

start_udev() {
	mkdir -p /run
	/lib/systemd/systemd-udevd --daemon && udevadm trigger && udevadm settle
}

opened_to_the_group() {
	start_udev 2>"$work/udev" || return
	found=$(stat -c '%a %g' /dev/hwheel)
	[ "$found" = "660 $group" ] && return
	diagnose "$found, not 660 $group: $(cat "$work/udev")"
	return 1
}

# as GROUP COMMAND...: runs it as a user other than root (busybox has another setpriv)
as() {
	local gid=$1

	shift
	/usr/bin/setpriv --reuid 1000 --regid "$gid" --clear-groups "$@"
}

member_arms() {
	as "$group" hwheelctl arm 20ms >"$work/out" && grep -q 'ticks' "$work/out" && return
	diagnose "$(cat "$work/out")"
	return 1
}

others_may_not() {
	as 1000 hwheelctl arm 20ms 2>"$work/err"
	[ $? -eq 4 ]
}

# program NAME: as it was built in the tree
program() {
	"/root/built/$1" >"$work/out" && grep -qE '^cookie 42, [0-9]+ ns' "$work/out"
}

sample() {
	insmod /root/built/hwheel_sample.ko && rmmod hwheel_sample
}

all() {
	report "modprobe finds the module that DKMS built" probed
	report "udev opens the device to the group" opened_to_the_group
	report "a member of it arms a timeout with hwheelctl" member_arms
	report "others may not" others_may_not
	report "a program with the shared library" program shared
	report "a program with the static library" program static
	report "a module that was built against it" sample
	end
}

export PATH=/usr/bin:/bin:/usr/sbin
mkdir -p "$work"
tar -xf debian.tar -C / && rm debian.tar || exit 1
group=$(sed -n 's/^hwheel:[^:]*:\([0-9]*\):.*/\1/p' /etc/group)
echo "TAP version 13"
all 2>&1 | tee /results/guest.tap
! grep -q '^not ok' /results/guest.tap
