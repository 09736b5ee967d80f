#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# unload_test.sh [RELOADS]: unloads the module, and loads it again, while threads use it,
# until each of them has met it after so many reloads (10). Run as root where nobody else
# uses the module; needs hwheel.ko, hwheel_sample.ko, comers, churn and common.sh beside
# it. Prints TAP. A module that was loaded before is loaded again at the end.

cd "$(dirname "$0")" || exit 1
# shellcheck source=selftests/common.sh
. ./common.sh
reloads=${1:-10}
threads=8
unloaded=0
refused=0
under_module=0

come() {
	./comers $threads "$reloads" >"$work/comers" &
	comers=$!
}

coming() {
	kill -0 $comers 2>/dev/null
}

# They go on for as long as nobody reloads the module for them.
end_comers() {
	kill $comers 2>/dev/null
	wait $comers 2>/dev/null
}

# The reason why it is refused is that it is in use.
try_unload() {
	if unload; then
		unloaded=$((unloaded + 1))
	elif grep -Eq "temporarily unavailable|in use" "$work/rmmod"; then
		refused=$((refused + 1))
		return 1
	else
		diagnose "$(cat "$work/rmmod")"
		return 2
	fi
}

# With time-outs of a module pending, which is unloaded at once; meanwhile ours must stay.
sample() {
	insmod ./hwheel_sample.ko || return
	if unload; then
		diagnose "unloaded under hwheel_sample"
		return 1
	fi
	rmmod hwheel_sample && under_module=$((under_module + 1))
}

# Until it is granted: sooner or later all are away at the same time.
await_unload() {
	while coming; do
		try_unload
		case $? in
		0) return ;;
		2) return 1 ;;
		esac
	done
}

reload_while_coming() {
	while coming; do
		await_unload || return
		loaded || quietly load || return
		sample || return
	done
	wait $comers
}

reload() {
	reload_while_coming && return
	end_comers
	diagnose "$(cat "$work/comers")"
	return 1
}

# Each of them has been met by somebody, so there were as many at least.
both_happened() {
	[ $unloaded -ge "$reloads" ] && [ $refused -gt 0 ] && [ $under_module -gt 0 ]
}

# How often the comers did what they count, which is nothing if they did not end well
calls() {
	sed -n 's/^\(opens\|armed\|read\)=//p' "$work/comers" | awk '{ n += $1 } END { print n + 0 }'
}

tell() {
	diagnose "unloads=$unloaded"
	diagnose "unloads_refused=$refused"
	diagnose "unloads_with_module_pending=$under_module"
	diagnose "$(cat "$work/comers")"
	diagnose "operations=$((unloaded + refused + under_module + $(calls)))"
}

begin
quietly load
come
report "unloaded while $threads threads use it" reload
report "often, refused while it is in use" both_happened
tell
report "nobody holds it" unused
report "it works" quietly ./churn load
report "unloads" unload
end
