#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Init of a user-mode kernel whose root folder is this machine's, for power_test.py: mounts the
# disk that is to survive, and runs power_guest.py. The kernel's command line names what it needs.
# shellcheck disable=SC2154 # variables from the command line
# shellcheck source=tools/hwheeld/test/mounts.sh
. "${0%/*}/mounts.sh"
exec 2>/tmp/errors
busybox insmod "$hwheel_ko" && mount /dev/ubda /tmp/disk &&
	python3 -B "$tests/power_guest.py" "$hwheeld" /tmp/disk/hwheeld "$synchronous" \
		"$journal" "$seed"
echo "{\"wrong\": \"the guest ended: $(tail -n 1 /tmp/errors | tr -cd '[:alnum:] ./:')\"}"
read -r _
