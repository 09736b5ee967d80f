#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# needs_test.sh: what needs.sh does on a machine without apt, which is this one without the
# commands. Prints TAP.
set -uo pipefail

cd "$(dirname "$(realpath "$0")")/../.." || exit
# shellcheck source=selftests/harness/tap.sh
. selftests/harness/tap.sh

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# without_apt COMMAND...: its stderr is left in $work/said
without_apt() {
	env -u KVER -u KDIR -u KSRC PATH="$work/bin" "$@" 2>"$work/said"
}

# hwheeld is not built: its libraries may not be there.
builds_shared() {
	without_apt make -s -C tools O="$work/tools" LINK=shared >"$work/made" &&
		readelf -d "$work/tools/hwheelctl" | grep -q 'NEEDED.*libjson-c' &&
		[ ! -e "$work/tools/hwheeld" ]
}

# refuses NEED TEXT: says so in one line, and nothing else
refuses() {
	! without_apt selftests/harness/needs.sh "$1" && [ "$(wc -l <"$work/said")" -eq 1 ] &&
		grep -q -- "$2" "$work/said"
}

refuses_a_version() {
	! without_apt env KVER=1.2.3 selftests/harness/needs.sh headers &&
		[ "$(cat "$work/said")" = \
			"needs.sh: no headers for the kernel 1.2.3: KDIR= names a kernel's build folder" ]
}

# One that says as little of its version as most do
takes_a_folder() {
	[ "$(without_apt env KVER=1.2 KDIR=/a/b selftests/harness/needs.sh headers)" = \
		"KVER=1.2 KDIR=/a/b" ]
}

cp -rs /usr/bin "$work/bin"
rm -f "$work"/bin/{apt*,dpkg*}

echo "TAP version 13"
report "programs are built with what there is" without_apt selftests/harness/needs.sh tools
report "and with shared libraries alone" builds_shared
report "the module is built for a folder that is named" takes_a_folder
report "a kernel that has no headers is told in one line" refuses_a_version
report "what boots a machine says that it needs apt" refuses vm "needs apt"
report "and what opens a shell there does" refuses shared "needs apt"
tap_end
