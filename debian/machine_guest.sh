#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Guest script of make check-packages: runs a test of debian/tests, which debian/check.sh has put
# beside it, in the Debian of tree.tar.gz, whose systemd is process 1 of a namespace.

cd "$(dirname "$0")" || exit 1
# shellcheck source=selftests/harness/common.sh
. ./common.sh

os=/tmp/os
paths=/usr/sbin:/usr/bin:/sbin:/bin

# A mount point is needed, on which systemd can switch roots. A machine without an id is booted for
# the first time, and would ask its user for a time zone.
unpack() {
	mkdir -p $os && mount -t tmpfs -o mode=755,size=80% tmpfs $os &&
		tar -xzf tree.tar.gz -C $os && rm tree.tar.gz &&
		tr -d - </proc/sys/kernel/random/uuid >$os/etc/machine-id
}

# It is a machine of its own: systemd mounts what it needs.
start_systemd() {
	cd $os || return
	env -i PATH=$paths /bin/unshare -m -p -u -i -f /bin/sh -c \
		'/bin/mount --move . / && exec /bin/chroot . /lib/systemd/systemd --unit=basic.target' \
		</dev/null >/results/systemd 2>&1 &
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

for name in device service; do
	[ ! -e $name ] || test=$name
done
unpack && start_systemd && await os systemctl is-active -q basic.target || exit 1
os "/src/debian/tests/$test" >/results/log 2>&1
status=$?
cat /results/log
exit $status
