#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# versions_test.sh: which kernels hwheel is built for, and the rows of the table of machines that run
# them. Needs no kernel. Prints TAP.
set -uo pipefail

cd "$(dirname "$(realpath "$0")")/../.." || exit
# shellcheck source=selftests/harness/tap.sh
. selftests/harness/tap.sh
# shellcheck source=selftests/harness/debian.sh
. selftests/harness/debian.sh

new=(6.1.0-56-cloud-amd64 6.2.0 6.9.12-generic 6.10.3 6.12.117+deb12-amd64 7.3.4 10.0.0-1)
old=(2.6.32 4.19.0-27-amd64 5.10.0-8-amd64 5.19.17 6.0.19 6.0.0-6-amd64)

# kbuild KVER: reads Kbuild as a kernel of this version does.
kbuild() {
	local version=${1%%[!0-9.]*} major rest

	IFS=. read -r major rest <<<"$version"
	printf '%s\n' 'include Kbuild' 'all: ;' |
		make -s -f - VERSION="$major" PATCHLEVEL="${rest%%.*}" KERNELVERSION="$version" \
			srctree=. src=. all 2>&1
}

kbuild_takes() {
	kbuild "$1" >/dev/null
}

# kbuild_refuses KVER: with one error, which names the version
kbuild_refuses() {
	local said

	! said=$(kbuild "$1") &&
		[ "$(grep -c '\*\*\*' <<<"$said")" -eq 1 ] &&
		grep -qF "hwheel needs Linux 6.1 or newer; this is ${1%%[!0-9.]*}." <<<"$said"
}

# dkms compares in the same way.
dkms_takes() {
	[[ $1 =~ $exclusive ]]
}

dkms_refuses() {
	! dkms_takes "$1"
}

# runs KVER DEBIAN
runs() {
	machine_choose "$1"
	[ "$machine_debian" = "$2" ]
}

# A row has all fields if the last one, QEMU's command, begins and ends as it should.
is_whole() {
	machine_named "$1"
	[[ $machine_qemu =~ ^qemu-system-[a-z0-9_]+\ .*[:=]console\ .*[:=]channel$ ]]
}

knows_no() {
	! (machine_named "$1") 2>/dev/null
}

exclusive=$(sed -n 's/^BUILD_EXCLUSIVE_KERNEL="\(.*\)"$/\1/p' dkms.conf)

echo "TAP version 13"
report "dkms.conf has BUILD_EXCLUSIVE_KERNEL" [ -n "$exclusive" ]
for kver in "${new[@]}"; do
	report "Kbuild takes $kver" kbuild_takes "$kver"
	report "dkms takes $kver" dkms_takes "$kver"
done
for kver in "${old[@]}"; do
	report "Kbuild refuses $kver with one error" kbuild_refuses "$kver"
	report "dkms refuses $kver" dkms_refuses "$kver"
done
for name in arm64 armhf i386 s390x; do
	report "the machine $name is whole" is_whole "$name"
	report "it runs the kernel that has its name" runs "$(headers_of_flavour "$name")" "$name"
done
report "amd64 is whole" is_whole amd64
report "a kernel with pages of 16 KiB is for arm64" runs 6.12.117+deb12-arm64-16k arm64
report "a flavour without a name of its own is for amd64" runs "$(headers_of_flavour rt)" amd64
report "a kernel that names no machine is for this one" \
	runs 6.12.117-kcsan-419227e0 "$(dpkg --print-architecture)"
report "no machine is made up" knows_no riscv64
tap_end
