#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# machines_test.sh: the rows of the table of machines, by kernels and by architectures. Prints TAP.
set -uo pipefail

cd "$(dirname "$(realpath "$0")")/../.." || exit
# shellcheck source=selftests/harness/tap.sh
. selftests/harness/tap.sh
# shellcheck source=selftests/harness/messages.sh
. selftests/harness/messages.sh
# shellcheck source=selftests/harness/debian.sh
. selftests/harness/debian.sh

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

known_without_dpkg() {
	local here

	here=$(
		dpkg() { return 127; }
		machine_here
	)
	[ "$here" = "$(dpkg --print-architecture)" ]
}

knows_no() {
	! (machine_named "$1") 2>/dev/null
}

echo "TAP version 13"
for name in arm64 armhf i386 s390x; do
	report "the machine $name is whole" is_whole "$name"
	report "it runs the kernel that has its name" runs "$(headers_of_flavour "$name")" "$name"
done
report "amd64 is whole" is_whole amd64
report "a kernel with pages of 16 KiB is for arm64" runs 6.12.117+deb12-arm64-16k arm64
report "a flavour without a name of its own is for amd64" runs "$(headers_of_flavour rt)" amd64
report "a kernel that names no machine is for this one" \
	runs 6.12.117-kcsan-419227e0 "$(dpkg --print-architecture)"
report "this machine is known without dpkg, too" known_without_dpkg
report "no machine is made up" knows_no riscv64
tap_end
