#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# build.sh KSRC PATCHES OUT: applies the series that series.sh left in PATCHES to a copy of the
# kernel tree KSRC, whose files are links but for those that it touches, and builds there without a
# warning: the driver with its KUnit tests built into a user-mode kernel, the driver as a module, and
# the kselftests. Prints TAP.
set -uo pipefail

ksrc=$(realpath "$1")
patches=$(realpath "$2")
mkdir -p "$3"
out=$(realpath "$3")
tree=$out/tree
driver=drivers/misc/hwheel

cd "$(dirname "$(realpath "$0")")/../.." || exit
# shellcheck source=selftests/harness/tap.sh
. selftests/harness/tap.sh

# A tree that make kunit has used has a link to hwheel, and lines that the series' base lacks.
applies() {
	rm -rf "$tree"
	cp -as "$ksrc" "$tree" && rm -f "$tree/$driver"* &&
		git -C "$patches/tree" archive HEAD~4 | tar -x -C "$tree" &&
		cat "$patches"/0*.patch | patch -d "$tree" -p1 -s --fuzz=0
}

# Prints the names of files in comments of what the series adds.
named() {
	sed -n 's/^+//p' "$patches"/0*.patch | grep -E '^ \*|/\*' |
		grep -oE '[A-Za-z0-9_-]+\.(c|h|py|sh|pml|litmus|md|rst)\b' | sort -u
}

# They are in the kernel tree, wherever that is.
names_files() {
	local missing

	missing=$(comm -23 <(named) <(find "$tree" -type f,l -printf '%f\n' | sort -u))
	[ -z "$missing" ] && return
	echo "not in the tree: $missing"
	return 1
}

in_tree() {
	make -s -C "$tree" ARCH=um O="$out/um" "$@" </dev/null
}

configure() {
	[ -e "$out/um/.config" ] || in_tree defconfig
	"$tree/scripts/config" --file "$out/um/.config" "$@"
	in_tree olddefconfig
}

# Only warnings about files of the series count. The kernel itself is not built: what it exports is
# not known here, and make module asks for that.
without_warning() {
	local log=$out/build.log

	rm -rf "${out:?}/um/$driver"
	in_tree -j"$(nproc)" W=1 KBUILD_MODPOST_WARN=1 "$@" >"$log" 2>&1 || { cat "$log"; return 1; }
	grep -iE "warning:.*hwheel|($driver/|include/(uapi/)?linux/hwheel\.h).*warning:" "$log" |
		grep -v 'modpost: .*undefined!$' && return 1
	return 0
}

# The defconfig of user-mode Linux bounds stack frames as for 32 bits.
built_in() {
	configure --set-val FRAME_WARN 2048 -e KUNIT -e HWHEEL -e HWHEEL_KUNIT_TEST &&
		without_warning $driver/ &&
		[ -e "$out/um/$driver/kunit/engine/slots_test.o" ]
}

as_module() {
	configure -d HWHEEL_KUNIT_TEST -m HWHEEL && without_warning $driver/hwheel.ko &&
		[ -e "$out/um/$driver/hwheel.ko" ]
}

selftests() {
	make -s -C "$tree" ARCH=x86_64 O="$out/headers" headers &&
		mkdir -p "$out/selftests" &&
		make -s -C "$tree/tools/testing/selftests/hwheel" OUTPUT="$out/selftests" \
			KHDR_INCLUDES="-isystem $out/headers/usr/include" USERCFLAGS=-Werror &&
		[ -x "$out/selftests/arm_test" ]
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo "TAP version 13"
report "the series applies" quietly applies
report "comments name files of the tree" quietly names_files
report "built in, with the KUnit tests" quietly built_in
report "as a module" quietly as_module
report "the kselftests build" quietly selftests
tap_end
