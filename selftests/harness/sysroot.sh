# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# The libraries that programs for another machine are built with, and the busybox that this machine
# runs first: all static, as the machine has no other library. Needs messages.sh, packages.sh,
# cache.sh, archive.sh.
: "${cache:?}"

# shellcheck source=selftests/harness/vm/machines.sh
. "$(dirname "${BASH_SOURCE[0]}")/vm/machines.sh"

sysroot_fetch() {
	say "sysroot: downloading what programs for $machine_debian need"
	archive_download "$machine_debian" "$1" busybox-static liburing-dev &&
		archive_unpack "$1" || return
	[ -e "$1/bin/busybox" ] || ln -s usr/bin "$1/bin"
}

sysroot_path() {
	echo "$cache/sysroot-$machine_debian"
}

# Fills that folder for the machine that was chosen.
sysroot() {
	cache_fill "sysroot-$machine_debian" sysroot_fetch
}
