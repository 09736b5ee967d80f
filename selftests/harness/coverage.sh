#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# coverage.sh: runs the KUnit tests in a user-mode kernel of their own, compiled with gcov's counters,
# and prints the lines of module/ that were not reached. Fails if one of the files of a timeout's way
# through the engine was reached to less than 95 %. KSRC is a kernel source tree; FILTER, SEED and OPS
# are those of kunit/run.sh.
set -euo pipefail

cd "$(dirname "$(realpath "$0")")/../.."
folder=$PWD/build/coverage
trace=$folder.json

rm -rf "$folder" "$trace"
mkdir -p "$folder"

# CONFIG_GCOV has Kbuild compile the project with counters, and links gcov's library. By CFLAGS-y it
# would also compile the whole kernel with counters; that gives a function of the kernel another
# name instead, as the library has one of this name. A user-mode kernel's linker script leaves out
# the section by which gcc has the counters written at the end: what that would call is made the
# program's -fini.
GCOV_PREFIX=$folder kunit/run.sh --kconfig_add=CONFIG_GCOV=y \
	--kconfig_add=CONFIG_DEBUG_INFO_DWARF_TOOLCHAIN_DEFAULT=y \
	--kconfig_add=CONFIG_KASAN=n --kconfig_add=CONFIG_KASAN_OUTLINE=n \
	--make_options=CFLAGS-y=-Dmangle_path=kernel_mangle_path \
	--make_options="GCOV_OPT=--coverage -Wl,-fini=__gcov_exit" >"$folder.log"

# Counters are there under the full names of their objects. gcovr wants the compiler's notes, which stay
# beside the objects, beside them. The compiler calls this folder by its name in the kernel's source.
find "$folder" -name '*.gcda' | while read -r counters; do
	notes=${counters%.gcda}.gcno
	cp "${notes#"$folder"}" "$notes"
done
gcovr --root "$KSRC/drivers/misc/hwheel${HWHEEL_JOB-}" --filter module/ --json "$trace" "$folder"
gcovr -a "$trace" --txt
for noun in slots state submit worker; do
	gcovr -a "$trace" --filter "module/engine/$noun\.[ch]" --txt /dev/null --fail-under-line 95
done
