#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# check.sh DEBS OUT: in a clean Debian 12 with the headers of Debian's kernel, piuparts installs and
# purges the packages in the folder DEBS, and autopkgtest runs debian/tests. Tests that need
# a machine run in a VM with a copy of that Debian. OUT keeps the logs. With MACHINE from the
# environment that Debian and the VM are of another machine, and what does not depend on the machine
# is left out. Prints TAP.
set -uo pipefail

cd "$(dirname "$(realpath "$0")")/.." || exit
for lib in messages debian tap; do
	# shellcheck source=/dev/null
	. "selftests/harness/$lib.sh"
done
: "${cache:?}"

debs=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
tree=$out/tree
work=$(mktemp -d)
trap 'rm -rf "$work"; as_root rm -rf "$tree"' EXIT
trap 'exit 130' INT TERM
kver=$(kernel_of_flavour "${MACHINE:-cloud}") || die "there is no kernel to build the module for"
base=debian-12${MACHINE:+-$MACHINE}-$kver

# in_namespace COMMAND...: what it mounts and starts is gone afterwards.
in_namespace() {
	as_root timeout -k 10 3600 unshare --mount --pid --fork --kill-child \
		env DEBIAN_FRONTEND=noninteractive "$@" </dev/null
}

make_base() {
	debian_12 "$1/tree.tar.gz" \
		--include="linux-headers-$kver,gcc,libc6-dev,pkg-config,python3-minimal,systemd,udev,man-db"
}

# The group and the user stay; depmod and dkms note what they did.
leaves_nothing() {
	in_namespace piuparts --basetgz="$cache/$base/tree.tar.gz" --distribution=bookworm \
		--no-eatmydata --keep-sources-list \
		--ignore-regex='/lib/modules/[^/]*/modules\..*' --log-file="$out/piuparts.log" \
		--log-level=error "$debs"/*.deb
}

# The sources as in a checkout, with the packages where make deb leaves them
unpack() {
	as_root rm -rf "$tree" && as_root mkdir -p "$tree" &&
		as_root tar -xzf "$cache/$base/tree.tar.gz" -C "$tree" &&
		as_root cp -L /etc/resolv.conf "$tree/etc" &&
		as_root mkdir -p "$tree/src/build/deb" &&
		tar -c --exclude=./build --exclude=./.git . | as_root tar -x -C "$tree/src" &&
		as_root cp "$debs"/*.deb "$tree/src/build/deb" &&
		in_tree chroot "$tree" apt-get update
}

# in_tree COMMAND...: with the folders of the kernel's in the tree
in_tree() {
	# shellcheck disable=SC2016 # the inner shell's variables
	in_namespace sh -c 'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && exec "$@"' \
		"$tree" "$@"
}

# tested TEST...: those of debian/tests. The status is 2 if autopkgtest skipped another one.
tested() {
	rm -rf "$out/autopkgtest-$1"
	in_tree autopkgtest --ignore-restrictions=breaks-testbed --no-built-binaries \
		"$debs"/*.deb "$tree/src/" "${@/#/--test-name=}" \
		--output-dir "$out/autopkgtest-$1" -- chroot "$tree" || [ $? -eq 2 ] || return
	[ "$(grep -c ' PASS' "$out/autopkgtest-$1/summary")" -eq $# ]
}

# What debian/tests/device tries is built here: a VM would take minutes.
pack() {
	in_tree chroot "$tree" /src/debian/tests/build /var/tmp/hwheel &&
		as_root tar -C "$tree" --exclude='./usr/share/[!d]*' --exclude=./usr/share/doc \
			--exclude='./usr/src/*' --exclude=./usr/include --exclude='./usr/lib/gcc*' \
			--exclude='./usr/lib/python3*' --exclude='./var/cache/*' --exclude='./var/lib/apt' \
			--exclude='./src/[!d]*' --exclude='*.a' --exclude='./proc/*' --exclude='./dev/*' \
			-czf - . >"$work/tree.tar.gz"
}

# works_in_vm TEST: one of debian/tests that needs a machine
works_in_vm() {
	selftests/harness/vm/run_vm.sh --kver "$kver" --out "$out/$1" --mem 2048 --quiet \
		--timeout 900 --guest debian/machine_guest.sh "$work/tree.tar.gz" \
		"debian/tests/$1" selftests/harness/common.sh selftests/harness/tap.sh
}

# once DESCRIPTION COMMAND...: on this machine only, as it would be tested twice
once() {
	if [ -z "${MACHINE-}" ]; then
		report "$1" quietly "${@:2}"
	else
		skip "$1" "it is the same on each machine"
	fi
}

echo "TAP version 13"
say "packages: a clean Debian 12"
report "a clean Debian 12 is there" quietly cache_fill "$base" make_base
say "packages: piuparts installs and purges them"
report "piuparts: they install, and nothing is left once they are purged" quietly leaves_nothing
say "packages: autopkgtest"
report "the tree is unpacked" quietly unpack
report "autopkgtest: what they install is there, and programs and modules build" \
	quietly tested library installed
report "a VM's files are packed" quietly pack
say "packages: in a VM"
KVER=$kver selftests/harness/needs.sh vm >/dev/null
report "the device in a VM" quietly works_in_vm device
report "hwheeld under systemd in a VM" quietly works_in_vm service
say "packages: what the documents say"
once "autopkgtest: DKMS builds the module" tested dkms-autopkgtest
once "autopkgtest: what the README, doc/install.md and doc/kernel.md say" tested documents
tap_end
