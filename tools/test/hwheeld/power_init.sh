#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Init of a user-mode kernel whose root folder is this machine's, for power_test.py: mounts the
# disk that is to survive, and runs power_guest.py. The kernel's command line names what it needs.
# shellcheck disable=SC2154 # variables from the command line
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp LANG=C.UTF-8
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t tmpfs tmpfs /tmp
mount -t tmpfs tmpfs /run
# The file system at /tmp would hide a checkout there.
mkdir -p "$checkout"
mount -t hostfs none "$checkout" -o "$checkout"
stty -F /dev/console raw -echo
mkdir /tmp/disk
exec 2>/tmp/errors
busybox insmod "$hwheel_ko" && mount /dev/ubda /tmp/disk &&
	python3 -B "$tests/power_guest.py" "$hwheeld" /tmp/disk/hwheeld "$synchronous" \
		"$journal" "$seed"
echo "{\"wrong\": \"the guest ended: $(tail -n 1 /tmp/errors | tr -cd '[:alnum:] ./:')\"}"
read -r _
