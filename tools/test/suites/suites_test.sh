#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# suites_test.sh SOURCES OUT: the tests of timers that libuv and libevent have, with our wheel in
# place of their heaps. SOURCES has the folders libuv and libevent as Debian's source packages have
# them, each of which the patch beside this script changes; it is empty where they cannot be had.
# doc/programs.md lists what differs. Some of the tests assert times, so that one that fails
# on a busy machine is tried again. Prints TAP.

sources=$1 out=$2 here=$(dirname "$(realpath "$0")")
work=$out
# shellcheck source=selftests/harness/tap.sh
. "$here/../../../selftests/harness/tap.sh"

# with_wheel NAME TARGET OPTION...: builds TARGET of the library.
with_wheel() {
	local name=$1 target=$2 folder=$out/$1

	rm -rf "$folder"
	cp -r "$sources/$name" "$folder" &&
		patch --quiet --fuzz 0 -p1 -d "$folder" <"$here/$name.patch" &&
		cp "$here/../../hwheel_local.h" "$here/../../libhwheel/hwheel_local.c" \
			"$folder/$(dirname "$(cd "$folder" && ls src/timer.c event.c 2>/dev/null)")" &&
		cmake -S "$folder" -B "$folder/build" "${@:3}" &&
		make -C "$folder/build" -j"$(nproc)" "$target"
}

# passes COMMAND...: in one of three attempts
passes() {
	for _ in 1 2 3; do
		timeout 60 "$@" >"$out/output" 2>&1 && return
	done
	diagnose "$(tail -n 20 "$out/output")"
	return 1
}

libuv() {
	local program=$out/libuv/build/uv_run_tests_a name

	export UV_RUN_AS_ROOT=1
	for name in $("$program" --list | grep -E 'timer|^loop_|^run_|_unref$|^close_order|^metrics|^queue'); do
		report "libuv: $name" passes "$program" "$name"
	done
}

libevent() {
	local program=$out/libevent/build/bin/regress name

	for name in $("$program" --list-tests | grep -v 'Off by default' |
			grep -oE '(main|heap|finalize)/\w+|bufferevent/bufferevent_timeout\w*'); do
		report "libevent: $name" passes "$program" --quiet "$name"
	done
}

mkdir -p "$out"
if [ -z "$sources" ]; then
	skip "libuv" "Debian's source package cannot be had"
	skip "libevent" "Debian's source package cannot be had"
	tap_end
	exit
fi
report "libuv is built with the wheel" quietly with_wheel libuv uv_run_tests_a
libuv
report "libevent is built with the wheel" quietly with_wheel libevent regress \
	-DEVENT__DISABLE_OPENSSL=ON -DEVENT__DISABLE_SAMPLES=ON -DEVENT__DISABLE_BENCHMARK=ON \
	-DEVENT__LIBRARY_TYPE=STATIC
libevent
tap_end
