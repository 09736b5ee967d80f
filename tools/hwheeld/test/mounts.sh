# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# For an init of a user-mode kernel whose root folder is this machine's: mounts what its programs
# need, and takes the terminal. The kernel's command line has "checkout".
# shellcheck disable=SC2154 # a variable from the command line
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
