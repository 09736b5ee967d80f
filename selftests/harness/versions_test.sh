#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# versions_test.sh: which kernels hwheel is built for, and which the harness takes for those of a
# newer Debian. Needs no kernel. Prints TAP.
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

is_not_newer_kernel() {
	! is_newer_kernel "$1"
}

# on_release RELEASE COMMAND...: as on a machine with that release of Debian
on_release() {
	local release=$1

	# shellcheck disable=SC2317 # is_newer_kernel() calls it.
	own_release() {
		echo "$release"
	}
	"${@:2}"
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
report "a kernel of Debian 13 is newer than Debian 12" \
	on_release 12 is_newer_kernel 7.3.4+deb13-cloud-amd64
report "it is not newer than Debian 13" \
	on_release 13 is_not_newer_kernel 7.3.4+deb13-cloud-amd64
report "a kernel from the backports of Debian 12 is not newer than Debian 12" \
	on_release 12 is_not_newer_kernel 6.12.117+deb12-cloud-amd64
report "nor is a kernel that names no release" \
	on_release 12 is_not_newer_kernel 6.1.0-56-cloud-amd64
tap_end
