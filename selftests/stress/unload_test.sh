#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# unload_test.sh [RELOADS]: unloads the module, and loads it again, while threads use it,
# until each of them has met it after so many reloads (10). Run as root where nobody else
# uses the module; needs hwheel.ko, hwheel_sample.ko, reload_clients, client and common.sh
# beside it. Prints TAP. A module that was loaded before is loaded again at the end.

cd "$(dirname "$0")" || exit 1
# shellcheck source=selftests/harness/common.sh
. ./common.sh
reloads=${1:-10}
threads=8
unloaded=0
refused=0
under_module=0

start_clients() {
	./reload_clients $threads "$reloads" >"$work/clients" 2>&1 &
	clients=$!
}

clients_run() {
	kill -0 $clients 2>/dev/null
}

# The clients go on for as long as nobody reloads the module for them.
end_clients() {
	kill $clients 2>/dev/null
	wait $clients 2>/dev/null
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

# With timeouts of a module pending, which is unloaded at once; meanwhile ours must stay.
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
	while clients_run; do
		try_unload
		case $? in
		0) return ;;
		2) return 1 ;;
		esac
	done
}

reload_while_clients_run() {
	while clients_run; do
		await_unload || return
		loaded || quietly load || return
		sample || return
	done
	wait $clients
}

reload() {
	reload_while_clients_run && return
	end_clients
	diagnose "$(cat "$work/clients")"
	return 1
}

# Each of them has been met by somebody, so there were as many at least.
both_happened() {
	[ $unloaded -ge "$reloads" ] && [ $refused -gt 0 ] && [ $under_module -gt 0 ]
}

# How often the clients did what they count: nothing if one of them failed
calls() {
	sed -n 's/^\(opens\|armed\|read\)=//p' "$work/clients" | awk '{ n += $1 } END { print n + 0 }'
}

tell() {
	diagnose "unloads=$unloaded"
	diagnose "unloads_refused=$refused"
	diagnose "unloads_with_module_pending=$under_module"
	diagnose "$(cat "$work/clients")"
	diagnose "operations=$((unloaded + refused + under_module + $(calls)))"
}

begin
quietly load
start_clients
report "unloaded while $threads threads use it" reload
report "often, refused while it is in use" both_happened
tell
report "nobody holds it" unused
report "it works" quietly ./client load
report "unloads" unload
end
