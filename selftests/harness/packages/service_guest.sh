#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Guest script of make check-packages: hwheeld under systemd, in the sandbox of its unit. The files
# of service.tar, with which pack_service.sh has filled it, and those of debian.tar are the root
# folder of a systemd which is process 1 of a namespace. Leaves /results/service.tap.

cd "$(dirname "$0")" || exit 1
# shellcheck source=selftests/harness/common.sh
. ./common.sh

os=/tmp/os
paths=/usr/sbin:/usr/bin:/sbin:/bin
conf=$os/etc/hwheeld.conf

# A mount point is needed, on which systemd can switch roots. A machine without an id is booted for
# the first time, and would ask its user for a time zone.
unpack() {
	mkdir -p $os "$work" && mount -t tmpfs -o mode=755 tmpfs $os || return
	tar -xf service.tar -C $os && tar -xf debian.tar -C $os || return
	rm service.tar debian.tar
	(cd $os && mkdir -p dev etc proc root run sys tmp var/lib var/log var/tmp) &&
		chmod 1777 $os/tmp $os/var/tmp &&
		tr -d - </proc/sys/kernel/random/uuid >$os/etc/machine-id
}

# It is a machine of its own: systemd mounts what it needs.
start_systemd() {
	cd $os || return
	env -i PATH=$paths /bin/unshare -m -p -u -i -f /bin/sh -c \
		'/bin/mount --move . / && exec /bin/chroot . /lib/systemd/systemd --unit=basic.target' \
		</dev/null >"$work/systemd" 2>&1 &
	cd - >/dev/null || return
	await systemd_pid
	systemd=$(systemd_pid)
}

# It forks, and is the oldest one.
systemd_pid() {
	pidof systemd | tr ' ' '\n' | sort -n | grep -m 1 .
}

# os COMMAND...: in there
os() {
	env -i PATH=$paths /bin/nsenter -t "$systemd" -m -p -u -i -r -w -- "$@"
}

# as GROUP COMMAND...: runs it as a user other than root (busybox has another setpriv, and would take that)
as() {
	local gid=$1

	shift
	os /usr/bin/setpriv --reuid 1000 --regid "$gid" --clear-groups "$@"
}

journal() {
	os journalctl -q --no-pager -o cat -u hwheeld
}

# says TEXT: is there such a line in the journal? It comes a little later.
says() {
	await said "$1"
}

said() {
	journal | grep -qF -- "$1"
}

is_active() {
	[ "$(os systemctl is-active hwheeld)" = active ]
}

main_pid() {
	os systemctl show -p MainPID --value hwheeld
}

# Tells of a point that failed what systemd and the daemon say.
explain() {
	diagnose "$(os systemctl status --no-pager hwheeld 2>&1)"
	diagnose "$(journal 2>&1)"
}

# The points

up() {
	unpack && start_systemd && await os systemctl is-active -q basic.target && return
	diagnose "$(cat "$work/systemd")"
	return 1
}

starts() {
	os systemctl start hwheeld && says "ready, with 0 timeouts" && is_active
}

opened_the_device() {
	[ "$(stat -c '%a %g' /dev/hwheel)" = "660 $group" ] && [ "$(restarts)" = 0 ]
}

restarts() {
	os systemctl show -p NRestarts --value hwheeld
}

# A file in which the kernel tells of the daemon's process
process() {
	cat "/proc/$systemd/root/proc/$(main_pid)/$1"
}

field() {
	process status | grep "^$1:" | tr -d ' \t' | cut -d: -f2
}

sandboxed() {
	[ "$(field Seccomp)" = 2 ] && [ "$(field NoNewPrivs)" = 1 ] &&
		[ "$(field CapEff)" = 0000000001000000 ] &&
		[ "$(field CapBnd)" = 0000000001000000 ] && ! field Uid | grep -q '^0'
}

# The mounts of its namespace: all that is not its own is read-only, and homes are not there.
sees_little() {
	process mountinfo >"$work/mounts" && grep -qE '^[0-9]+ [0-9]+ [^ ]+ / / ro[, ]' "$work/mounts" &&
		grep -qE ' /var/lib/hwheeld rw[, ]' "$work/mounts" && grep -q ' /root ' "$work/mounts"
}

member_puts() {
	as "$group" hwheelctl put order-1 -d 0 -p "$secret" >"$work/out" &&
		as "$group" hwheelctl take -w 30s -a >"$work/out" && grep -qF "$secret" "$work/out"
}

stranger_is_refused() {
	! as 1000 hwheelctl put order-2 -d 1h 2>"$work/err" &&
		as "$group" hwheelctl list --timeouts >"$work/out" && ! grep -q order-2 "$work/out"
}

# hwheeld prints none, and a journal has nothing of it.
keeps_payloads_to_itself() {
	! said "$secret" && ! said order-1
}

reloads() {
	echo "payload = 8" >>"$conf"
	os systemctl reload hwheeld && says "the configuration was read again" &&
		! as "$group" hwheelctl put large -d 1h -p "more than eight" 2>"$work/err" &&
		as "$group" hwheelctl put small -d 1h -p "eight" >"$work/out"
}

killed() {
	os systemctl kill -s KILL hwheeld
	says "ready, with 1 timeouts" && await is_active && [ "$(restarts)" = 1 ]
}

waits() {
	as "$group" hwheelctl status | grep -q '"polls":1'
}

# One that waits for timeouts gets an answer when the daemon stops, and no broken connection.
stops() {
	as "$group" hwheelctl take -w 60s nothing >"$work/taken" 2>&1 &
	await waits && os systemctl stop hwheeld && wait $! && says "stopping" && [ ! -s "$work/taken" ] &&
		[ "$(os systemctl show -p Result --value hwheeld)" = success ]
}

lists() {
	as "$group" hwheelctl list --timeouts >"$work/out" 2>"$work/err"
}

starts_again() {
	os systemctl start hwheeld && await lists && grep -q small "$work/out" && os systemctl stop hwheeld
}

# A unit that systemd starts again later is "activating" until then.
has_failed() {
	[ "$(os systemctl is-failed hwheeld)" = failed ]
}

# It tells what is wrong, and does not try again.
wrong_configuration() {
	echo "tick = soon" >>"$conf"
	os systemctl start hwheeld
	says "not a duration" && await has_failed && [ "$(restarts)" = 0 ] &&
		[ "$(os systemctl show -p ExecMainStatus --value hwheeld)" = 2 ]
}

point() {
	local before=$tap_failures

	report "$@"
	[ $tap_failures -eq "$before" ] || explain
}

all() {
	report "systemd runs" up
	[ $tap_failures -eq 0 ] || { end; return; }
	group=$(sed -n 's/^hwheel:[^:]*:\([0-9]*\):.*/\1/p' $os/etc/group)
	secret=payload-$$
	point "systemctl start has hwheeld ready" starts
	point "it has opened the device at once, as one of the group" opened_the_device
	point "it has one capability, and a filter of system calls" sandboxed
	point "it sees what it needs only" sees_little
	point "a member of the group puts, takes and acknowledges" member_puts
	point "others may not" stranger_is_refused
	point "the journal has no key and no payload" keeps_payloads_to_itself
	point "systemctl reload has it read its configuration" reloads
	point "systemd starts it again after SIGKILL, with its timeout" killed
	point "systemctl stop has it answer who waits" stops
	point "the timeout is there after the next start" starts_again
	point "it is not started again with a wrong configuration" wrong_configuration
	end
}

export PATH=/bin:/usr/bin
echo "TAP version 13"
all 2>&1 | tee /results/service.tap
! grep -q '^not ok' /results/service.tap
