#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# inside.sh FILE: runs each test of the file, "NAME COMMAND...", in a user-mode kernel which has this
# machine's files. A command finds a folder $SCRATCH, and leaves its test points on stdout; logs that
# it leaves in the folder are kept.
set -uo pipefail

ip link set lo up
bad=0
while read -r name command; do
	since=$SECONDS
	# The daemon of a test may belong to another user.
	SCRATCH=$(mktemp -d)
	export SCRATCH
	chmod 755 "$SCRATCH"
	bash -c "$command" </dev/null | tee "/tmp/results/$name.tap" || bad=1
	cat "$SCRATCH"/*/*/log "$SCRATCH"/*/log >"/tmp/results/$name.log" 2>/dev/null
	rm -rf "$SCRATCH"
	echo "# $name took $((SECONDS - since)) s"
done <"$1"
exit $bad
