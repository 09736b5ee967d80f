#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# setup_test.sh: what setup.sh does on a machine without apt, which is this one without the
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

names() {
	! without_apt selftests/harness/setup.sh "$1" && grep -q -- "$2" "$work/said"
}

# A folder that says as little of its version as most do
takes_a_folder() {
	[ "$(without_apt env KVER=1.2 KDIR=/a/b selftests/harness/setup.sh module)" = \
		"KVER=1.2 KDIR=/a/b" ]
}

cp -rs /usr/bin "$work/bin"
rm -f "$work"/bin/{apt*,dpkg*}

echo "TAP version 13"
report "programs are built with what there is" without_apt selftests/harness/setup.sh tools
report "the module is built for a folder that is named" takes_a_folder
report "what boots a machine names what it needs" names vm qemu-system-x86
tap_end
