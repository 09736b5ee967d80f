#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# memory_test.sh [ROUNDS]: so many rounds (20) look for leaks.
#
# A memory cgroup at its limit: a program that arms or maps there gets ENOMEM, is not killed,
# and leaves nothing behind. Run as root where nobody else uses hwheel; needs hwheel.ko, client,
# common.sh and leaks.sh beside it. Prints TAP.

cd "$(dirname "$0")" || exit 1
# shellcheck source=selftests/harness/common.sh
. ./common.sh
# shellcheck source=selftests/module/leaks.sh
. ./leaks.sh

limit=$((8 << 20))
rounds=${1:-20}

make_group() {
	find_hierarchy || return
	group=$root/hwheel_test
	mkdir "$group" && echo $limit >"$group/memory.max"
}

remove_group() {
	rmdir "$group" && [ ! -e "$group" ]
}

# event NAME: how often it happened in the group
event() {
	sed -n "s/^$1 //p" "$group/memory.events"
}

# limited COMMAND...: in the group
limited() {
	quietly sh -c "echo \$\$ >$group/cgroup.procs && exec \"\$@\"" sh "$@"
}

# The limit was reached, but that killed nobody.
nobody_killed() {
	[ "$(event max)" -gt "$hits" ] && [ "$(event oom_kill)" -eq 0 ] && return
	diagnose "$(tr '\n' ' ' <"$group/memory.events")"
	return 1
}

# survives MODE: client does what it is to do at the limit.
survives() {
	hits=$(event max)
	limited ./client "$1" && nobody_killed
}

# Far less than what it was limited to: some pages each CPU keeps for the next one.
is_empty() {
	[ "$(cat "$group/memory.current")" -lt $((limit / 4)) ]
}

falls_back() {
	await is_empty && return
	diagnose "$(cat "$group/memory.current") of $limit"
	return 1
}

no_worker_left() {
	[ "$(threads hwheel/p)" -eq 0 ]
}

exhaust_all() {
	survives exhaust && survives largest && survives map && survives starve
}

leaks_nothing() {
	find_caches && leaks_nothing_in "$rounds" exhaust_all
}

# Those who are not in the group do not notice.
others_work() {
	quietly ./client load
}

run() {
	report "arming gets ENOMEM, and nobody is killed" survives exhaust
	diagnose "$(cat "$work/output")"
	report "the memory is given back" falls_back
	report "the largest wheel gets ENOMEM, and nobody is killed" survives largest
	report "the memory of that is given back" falls_back
	report "MAP gets ENOMEM, and nobody is killed" survives map
	report "the memory of that is given back, too" falls_back
	report "no worker stays" await no_worker_left
	report "others still work" others_work
	report_leaks "$rounds rounds leak nothing" leaks_nothing
	report "all memory is given back" falls_back
	report "the group can be removed" remove_group
	report "the module can be unloaded" quietly unload
}

begin
# That of the group is to be the nearest limit.
quietly load max_user_bytes=$((1 << 50))
if make_group; then
	run
else
	skip "a memory cgroup at its limit" "no cgroup v2 with memory here"
	unload
fi
end
