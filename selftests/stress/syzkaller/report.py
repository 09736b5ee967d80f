#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What has syzkaller done to the module, and what did it reach?

report.py OUT OBJECTS

OUT is the folder that run.sh has filled, OBJECTS that in which the module was built. Prints how
many programs were executed, the crashes, and, where the kernel counts lines, which functions of
each file ran and which did not; OUT/report.txt has this, too. Exits with 1 if there was a crash,
or nothing was executed or learned.
"""

import collections
import json
import pathlib
import shutil
import subprocess
import sys


# Left out: functions that no system call reaches, and those that the kernel's macros make.
PARTS = ("device/", "engine/")
TRACEPOINTS = "engine/trace.h"


def statistics(out):
    """The last of the records that syzkaller appends each minute, as a dict."""
    text = (out / "bench").read_text(encoding="utf-8") if (out / "bench").exists() else ""
    records, decoder = [{}], json.JSONDecoder()
    while text := text.lstrip():
        record, end = decoder.raw_decode(text)
        records.append(record)
        text = text[end:]
    return records[-1]


def crashes(out):
    """How often each of them was seen."""
    for folder in sorted((out / "work/crashes").glob("*")):
        title = (folder / "description").read_text(encoding="utf-8").strip()
        yield title, len(list(folder.glob("log*")))


def unpack(archive, objects, folder):
    """The counters of one start of the machine, each beside the notes of the compiler."""
    subprocess.run(["tar", "-xf", archive, "-C", folder], check=True)
    for counters in sorted(folder.rglob("*.gcda")):
        _, _, name = str(counters).partition(f"/{objects.name}/")
        shutil.copy((objects / name).with_suffix(".gcno"), counters.with_suffix(".gcno"))
        yield counters


def gcov(archive, objects):
    """What gcov says of each object, a dict for each of its files."""
    folder = archive.with_suffix("")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    found = [*unpack(archive, objects, folder)]
    output = subprocess.run(["gcov", "--json-format", "--stdout", *found], cwd=folder,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True,
                            text=True).stdout
    for line in output.splitlines():
        yield from json.loads(line)["files"]


def count_functions(out, objects):
    """How often each function of each file was called, in all starts of the machine."""
    counts = collections.defaultdict(collections.Counter)
    for archive in sorted((out / "counts").glob("*.tar")):
        for file in gcov(archive, objects):
            _, _, name = file["file"].rpartition("/module/")
            if name.startswith(PARTS) and name != TRACEPOINTS:
                for function in file["functions"]:
                    counts[name][function["name"]] += function["execution_count"]
    return counts


def function_lines(counts):
    for name, functions in sorted(counts.items()):
        reached = sum(count > 0 for count in functions.values())
        yield f"  {name:28} {reached:3} of {len(functions):3} functions"
    every = [count for functions in counts.values() for count in functions.values()]
    yield f"  {'together':28} {sum(count > 0 for count in every):3} of {len(every):3} functions"
    for name, functions in sorted(counts.items()):
        missed = sorted(function for function, count in functions.items() if not count)
        if missed:
            yield f"  not reached in {name}: {', '.join(missed)}"


def main():
    out, objects = (pathlib.Path(folder).resolve() for folder in sys.argv[1:])
    figures, found = statistics(out), [*crashes(out)]
    executed, corpus = figures.get("exec total", 0), figures.get("corpus", 0)
    lines = [f"programs executed: {executed}, in the corpus: {corpus}, "
             f"places in the code: {figures.get('coverage', 0)}",
             f"crashes: {len(found)}"]
    lines += [f"  {title}, logs: {times}" for title, times in found]
    lines += function_lines(count_functions(out, objects)) if any(out.glob("counts/*.tar")) else []
    print("\n".join(lines))
    (out / "report.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0 if executed and corpus and not found else 1


if __name__ == "__main__":
    sys.exit(main())
