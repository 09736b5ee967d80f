#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# coverage.sh kunit: runs the KUnit tests in a user-mode kernel of their own, compiled with gcov's
# counters. KSRC is a kernel source tree; FILTER, SEED and OPS are those of kunit/run.sh.
# coverage.sh kselftest ARCHIVE OBJECTS: adds the counters that selftests_guest.sh has packed, of the
# module that was built in OBJECTS.
#
# Prints the lines of module/ that were not reached. The first fails if one of the files of a
# timeout's way through the engine was reached to less than 95 %, the second if all of module/ was
# to less than 97 %.
set -euo pipefail

cd "$(dirname "$(realpath "$0")")/../.."
folder=$PWD/build/coverage/$1
trace=build/coverage/$1.json

# CONFIG_GCOV has Kbuild compile the project with counters, and links gcov's library. By CFLAGS-y it
# would also compile the whole kernel with counters; that gives a function of the kernel another
# name instead, as the library has one of this name. A user-mode kernel's linker script leaves out
# the section by which gcc has the counters written at the end: what that would call is made the
# program's -fini.
run_kunit() {
	GCOV_PREFIX=$folder kunit/run.sh --kconfig_add=CONFIG_GCOV=y \
		--kconfig_add=CONFIG_DEBUG_INFO_DWARF_TOOLCHAIN_DEFAULT=y \
		--kconfig_add=CONFIG_KASAN=n --kconfig_add=CONFIG_KASAN_OUTLINE=n \
		--make_options=CFLAGS-y=-Dmangle_path=kernel_mangle_path \
		--make_options="GCOV_OPT=--coverage -Wl,-fini=__gcov_exit" >"$folder.log"
}

# write_trace SOURCES: counters are in $folder under the full names of their objects. gcovr wants the
# compiler's notes, which stay beside the objects, beside the counters. SOURCES is what the compiler
# calls this folder.
write_trace() {
	local counters notes

	find "$folder" -name '*.gcda' | while read -r counters; do
		notes=${counters%.gcda}.gcno
		cp "${notes#"$folder"}" "$notes"
	done
	gcovr --root "$1" --filter module/ --json "$trace" "$folder"
}

rm -rf "$folder" "$trace"
mkdir -p "$folder"
case $1 in
kunit)
	run_kunit
	write_trace "$KSRC/drivers/misc/hwheel${HWHEEL_JOB-}"
	gcovr -a "$trace" --txt
	for noun in slots state submit worker; do
		gcovr -a "$trace" --filter "module/engine/$noun\.[ch]" --txt /dev/null \
			--fail-under-line 95
	done ;;
kselftest)
	tar -xf "$2" -C "$folder"
	write_trace "$3"
	gcovr -a build/coverage/kunit.json -a "$trace" --txt --fail-under-line 97 ;;
esac
