#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# check.sh DEBS OUT: the packages in the folder DEBS are installed in a clean Debian 12, DKMS
# builds the module for Debian's kernel there, what was installed is used in a VM, and then
# purged. OUT has the tree while that goes on, and keeps what the VM left. Prints TAP.
set -uo pipefail

cd "$(dirname "$(realpath "$0")")/../.." || exit
for lib in say packages cache kernel; do
	# shellcheck source=/dev/null
	. "selftests/lib/$lib.sh"
done
# shellcheck source=selftests/packages/tree.sh
. selftests/packages/tree.sh

debs=$(realpath "$1") out=$2
mkdir -p "$out"
out=$(realpath "$out")
tree=$out/tree
work=$(mktemp -d)

cleanup() {
	rm -rf "$work"
	as_root rm -rf "$tree"
}

# shellcheck source=selftests/lib/point.sh
. selftests/lib/point.sh

as_root true || die "root makes and enters the clean Debian 12; where is sudo?"
trap cleanup EXIT
trap 'exit 130' INT TERM

# Sources as in a checkout, without what was built
unpack() {
	tree_unpack "$tree" || return
	as_root mkdir "$tree/debs" "$tree/src" &&
		as_root cp "$debs"/*.deb "$tree/debs/" &&
		tar -c --exclude=./build --exclude=./.git . | as_root tar -x -C "$tree/src" &&
		as_root mkdir "$tree/src/build" && as_root ln -s /debs "$tree/src/build/deb"
}

# inside STEP
inside() {
	tree_run "$tree" /src/selftests/packages/inside.sh "$1"
}

boot() {
	local folders=("$tree"/lib/modules/*) kver

	kver=${folders[0]##*/}
	inside pack && kernel_image "$kver" &&
		as_root cat "$tree/root/debian.tar" >"$work/debian.tar" &&
		selftests/vm/run.sh --kver "$kver" --out "$out/run" --quiet \
			--guest selftests/packages/guest.sh "$work/debian.tar" selftests/common.sh
}

# The VM's points, as those of one here
used() {
	boot
	local status=$?

	cat "$out/run/guest.tap"
	return $status
}

# readme GROUP: those blocks of the documents
readme() {
	tree_run "$tree" /src/selftests/readme.sh tree "$1"
}

echo "TAP version 13"
say "packages: a clean Debian 12"
point "a clean Debian 12 is there" unpack
point "it has headers of Debian's kernel" inside prepare
say "packages: installing them"
point "apt installs the packages, and what they need" inside install
point "DKMS has built the module, and modinfo finds it" inside dkms
point "what doc/kernel.md says to build a module" readme module
point "a module can be built against it" inside module
point "programs can be built, shared and static" inside programs
point "what the README says to build a program" readme programs
point "hwheelctl and the manual pages are there" inside tools
point "the group is there" inside group
say "packages: using them in a VM"
point "what was installed works in a VM" used
say "packages: purging them"
point "apt purges the packages" inside purge
point "nothing is left but the group" inside nothing_left
point "DKMS takes a checkout without packages" inside checkout
say "packages: doing what the README says"
point "what the README says about packages" readme packages
point "about make install" readme make
point "about signing" readme sign
point "about DKMS" readme dkms
point "about having DKMS sign" readme signed
end
