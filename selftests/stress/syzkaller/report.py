#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What has syzkaller done to the module?

report.py OUT

OUT is the folder that run.sh has filled. Prints how many programs were executed, which row.py
reads, how many places of the module they reached, and the crashes; OUT/report.txt has this, too.
Exits with 1 if there was a crash, or if nothing was executed or learned. A data race that does not
concern the module, a machine that fell silent, and a failure of syzkaller's own program are no
crash.
"""

import json
import pathlib
import subprocess
import sys

KINDS = CRASH, RACE, SILENT, FAILED = (
    "crashes", "races of the kernel with itself", "machines that fell silent",
    "failures of syzkaller's own program")
# How their titles begin. A machine falls silent, or answers too late, on a busy host: a kernel that
# hangs reports a stall or a hung task, as long as one of its CPUs takes interrupts. The program in
# the machine names itself when it fails.
TITLES = {SILENT: ("no output from test machine", "lost connection to test machine"),
          FAILED: ("SYZFAIL", "SYZFATAL")}

HARNESS = pathlib.Path(__file__).resolve().parents[2] / "harness"
# Of standard input: does the kernel complain of anything but data races of others?
COMPLAIN = '''. "$0/complaints.sh" || exit 2
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


def main():
    out = pathlib.Path(sys.argv[1])
    figures, found = statistics(out), crashes(out)
    executed, corpus = figures.get("exec total", 0), figures.get("corpus", 0)
    lines = [f"# programs={executed} in all, {corpus} in the corpus; "
             f"places in the code: {figures.get('coverage', 0)}", *crash_lines(found)]
    text = "\n".join(lines) + "\n"
    print(text, end="")
    (out / "report.txt").write_text(text, encoding="utf-8")
    return 0 if executed and corpus and not found[CRASH] else 1


if __name__ == "__main__":
    sys.exit(main())
