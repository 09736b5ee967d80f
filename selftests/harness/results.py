#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Rows of results: what each suite did on each kernel, and the page that has them in a table.

results.py row FILE KERNEL SANITIZER SUITE COMMIT SECONDS STATUS LOG [TAP]...
results.py show FILE...
results.py gather ROWS.json FILE...
results.py page PAGE.md ROWS.json
results.py check-page PAGE.md ROWS.json

row reads the test points as tap.py does, and adds up what the diagnostics in LOG call
operations=N, states=N or programs=N. show prints a table of rows. gather puts rows into one file; a
new row replaces an old one of its kernel, sanitizer and suite. page renders the table that stands
between two comments. check-page complains of a table that is not that one, of a row with a failure,
without a passed test point, of a changed tree or with too few operations, and of a row that is
missing.

A row has a digest of the module's code, without comments, spaces and the words of strings. The
table marks a row whose digest is not that of the module as it is.
"""

import fnmatch
import hashlib
import json
import pathlib
import re
import sys

import tap

BEGIN = "<!-- results: make results renders what follows -->\n"
END = "<!-- end of results -->\n"

DONE = re.compile(r"^ *# .*?\b(?:operations|states|programs)=(\d+)", re.MULTILINE)
HEADS = ("kernel", "sanitizer", "suite", "operations", "test points", "skipped",
         "failures", "minutes", "at")
ALIGNED = ("---",) * 3 + ("--:",) * 5 + ("---",)


# Of which kernels and sanitizers, by what their names begin with or have in them, there
# have to be which suites
REQUIRED = (
    ("6.1.*-cloud-amd64", "", "gcc clang kselftest torture fire"),
    ("6.1.*-rt-*", "", "gcc clang kselftest torture"),
    ("6.1.*-cloud-arm64", "", "gcc kselftest torture"),
    ("6.1.*-armmp-lpae", "", "gcc kselftest torture"),
    ("6.1.*-686-pae", "", "gcc kselftest torture"),
    ("6.1.*-s390x", "", "gcc kselftest torture"),
    ("6.12.*-cloud-amd64", "", "gcc clang kselftest torture fire"),
    ("6.12.*-cloud-arm64", "", "gcc kselftest torture"),
    ("6.12.*-arm64-16k", "", "gcc kselftest torture"),
    ("6.12.*-rt-*", "", "gcc clang kselftest torture"),
    ("7.3.*-cloud-amd64", "", "gcc kselftest torture"),
    ("7.3.* user-mode, SMP*", "", "gcc clang kselftest torture fire"),
    ("7.3.* user-mode, SMP*", "KASAN*", "wrong kselftest torture fire"),
    ("* SMP, PREEMPT", "KCSAN*", "wrong kselftest torture fire syzkaller"),
    ("* SMP, PREEMPT", "KASAN*", "syzkaller"),
    ("* SMP, PREEMPT", "fail-nth*", "faults"),
    ("* user-mode", "simulated time*", "kunit soak"),
    ("* user-mode, 32 bits", "simulated time*", "kunit"),
    ("* s390x", "lockdep*", "kunit"),
    ("models", "spin*", "model"),
    ("litmus tests", "herd7*", "litmus"),
    ("three nodes*", "", "chaos"),
)

# Which of them have to have how many operations
LEAST = (
    (("6.*-cloud-amd64", "", "fire"), 90_000_000),
    (("7.3.* user-mode, SMP*", "", "fire"), 90_000_000),
    (("7.3.* user-mode, SMP*", "KASAN*", "torture"), 14_000_000),
    (("* SMP, PREEMPT", "KCSAN*", "torture"), 3_000_000),
    (("* SMP, PREEMPT", "K?SAN*", "syzkaller"), 9_000),
    (("* user-mode", "simulated time*", "soak"), 100_000_000),
    (("three nodes*", "", "chaos"), 100_000),
)


# A string, which may look like a comment; a character, which may look like a string; a comment
TOKEN = re.compile(r"""("(?:\\.|[^"\\])*")|('(?:\\.|[^'\\])*')|/\*.*?\*/|//[^\n]*""", re.DOTALL)


class BadRows(Exception):
    """Rows or a page that break a rule"""


def code(text):
    """Returns a C text without comments and the words of strings."""
    return TOKEN.sub(lambda match: '""' if match[1] else match[2] or " ", text)


def digest(module="module"):
    """Returns the digest of the code in a folder."""
    whole = hashlib.sha256()
    for path in sorted(pathlib.Path(module).rglob("*.[ch]")):
        whole.update(" ".join(code(path.read_text()).split()).encode() + b"\0")
    return whole.hexdigest()[:16]


def operations(path):
    log = pathlib.Path(path)
    text = log.read_text(errors="replace") if log.is_file() else ""
    return sum(map(int, DONE.findall(text)))


def row(path, kernel, sanitizer, suite, commit, seconds, status, log, *taps):
    verdicts = [verdict for verdict, _ in tap.part(suite, status, *taps)]
    found = {"kernel": kernel, "sanitizer": sanitizer, "suite": suite, "commit": commit,
             "operations": operations(log), "seconds": int(seconds), "module": digest()}
    for verdict in (tap.PASSED, tap.FAILED, tap.SKIPPED):
        found[verdict] = verdicts.count(verdict)
    pathlib.Path(path).write_text(json.dumps(found) + "\n")


def key(found):
    return found["kernel"], found["sanitizer"], found["suite"]


def load(path):
    return json.loads(pathlib.Path(path).read_text())


def gather(path, *files):
    old = load(path) if pathlib.Path(path).exists() else []
    new = {key(found): found for found in (*old, *map(load, files))}
    rows = sorted(new.values(), key=key)
    lines = ",\n".join(map(json.dumps, rows))
    pathlib.Path(path).write_text(f"[\n{lines}\n]\n")


def at(found, current):
    commit = found.get("commit", "")
    return commit if found.get("module") == current else f"{commit}, older".lstrip(", ")


def cells(found, current):
    minutes = f"{found['seconds'] / 60:.1f}"
    done = f"{found['operations']:,}" if found["operations"] else ""
    return (found["kernel"], found["sanitizer"], found["suite"], done,
            f"{found['passed']:,}", str(found["skipped"]), str(found["failed"]), minutes,
            at(found, current))


def table(rows):
    current = digest()
    lines = [HEADS, ALIGNED, *(cells(found, current) for found in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def show(*files):
    print(table(map(load, files)), end="")


def render(text, rows):
    parts = re.split(f"({re.escape(BEGIN)}|{re.escape(END)})", text)
    if len(parts) != 5 or parts[1] != BEGIN or parts[3] != END:
        raise BadRows("the page does not have the two comments, once each")
    return parts[0] + BEGIN + "\n" + table(rows) + "\n" + END + parts[4]


def page(path, rows):
    file = pathlib.Path(path)
    file.write_text(render(file.read_text(), load(rows)))


def is_commit(name):
    """Not of a changed tree, nor one that git could not name"""
    return bool(re.fullmatch(r"[0-9a-f]{7,40}|.*-[0-9]+-g[0-9a-f]{7,40}", name))


def matches(found, wanted):
    return all(map(fnmatch.fnmatchcase, key(found), wanted))


def is_short(found):
    return any(matches(found, wanted) and found["operations"] < least for wanted, least in LEAST)


def missing(rows):
    """Returns the required rows that are not there."""
    return [wanted for *of, suites in REQUIRED for wanted in
            ((*of, suite) for suite in suites.split())
            if not any(matches(each, wanted) for each in rows)]


def check_page(path, rows):
    text, found = pathlib.Path(path).read_text(), load(rows)
    if render(text, found) != text:
        raise BadRows(f"{path}: is not what {rows} says; make results renders it")
    if failed := [key(each) for each in found if each["failed"]]:
        raise BadRows(f"{rows}: with failures: {failed}")
    if unknown := [key(each) for each in found if not is_commit(each.get("commit", ""))]:
        raise BadRows(f"{rows}: at no commit: {unknown}")
    if absent := missing(found):
        raise BadRows(f"{rows}: missing: {absent}")
    if short := [key(each) for each in found if is_short(each)]:
        raise BadRows(f"{rows}: too few operations: {short}")
    if empty := [key(each) for each in found if not each["passed"]]:
        raise BadRows(f"{rows}: where nothing passed: {empty}")


COMMANDS = {"row": row, "show": show, "gather": gather, "page": page,
            "check-page": check_page}


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in COMMANDS:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        COMMANDS[sys.argv[1]](*sys.argv[2:])
    except BadRows as wrong:
        print(wrong, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
