#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# build_uml.sh NAME...: builds the user-mode kernel of which plain.config and each NAME.config
# tell, called by the last of them, unless the cache has it. Prints what others are built
# for and run by as variables for make; $KDIR/linux is the kernel. From the environment:
#   UML_KSRC   a kernel source tree, 7.1 or later; default: that of Debian's backports
set -euo pipefail

here=$(dirname "$(realpath "$0")")
# shellcheck source=selftests/harness/messages.sh
. "$here/../messages.sh"
# shellcheck source=selftests/harness/debian.sh
. "$here/../debian.sh"

package=linux-source-7.3
archive=$(dpkg --print-architecture):trixie-backports

source_fetch() {
	archive_download "$archive" "$1" "$package" || return
	say "kernel: unpacking $package (a minute at most)"
	dpkg-deb --fsys-tarfile "$1"/*.deb | tar -xO "./usr/src/$package.tar.xz" |
		tar -xJ --strip-components=1 -C "$1" && rm "$1"/*.deb
}

# The newest that is there
source_cached() {
	find "$cache" -maxdepth 1 -type d -name "$package.*" ! -name '*.partial' | sort -V | tail -n 1
}

# Prints the folder of the unpacked source.
source_folder() {
	local version

	if [ -z "$(source_cached)" ]; then
		archive_update "$archive" || return
		version=$(archive_version "$archive" "$package")
		[ -n "$version" ] || { say "apt: there is no $package in $archive"; return 1; }
		cache_fill "linux-source-${version%%\~*}" source_fetch || return
	fi
	source_cached
}

fragment() {
	local name

	cat "$here/plain.config"
	for name in "${names[@]}"; do
		[ "$name" = plain ] || cat "$here/$name.config"
	done
	echo "CONFIG_LOCALVERSION=\"-uml-$kernel\""
}

# kconfig drops in silence what it can't have.
configure() {
	fragment >"$1/.config"
	make -s -C "$ksrc" ARCH=um O="$1" olddefconfig >/dev/null || return
	! fragment | grep -E '^(# )?CONFIG_' | grep -vxFf "$1/.config" >&2 ||
		{ say "uml: the kernel can't be had with these options"; return 1; }
}

# Some of the many lines show that something goes on. A build folder can't be moved, so
# one that is complete says so.
build() {
	[ ! -e "$1/complete" ] || return 0
	say "uml: building the kernel $kernel (some minutes, this once)"
	mkdir -p "$1"
	configure "$1" || return
	make -C "$ksrc" ARCH=um O="$1" -j"$(nproc)" linux modules 2>&1 |
		tee "$1/build.log" | sed -nu '0~200p' >&2 ||
		{ tail -n 20 "$1/build.log" >&2; return 1; }
	touch "$1/complete"
}

[ $# -ge 1 ] || die "NAME is needed"
for kernel; do
	[ -f "$here/$kernel.config" ] || die "no such file: $here/$kernel.config"
done
names=("$@")
ksrc=${UML_KSRC:-$(cache_locked "$package" source_folder)}
version=$(make -s --no-print-directory -C "$ksrc" kernelversion)
hash=$( (realpath "$ksrc" && fragment) | sha256sum)
kdir=$cache/uml-$version-$kernel-${hash:0:8}
cache_locked "${kdir##*/}" build "$kdir"
echo "KVER=$version-uml-$kernel KDIR=$kdir ARCH=um"
