# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# The cache folder: what was downloaded or unpacked once. Needs messages.sh.

cache=${HWHEEL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/hwheel}

# Starts the calling script again under the cache's lock, which no process that
# it leaves behind inherits.
cache_lock() {
	[ -z "${HWHEEL_CACHE_LOCKED-}" ] || return 0

	mkdir -p "$cache"
	export HWHEEL_CACHE_LOCKED=1
	flock -n "$cache/lock" true || say "cache: waiting for another run"
	exec flock -o "$cache/lock" "$0" "$@"
}

# cache_fill NAME COMMAND...: has COMMAND make NAME, a folder that is its last
# argument. It gets its name when it is complete: a run that was interrupted
# leaves nothing that looks like one.
cache_fill() {
	local name=$1 partial=$cache/$1.partial

	shift
	[ ! -e "$cache/$name" ] || return 0
	rm -rf "$partial"
	mkdir -p "$partial"
	if "$@" "$partial"; then
		mv -T "$partial" "$cache/$name"
	else
		rm -rf "$partial"
		return 1
	fi
}
