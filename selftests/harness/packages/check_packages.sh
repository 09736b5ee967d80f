#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# check_packages.sh DEBS OUT: the packages in the folder DEBS are installed in a clean Debian 12, DKMS
# builds the module for Debian's kernel there, what was installed is used in a VM, and then
# purged. OUT has the tree while that goes on, and keeps what the VM left. With MACHINE from
# the environment that Debian and the VM are of another machine. Prints TAP.
set -uo pipefail

cd "$(dirname "$(realpath "$0")")/../../.." || exit
for lib in messages packages cache archive; do
	# shellcheck source=/dev/null
	. "selftests/harness/$lib.sh"
done
# shellcheck source=selftests/harness/packages/tree.sh
. selftests/harness/packages/tree.sh

debs=$(realpath "$1") out=$2
mkdir -p "$out"
out=$(realpath "$out")
tree=$out/tree
work=$(mktemp -d)

cleanup() {
	rm -rf "$work"
	as_root rm -rf "$tree"
}

# shellcheck source=selftests/harness/tap.sh
. selftests/harness/tap.sh

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

HEADERS=linux-headers-${flavours[${machine:-none}]-cloud-amd64}
export HEADERS

# inside STEP
inside() {
	tree_run "$tree" /src/selftests/harness/packages/inside.sh "$1"
}

boot() {
	local folders=("$tree"/lib/modules/*) kver

	kver=${folders[0]##*/}
	inside pack && KVER=$kver selftests/harness/setup.sh vm &&
		as_root cat "$tree/root/debian.tar" >"$work/debian.tar" &&
		selftests/harness/vm/run_vm.sh --kver "$kver" --out "$out/run" --quiet \
			--guest selftests/harness/packages/packages_guest.sh "$work/debian.tar" \
			selftests/harness/common.sh selftests/harness/tap.sh
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
	tree_run "$tree" /src/selftests/harness/documents/documents.sh tree "$1"
}

# In a tree without what is installed by now
autopkgtest() {
	unpack && inside autopkgtest
}

echo "TAP version 13"
say "packages: a clean Debian 12"
report "a clean Debian 12 is there" quietly unpack
report "it has headers of Debian's kernel" quietly inside prepare
say "packages: installing them"
report "apt installs the packages, and what they need" quietly inside install
report "DKMS has built the module, and modinfo finds it" quietly inside dkms
report "what doc/kernel.md says to build a module" quietly readme module
report "a module can be built against it" quietly inside module
report "programs can be built, shared and static" quietly inside programs
report "what the README says to build a program" quietly readme programs
report "hwheelctl and the manual pages are there" quietly inside tools
if [ -n "$(compgen -G "$debs/libhwheel-java_*.deb")" ]; then
	report "Netty's timer is there, for Maven, too" quietly inside java
else
	skip "Netty's timer is there, for Maven, too" "these packages are without Java"
fi
report "the Python module is there" quietly inside python
report "the daemon and its user are there" quietly inside daemon
report "the group is there" quietly inside group
say "packages: using them in a VM"
report "what was installed works in a VM" quietly used
say "packages: purging them"
report "apt purges the packages" quietly inside purge
report "nothing is left but the group and the user" quietly inside nothing_left
report "DKMS takes a checkout without packages" quietly inside checkout
say "packages: doing what doc/install.md says"
report "what doc/install.md says about packages" quietly readme packages
report "about make install" quietly readme make
report "about signing" quietly readme sign
report "about DKMS" quietly readme dkms
report "about having DKMS sign" quietly readme signed
if [ -z "$machine" ]; then
	say "packages: running autopkgtest in another clean Debian 12"
	report "autopkgtest passes" quietly autopkgtest
else
	skip "autopkgtest passes" "it takes very long on an emulated machine"
fi
tap_end
