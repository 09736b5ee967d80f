#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Guest script of make check T=containers: makes what pack.sh has packed the root folder and runs
# containers_test.sh there. The kernel makes no user namespace for a process that chroot has put
# elsewhere than the root of its mounts, and podman moves the root itself, which an initramfs cannot
# be: so it is a tmpfs, and is moved to the root.

root=/root/debian

unpack() {
	mkdir -p $root && mount -t tmpfs -o mode=755,size=80% tmpfs $root || return
	tar -xpf podman.tar -C $root && rm podman.tar && cd $root || return
	mkdir -p dev home hwheel proc results root run sys tmp var/lib var/tmp
	chmod 1777 tmp var/tmp
	chroot . /bin/busybox --install -s /bin
}

mount_rest() {
	for folder in dev hwheel proc results sys; do
		mount -o rbind /$folder $root/$folder || return
	done
	mkdir -p dev/pts dev/shm dev/mqueue
	mount -t devpts devpts dev/pts && mount -t tmpfs tmpfs dev/shm &&
		mount -t mqueue mqueue dev/mqueue && mount -t cgroup2 cgroup2 sys/fs/cgroup
}

unpack && mount_rest && mount -o move . / || exit
export PATH=/usr/bin:/bin
exec chroot . /bin/sh /hwheel/containers_test.sh
