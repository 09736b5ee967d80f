#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What has syzkaller done to the module, and what did it reach?

report.py OUT OBJECTS

OUT is the folder that run.sh has filled, OBJECTS that in which the module was built. Prints how
many programs were executed, which results.py reads, the crashes, and, where the kernel counts
lines, how many functions of each file ran, which did not, with the reason that the file "unreached"
gives, and which reasons no function needed; OUT/report.txt has this, too. Exits with 1 if there was
a crash, if nothing was executed or learned, or if the kernel counts lines and no function of the
module ran. A data race that does not concern the module, a machine that fell silent, and a failure
of syzkaller's own program are no crash.
"""

import collections
import itertools
import json
import operator
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "harness"))

import gcov  # noqa: E402


# The files whose functions are counted; the kernel's macros make those of the tracepoints.
PARTS = ("device/", "engine/")
TRACEPOINTS = ("device/file_trace.h", "engine/trace.h")
KINDS = CRASH, RACE, SILENT, FAILED = (
    "crashes", "races of the kernel with itself", "machines that fell silent",
    "failures of syzkaller's own program")
# How their titles begin. A machine falls silent, or answers too late, on a busy host: a kernel that
# hangs reports a stall or a hung task, as long as one of its CPUs takes interrupts. The program in
# the machine names itself when it fails.
TITLES = {SILENT: ("no output from test machine", "lost connection to test machine"),
          FAILED: ("SYZFAIL", "SYZFATAL")}

UNREACHED = pathlib.Path(__file__).with_name("unreached")
HARNESS = pathlib.Path(gcov.__file__).parent
# Of standard input: does the kernel complain of anything but data races of others?
COMPLAIN = '''{ . "$0/complaints.sh" && . "$0/vm/races.sh"; } || exit 2
    without_races_of_others "[hwheel]" | grep -Eq "$complaints"'''
# With this the kernel ends once it has reported a data race.
PANIC = "Kernel panic - not syncing: KCSAN: panic_on_warn set"


def statistics(out):
    """The last of the records that syzkaller appends each minute, as a dict."""
    text = (out / "bench").read_text(encoding="utf-8") if (out / "bench").exists() else ""
    records, decoder = [{}], json.JSONDecoder()
    while text := text.lstrip():
        record, end = decoder.raw_decode(text)
        records.append(record)
        text = text[end:]
    return records[-1]


def complains(text):
    """Adds the rule at the end of a report of a data race, which syzkaller has cut off."""
    return subprocess.run(["bash", "-c", COMPLAIN, HARNESS], input=text + "\n==========\n",
                          check=False, encoding="utf-8").returncode != 1


def is_race_of_others(report):
    """A data race that does not concern the module, and no other complaint besides"""
    return "BUG: KCSAN" in report and not complains(report.partition(PANIC)[0])


def kind(folder, title):
    """A crash is the module's, unless its title or each of its reports tells otherwise."""
    for name, beginnings in TITLES.items():
        if title.startswith(beginnings):
            return name
    reports = [path.read_text(encoding="utf-8", errors="replace")
               for path in folder.glob("report*")]
    return RACE if reports and all(map(is_race_of_others, reports)) else CRASH


def crashes(out):
    """Titles of each kind, with how often each was seen."""
    found = {name: [] for name in KINDS}
    for folder in sorted((out / "work/crashes").glob("*")):
        title = (folder / "description").read_text(encoding="utf-8").strip()
        found[kind(folder, title)].append((title, len(list(folder.glob("log*")))))
    return found


def crash_lines(found):
    for name, titles in found.items():
        if titles or name == CRASH:
            yield f"{name}: {len(titles)}"
        yield from (f"  {title}, logs: {times}" for title, times in titles)


def count_functions(out, objects):
    """How often each function of each file was called, in all starts of the machine; remarks"""
    counts, misfits = collections.defaultdict(collections.Counter), []
    for archive in sorted((out / "counts").glob("*.tar")):
        files, misfit = gcov.of_archive(archive, objects)
        misfits += filter(None, [misfit])
        for file in files:
            name = gcov.name_in_module(file)
            if name.startswith(PARTS) and name not in TRACEPOINTS:
                for function in file["functions"]:
                    counts[name][function["name"]] += function["execution_count"]
    return counts, misfits


def function_lines(counts):
    for name, functions in sorted(counts.items()):
        reached = sum(count > 0 for count in functions.values())
        yield f"  {name:28} {reached:3} of {len(functions):3} functions"
    every, missed = sum(map(len, counts.values())), {*missed_functions(counts)}
    yield (f"  {'together':28} {every - len(missed):3} of {every:3} functions; "
           f"{len(missed - reasons().keys())} of the others without a reason")


def reasons():
    """A reason for each (file, function) that is not reached."""
    return {(name, function): reason
            for reason, name, functions in gcov.reasons(UNREACHED.read_text(encoding="utf-8"))
            for function in functions.split(", ")}


def missed_functions(counts):
    """Each that was not reached, as (file, function)"""
    return ((name, function) for name, functions in sorted(counts.items())
            for function, count in sorted(functions.items()) if not count)


def missed_lines(counts):
    """Functions that were not reached, a line for each file and reason."""
    known, missed = reasons(), collections.defaultdict(list)
    for name, function in missed_functions(counts):
        missed[known.get((name, function), "no reason is known"), name].append(function)
    for reason, of_reason in itertools.groupby(sorted(missed), key=operator.itemgetter(0)):
        yield f"not reached: {reason}"
        yield from (f"  {place[1]}: {', '.join(missed[place])}" for place in of_reason)


def remarks(counts):
    """Functions whose reason was not needed: they were reached in this run, or are gone."""
    for name, function in reasons():
        if counts.get(name, {}).get(function, 1):
            yield f"reason not needed: {name}: {function}"


def counted_lines(out, objects):
    """The part of the report that counts make; and whether any function of the module ran."""
    counts, misfits = count_functions(out, objects)
    lines = [*function_lines(counts), *missed_lines(counts), *(misfits or remarks(counts))]
    return lines, any(map(collections.Counter.total, counts.values()))


def main():
    out, objects = (pathlib.Path(folder).resolve() for folder in sys.argv[1:])
    figures, found = statistics(out), crashes(out)
    executed, corpus = figures.get("exec total", 0), figures.get("corpus", 0)
    lines = [f"# programs={executed} in all, {corpus} in the corpus; "
             f"places in the code: {figures.get('coverage', 0)}", *crash_lines(found)]
    counted, ran = [], True
    if any(objects.rglob("*.gcno")):
        counted, ran = counted_lines(out, objects)
    text = "\n".join([*lines, *counted]) + "\n"
    print(text, end="")
    (out / "report.txt").write_text(text, encoding="utf-8")
    return 0 if executed and corpus and ran and not found[CRASH] else 1


if __name__ == "__main__":
    sys.exit(main())
