#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Which lines of module/ do all tests together reach?

coverage.py KUNIT OUT [ARCHIVE OBJECTS]...

KUNIT is the folder that kunit/coverage.py leaves, ARCHIVE one of counts.sh, and OBJECTS the folder
in which its module was built. Prints a table of the files, the lines that nothing has reached, each
with the reason that the file "unreached" gives, the lines that were left out as a build has no code
for them, the archives that have counters of other objects, and the folders and archives that were
counted; OUT gets this, too. Exits with 0 if LEAST percent were reached and each other line has a
reason.
"""

import itertools
import pathlib
import sys

import gcov

HERE = pathlib.Path(__file__).resolve().parent
LEAST = 97


def files(kunit, archives):
    """gcov's counts for the module's files, by KUnit's objects and each archive's; remarks"""
    told = [([*gcov.run(sorted(kunit.rglob("*.gcda")), kunit)], ""),
            *itertools.starmap(gcov.of_archive, archives)]
    return ([file for of_one, _ in told for file in of_one if gcov.name_in_module(file)],
            [remark for _, remark in told if remark])


def reasons(text):
    """A reason for each (file, function, text of a line)."""
    return {(f"module/{name}", function, code): reason
            for reason, place, code in gcov.reasons(text)
            for name, _, function in [place.partition(" ")]}


def together(counts):
    return {(name, number): count for name, lines in counts.items()
            for number, count in lines.items()}


def explain(lines, functions, known):
    """Each line with its reason, as (text, reason). Reasons that are used leave known."""
    used = set()
    for name, number, text in lines:
        place = name, functions[name].get(number, ""), text.strip()
        used.add(place)
        yield f"{name}:{number}:{text}", known.get(place, "")
    for place in used:
        known.pop(place, None)


def remarks(known):
    """Reasons that no line needed: the line was reached in this run, or is gone."""
    for name, function, code in known:
        yield f"{name} {function}: {code}  # not needed"


def verdict(lines, unknown):
    """The exit status, for how often each line was reached, and how many lines lack a reason"""
    return 0 if gcov.percent(lines) >= LEAST and not unknown else 1


def main():
    kunit, out, *rest = (pathlib.Path(path).resolve() for path in sys.argv[1:])
    archives = rest[::2]
    told, misfits = files(kunit, zip(archives, rest[1::2]))
    counts, out_of_it = gcov.count_lines(told)
    known = reasons((HERE / "unreached").read_text(encoding="utf-8"))
    unreached = [*explain(gcov.missed(counts, sorted(counts)), gcov.functions_of(told), known)]
    lines, unknown = together(counts), sum(not reason for _, reason in unreached)
    text = [*(gcov.row(*file) for file in sorted(counts.items())), "",
            *(f"{line}  # {reason or 'no reason is known'}" for line, reason in unreached), "",
            *remarks(known), "",
            *(f"{name}:{number}:{text}  # no code in a build in which its function ran"
              for name, number, text in gcov.texts(out_of_it)), "",
            *misfits,
            f"counts of {kunit}{''.join(f', {archive}' for archive in archives)}",
            f"{len(lines) - len(unreached)} of {len(lines)} lines covered, "
            f"{gcov.percent(lines):.1f} %; {unknown} of the others without a reason"]
    print("\n".join(text))
    out.write_text("\n".join(text) + "\n", encoding="utf-8")
    return verdict(lines, unknown)


if __name__ == "__main__":
    sys.exit(main())
