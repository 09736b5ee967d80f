#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# enter.sh TREE COMMAND...: runs COMMAND in the folder TREE as if that were the whole machine. In
# namespaces of its own only, as what is mounted here goes with them.
set -euo pipefail

tree=$1
shift

device() {
	: >"$tree/dev/$1"
	mount --bind "/dev/$1" "$tree/dev/$1"
}

mount -t proc proc "$tree/proc"
mount -t tmpfs tmpfs "$tree/dev"
for name in null zero full random urandom; do
	device "$name"
done
mkdir "$tree/dev/pts"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$tree/dev/pts"
ln -s pts/ptmx "$tree/dev/ptmx"
ln -s /proc/self/fd "$tree/dev/fd"

exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
	DEBIAN_FRONTEND=noninteractive ${http_proxy:+http_proxy="$http_proxy"} \
	chroot "$tree" "$@"
