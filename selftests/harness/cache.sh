# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# The cache folder: what was downloaded or unpacked once. Needs messages.sh.

cache=${HWHEEL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/hwheel}

# cache_locked NAME COMMAND...: what fills NAME runs once at a time; whatever else is missing
# can be made meanwhile. No process that COMMAND leaves behind inherits the lock.
cache_locked() {
	local lock=$cache/$1.lock

	shift
	mkdir -p "$cache"
	(
		flock -n 9 || { say "cache: waiting for another run"; flock 9; }
		"$@" 9>&-
	) 9>"$lock"
}

# cache_fill NAME COMMAND...: COMMAND fills a folder, which is its last argument; the folder
# is called NAME once it is complete, so that an interrupted run leaves nothing that looks
# complete.
cache_fill() {
	[ -e "$cache/$1" ] || cache_locked "$1" cache_fill_locked "$@"
}

cache_fill_locked() {
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
