#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Loads hwheel_translated.ko, which runs the examples of doc/kernel.md. Run as root where nobody else
# uses the module; needs hwheel.ko, hwheel_translated.ko, common.sh and tap.sh beside it. Prints TAP.
# A module that was loaded before is loaded again at the end.

cd "$(dirname "$0")" || exit 1
# shellcheck source=selftests/harness/common.sh
. ./common.sh

translated() {
	clear_log
	insmod ./hwheel_translated.ko && return
	dmesg | sed -n 's/^.*hwheel/# hwheel/p'
	return 1
}

leaves_nothing() {
	rmmod hwheel_translated && ! dmesg | grep "is unloaded without"
}

begin
quietly load
report "the examples of doc/kernel.md work" translated
report "they leave nothing behind" leaves_nothing
report "hwheel can be unloaded" unload
end
