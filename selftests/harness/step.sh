#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# step.sh LOG TEXT COMMAND...: a step of a build. The terminal shows one line of TEXT, with the
# seconds that it took; LOG has all that COMMAND prints. If COMMAND fails, its last lines are shown,
# and the status is its own.
set -uo pipefail

here=$(dirname "$(realpath "$0")")
# shellcheck source=selftests/harness/messages.sh
. "$here/messages.sh"

log=$1 text=$2 since=$EPOCHSECONDS
shift 2

mkdir -p "$(dirname "$log")"
"$@" >"$log" 2>&1 </dev/null && status=0 || status=$?
if [ "$status" -eq 0 ]; then
	say "$text: done, in $((EPOCHSECONDS - since)) s"
else
	say "$text: FAILED with status $status. The end of $log:"
	tail -n 30 "$log" >&2
fi
exit "$status"
