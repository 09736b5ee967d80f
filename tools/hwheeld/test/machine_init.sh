#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Init of a user-mode kernel whose root folder is this machine's, for machine.py: sets up the
# network and the module, and does what it reads from the console, line by line. It answers each
# line with its status. The kernel's command line names what it needs.
# shellcheck disable=SC2154 # variables from the command line
# shellcheck source=tools/hwheeld/test/mounts.sh
. "${0%/*}/mounts.sh"
exec 2>>"$folder/console"

ip link set lo up
ip link set vec0 up
ip address add 10.0.2.100/24 dev vec0
ip route add default via 10.0.2.2
if busybox insmod "$hwheel_ko" && { [ ! -e /dev/ubda ] || mount /dev/ubda /tmp/disk; }; then
	echo "machine: ready"
else
	echo "machine: failed"
fi
while read -r line; do
	eval "$line" >>"$folder/console"
	echo "machine: $?"
done
