#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Guest script of a user-mode kernel: loads hwheel.ko and runs the script of which the file
# "inside" has the path, with the machine's own files as its root folder. The script finds a tmpfs
# at /tmp, where nothing reaches the machine, and leaves results in /tmp/results. The kernel's
# command line names the checkout, which the tmpfs would hide if it were below /tmp.
# shellcheck disable=SC2154 # a variable from the command line
set -e

root=/tmp/root
[ -e /sys/module/hwheel ] || insmod ./hwheel.ko
mkdir -p $root
mount -t hostfs none $root -o /
mount -t proc proc $root/proc
mount -t sysfs sysfs $root/sys
mount -t devtmpfs devtmpfs $root/dev
# The names that udev makes elsewhere
ln -s /proc/self/fd $root/dev/fd
for name in 0:stdin 1:stdout 2:stderr; do
	ln -s "fd/${name%:*}" "$root/dev/${name#*:}"
done
mount -t tmpfs -o mode=1777 tmpfs $root/tmp
mount -t tmpfs -o mode=755 tmpfs $root/run
mkdir $root/tmp/results
mkdir -p "$root$checkout"
mount -t hostfs none "$root$checkout" -o "$checkout"
status=0
chroot $root /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp LANG=C.UTF-8 \
	/bin/bash -c "$(cat ./inside)" || status=$?
cp -r $root/tmp/results/. /results
exit $status
