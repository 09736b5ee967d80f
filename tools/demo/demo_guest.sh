#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The demonstration, inside the VM: the programs' raw records go to /results.
set -e
cd "$(dirname "$0")"

say() {
	echo
	echo "== $*"
}

say "Loading the module"
insmod hwheel.ko
./hwheelctl info
./hwheelctl arm 100ms --cookie 42

say "Three timeouts of 500 ms, 1 s and 1.5 s, one cancelled"
./first /results

say "RPC deadlines: 20,000 requests, 95 % of them answered"
./rpc /results

say "Heartbeats: 1,000 TCP connections, 100 of them fall silent"
./heartbeat /results

say "100,000 timeouts over 2 s, 90 % of them cancelled"
./mass /results

say "Unloading the module"
rmmod hwheel
