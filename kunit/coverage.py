#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Which lines of module/ do the KUnit tests reach?

usage: coverage.py

Runs them in a user-mode kernel of its own, in which module and tests are compiled
with gcov's counters; SEED, OPS and KSRC are those of kunit/run.sh. Prints a table and
the lines of the files in JUDGED that were not reached; build/coverage.txt has those of
the other files, too. An inline function counts in its header, and a file that a test
includes under its own name. Exits with 0 if LEAST percent of each file in JUDGED were
reached.
"""

import os
import pathlib
import shutil
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP / "selftests/harness"))

import gcov  # noqa: E402

COUNTERS = TOP / "build/coverage"
RESULTS = TOP / "build/coverage.txt"

# The way of a timeout through the engine. Programs test the others through the device, too.
JUDGED = ("module/engine/slots.c", "module/engine/slots.h", "module/engine/state.h",
          "module/engine/submit.c", "module/engine/submit.h", "module/engine/worker.c")
LEAST = 95


# For kunit.py. CONFIG_GCOV has Kbuild compile the project with counters, and links
# gcov's library. By CFLAGS-y it would also compile the whole kernel with counters; that
# gives a function of the kernel another name instead, as the library has one of this
# name. A user-mode kernel's linker script leaves out the section by which gcc has the
# counters written at the end: what that would call is made the program's -fini.
OPTIONS = ("--kconfig_add=CONFIG_GCOV=y",
           "--kconfig_add=CONFIG_DEBUG_INFO_DWARF_TOOLCHAIN_DEFAULT=y",
           "--kconfig_add=CONFIG_KASAN=n", "--kconfig_add=CONFIG_KASAN_OUTLINE=n",
           "--make_options=CFLAGS-y=-Dmangle_path=kernel_mangle_path",
           "--make_options=GCOV_OPT=--coverage -Wl,-fini=__gcov_exit")


def run_tests():
    """The counters are written below COUNTERS, under the full names of the objects."""
    shutil.rmtree(COUNTERS, ignore_errors=True)
    COUNTERS.mkdir(parents=True)
    with open(COUNTERS / "run.log", "w", encoding="utf-8") as log:
        run = subprocess.run([TOP / "kunit/run.sh", *OPTIONS], stdout=log, check=False,
                             env={**os.environ, "GCOV_PREFIX": str(COUNTERS)})
    if run.returncode:
        sys.exit(f"coverage: the tests do not pass, see {log.name}")


def beside_its_notes(counters):
    """The kernel was told to write its counters below COUNTERS."""
    notes = pathlib.Path("/", counters.relative_to(COUNTERS)).with_suffix(".gcno")
    return gcov.put_beside(counters, notes)


def count_lines():
    found = [beside_its_notes(path) for path in sorted(COUNTERS.rglob("*.gcda"))]
    if not found:
        sys.exit("coverage: the kernel wrote no counters")
    counts, _ = gcov.count_lines(gcov.run(found, COUNTERS))
    return counts


def too_low(counts):
    return [name for name in JUDGED if name not in counts or gcov.percent(counts[name]) < LEAST]


def table(counts):
    for name, lines in sorted(counts.items()):
        yield f"{gcov.row(name, lines)}{' *' if name in JUDGED else ''}"
    low = too_low(counts)
    yield f"* at least {LEAST} %: {'not ' + ', '.join(low) if low else 'yes'}"


def missed(counts, names):
    yield from (":".join(map(str, line)) for line in gcov.missed(counts, names))


def main():
    run_tests()
    counts = count_lines()
    judged = [*table(counts), "", *missed(counts, JUDGED)]
    others = missed(counts, sorted(set(counts) - set(JUDGED)))
    print("\n".join(judged))
    RESULTS.write_text("\n".join([*judged, "", *others]) + "\n", encoding="utf-8")
    return 1 if too_low(counts) else 0


if __name__ == "__main__":
    sys.exit(main())
