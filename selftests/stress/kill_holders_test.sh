#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Many processes hold very many timeouts, and are killed all at once. Run as root where
# nobody else uses hwheel; needs hwheel.ko, holders, common.sh and leaks.sh beside it.
# Prints TAP.

cd "$(dirname "$0")" || exit 1
# shellcheck source=selftests/harness/common.sh
. ./common.sh
# shellcheck source=selftests/module/leaks.sh
. ./leaks.sh

processes=10
each=100000
# Timeouts on a page
per_page=32

# The pages of our group are not known exactly, nor at once.
tolerance=4000

# As many as are on the pages of our group
timeouts() {
	echo $(($(pages_of "$group") * per_page))
}

start() {
	./holders "$@" >"$work/holders" 2>&1 &
	holders=$!
}

all_there() {
	grep -q . "$work/holders"
}

gather() {
	start $processes $each
	await all_there && grep -qx ready "$work/holders" && return
	diagnose "$(cat "$work/holders")"
	kill_group
	return 1
}

kill_group() {
	kill -9 "-$holders" 2>/dev/null
}

# One that has just been started may not be a process group yet.
kill_all() {
	await kill_group || return
	wait "$holders" 2>/dev/null
	[ $? -eq 137 ]
}

# A million, and those that expired or were cancelled a moment ago
all_are_held() {
	[ $(($(timeouts) - before)) -ge $((processes * each)) ]
}

all_let_go() {
	[ $(($(timeouts) - before)) -le $tolerance ]
}

# hwheel's own wheels have theirs; those of the files are destroyed when these are closed.
threads_gone() {
	[ "$(threads hwheel/p)" -eq 0 ] && only_system_thread
}

others_go_on() {
	quietly ./client load
}

# Wherever each of them is at that moment
killed_early() {
	start 10 2000
	repeat "$1" true
	kill_all
}

killed_early_and_late() {
	for moment in 0 10 100 300 1000 3000; do
		killed_early $moment || return
	done
}

round() {
	start 4 50
	await all_there && kill_all
}

leaks_nothing() {
	find_caches
	leaks_nothing_in 20 round
}

begin
if ! enter_group; then
	skip "timeouts of processes that are killed" "no cgroup v2 with memory here"
	end
	exit
fi
# Together they hold more than the share of an account.
quietly load max_user_bytes=$((1 << 50))
before=$(timeouts)
report "$processes processes with $each timeouts pending each" gather
report "all of them are there" await all_are_held
report "threads of their wheels are there" test "$(threads hwheel/p)" -eq $((processes / 2))
report "all processes are killed" kill_all
report "their timeouts are gone" await all_let_go
report "so are the threads of their wheels" await threads_gone
report "nobody holds the module" await unused
report "the wheel goes on" others_go_on
report "killed while they arm" killed_early_and_late
report "nothing is left of these" await all_let_go
leave_group
report_leaks "rounds of this leak nothing" leaks_nothing
report "the module can be unloaded" unload
end
