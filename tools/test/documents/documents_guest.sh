#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Guest script of the documents' test: runs their blocks, in order, on a machine where hwheel
# is installed but not loaded. Needs hwheel.ko, hwheelctl and blocks.tar beside it, which has
# the blocks, programs built, and a list of both. Leaves /results/guest.tap.

cd "$(dirname "$0")" || exit 1
# shellcheck source=selftests/harness/common.sh
. ./common.sh

prepare() {
	updates=/lib/modules/$(uname -r)/updates
	mkdir -p "$updates" /etc/modprobe.d "$work"
	cp hwheel.ko "$updates/" && depmod || exit 1
	printf '%s\n' '#!/bin/sh' 'exec "$@"' >/bin/sudo
	chmod 755 /bin/sudo
	tar -xf blocks.tar
}

# run_block FILE: commands, or a program
run_block() {
	case $1 in
	*.sh) set -- sh -e "$1" ;;
	*)    set -- "./$1" ;;
	esac
	"$@" >"$work/out" 2>&1 && return
	diagnose "$(cat "$work/out")"
	return 1
}

all() {
	while read -r file where; do
		report "$where in the VM" run_block "$file"
	done <list
	end
}

prepare
echo "TAP version 13"
all 2>&1 | tee /results/guest.tap
! grep -q '^not ok' /results/guest.tap
