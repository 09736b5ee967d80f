#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# check_packages.sh DEBS OUT: the packages in the folder DEBS are installed in a clean Debian 12, DKMS
# builds the module for Debian's kernel there, what was installed is used in a VM, and then
# purged. OUT has the tree while that goes on, and keeps what the VM left. With MACHINE from
# the environment that Debian and the VM are of another machine, where QEMU runs the compiler for
# minutes: what does not depend on the machine is left out. Prints TAP.
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
	local kver

	kver=$(kernel_of_flavour "${machine:-cloud}") &&
		tree_unpack "$tree" --include="linux-headers-$kver,gcc,libc6-dev,pkg-config" \
			--include=python3-minimal,systemd,udev,man-db || return
	as_root mkdir "$tree/debs" "$tree/src" &&
		as_root cp "$debs"/*.deb "$tree/debs/" &&
		tar -c --exclude=./build --exclude=./.git . | as_root tar -x -C "$tree/src" &&
		as_root mkdir "$tree/src/build" && as_root ln -s /debs "$tree/src/build/deb"
}

# inside STEP
inside() {
	tree_run "$tree" /src/selftests/harness/packages/inside.sh "$1"
}

boot() {
	local folders=("$tree"/lib/modules/*) kver

	kver=${folders[0]##*/}
	inside pack && KVER=$kver selftests/harness/needs.sh vm &&
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

# After used(), with what that has packed
served() {
	local folders=("$tree"/lib/modules/*) status=0

	inside pack_service && as_root cat "$tree/root/service.tar" >"$work/service.tar" || return
	selftests/harness/vm/run_vm.sh --kver "${folders[0]##*/}" --out "$out/service" --quiet \
		--timeout 900 --guest selftests/harness/packages/service_guest.sh \
		"$work/service.tar" "$work/debian.tar" \
		selftests/harness/common.sh selftests/harness/tap.sh || status=$?
	cat "$out/service/service.tap"
	return $status
}

# readme GROUP: those blocks of the documents
readme() {
	tree_run "$tree" /src/selftests/harness/documents/documents.py tree "$1"
}

# In a tree without what is installed by now
autopkgtest() {
	unpack && inside autopkgtest
}

# once DESCRIPTION COMMAND...: on this machine only, as it would be tested twice
once() {
	if [ -z "$machine" ]; then
		report "$1" quietly "${@:2}"
	else
		skip "$1" "it is the same on each machine"
	fi
}

echo "TAP version 13"
say "packages: a clean Debian 12"
report "a clean Debian 12 is there" quietly unpack
report "it has headers of Debian's kernel" quietly inside prepare
say "packages: installing them"
report "apt installs the packages, and what they need" quietly inside install
report "DKMS has built the module, and modinfo finds it" quietly inside dkms
once "what doc/kernel.md says to build a module" readme module
report "a module can be built against it" quietly inside module
report "programs can be built, shared and static" quietly inside programs
once "what the README says to build a program" readme programs
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
say "packages: starting hwheeld under systemd in a VM"
report "hwheeld works under systemd in a VM" quietly served
say "packages: purging them"
report "apt purges the packages" quietly inside purge
report "nothing is left but the group and the user" quietly inside nothing_left
once "DKMS takes a checkout without packages" inside checkout
say "packages: doing what doc/install.md says"
once "what doc/install.md says about packages" readme packages
once "about make install" readme make
once "about signing" readme sign
once "about DKMS" readme dkms
once "about having DKMS sign" readme signed
say "packages: running autopkgtest in another clean Debian 12"
once "autopkgtest passes" autopkgtest
tap_end
