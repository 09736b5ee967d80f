#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The demonstration, inside the VM. Each program prints what it sees, fails if something is wrong,
# and leaves a member of /results/run.json.
set -e
cd "$(dirname "$0")"
status=0

say() {
	echo
	echo "== $*"
}

# show PROGRAM HEADLINE
show() {
	say "$2"
	"./$1" /results || status=1
}

say "Loading the module"
insmod hwheel.ko
./hwheelctl info
./hwheelctl arm 100ms --cookie 42

show first "Three timeouts of 500 ms, 1 s and 1.5 s, one cancelled"
show rpc "RPC deadlines: 20,000 requests, 95 % of them answered"
show heartbeat "Heartbeats: 1,000 TCP connections, 100 of them fall silent"
show mass "100,000 timeouts over 2 s, 90 % of them cancelled"

say "Unloading the module"
rmmod hwheel

cat <<-'END'

	This machine is emulated: work takes many times as long as on hardware, and stands still while
	the host runs something else. Timeouts are later and rates lower than on hardware.
	doc/performance.md has counts of instructions, which are exact.
END
[ $status = 0 ] && pass=true || pass=false
{
	echo '{'
	cat /results/*.json
	echo "\"pass\": $pass"
	echo '}'
} >/results/run
mv /results/run /results/run.json
echo "pass: $pass"
exit $status
