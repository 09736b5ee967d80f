# SPDX-License-Identifier: GPL-2.0-only
"""What gcov says of objects of the module whose lines a kernel has counted."""

import collections
import itertools
import json
import operator
import pathlib
import shutil
import subprocess

TOP = pathlib.Path(__file__).resolve().parents[2]


def run(counters, folder):
    """A dict for each source file of each object; beside the counters are the compiler's notes."""
    output = subprocess.run(["gcov", "--json-format", "--stdout", *counters], cwd=folder,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True,
                            text=True).stdout
    for line in output.splitlines():
        yield from json.loads(line)["files"]


def unpack(archive, objects, folder):
    """The counters of the objects in an archive of counts.sh, each beside its notes."""
    subprocess.run(["tar", "-xf", archive, "-C", folder], check=True)
    for counters in sorted(folder.rglob("*.gcda")):
        _, found, name = str(counters).partition(f"/{objects.name}/")
        notes = (objects / name).with_suffix(".gcno")
        if found and notes.exists():
            shutil.copy(notes, counters.with_suffix(".gcno"))
            yield counters


def of_archive(archive, objects):
    """
    As run(), of the module that was built in the folder objects. Counts of objects that were built
    again since are left out.
    """
    folder = archive.with_suffix("")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    if counters := [*unpack(archive, objects, folder)]:
        yield from run(counters, folder)


def fits(files):
    """gcov counts nothing where counts and objects are of two builds."""
    return any(line["count"] for file in files for line in file["lines"])


def name_in_module(file):
    """The file's name below module/, or an empty one."""
    _, found, name = file["file"].rpartition("/module/")
    return name if found else ""


def bare_lines(file):
    """Lines in functions that ran, for which the compiler has made no code of their own."""
    own = {line["line_number"] for line in file["lines"]}
    for function in file["functions"]:
        if function["execution_count"]:
            yield from set(range(function["start_line"], function["end_line"] + 1)) - own


def left_out(counts, bare):
    """
    Lines that have code in one build only, as a declaration that is cleared: they were not reached,
    and their function ran in a build without code for them.
    """
    return [(name, number) for name, lines in sorted(counts.items())
            for number in sorted(bare[name]) if lines.get(number) == 0]


def count_lines(files):
    """
    How often each line of each file below module/ was reached, in all objects together; and which
    lines were left out.
    """
    counts, bare = (collections.defaultdict(collections.Counter) for _ in range(2))
    for file in files:
        name = name_in_module(file)
        if name and (TOP / "module" / name).exists():
            for line in file["lines"]:
                counts[f"module/{name}"][line["line_number"]] += line["count"]
            bare[f"module/{name}"].update(bare_lines(file))
    out = left_out(counts, bare)
    for name, number in out:
        del counts[name][number]
    return counts, out


def functions_of(files):
    """The function of each line of each file below module/, as the compiler tells."""
    names = collections.defaultdict(dict)
    for file in files:
        for function in file["functions"]:
            lines = range(function["start_line"], function["end_line"] + 1)
            names[f"module/{name_in_module(file)}"].update(dict.fromkeys(lines, function["name"]))
    return names


def reasons(text):
    """
    The lines with a tab of a list, as (reason, place, rest). Each such line is "PLACE: REST", and
    belongs to the reason above.
    """
    reason = ""
    for line in text.splitlines():
        if line.startswith("\t"):
            place, _, rest = line.strip().partition(": ")
            yield reason, place, rest
        elif not line.startswith("#"):
            reason = line.rstrip(":")


def percent(lines):
    return 100 * sum(count > 0 for count in lines.values()) / len(lines)


def row(name, lines):
    """A line of the table of files"""
    covered = sum(count > 0 for count in lines.values())
    return f"{name:31} {len(lines):5} lines {covered:5} covered {percent(lines):6.1f} %"


def texts(places):
    """Each line, given as file and number, as file, number and text"""
    for name, group in itertools.groupby(places, key=operator.itemgetter(0)):
        text = (TOP / name).read_text(encoding="utf-8").splitlines()
        yield from ((name, number, text[number - 1]) for _, number in group)


def missed(counts, names):
    """As texts(), of each line that was not reached."""
    return texts((name, number) for name in names
                 for number in sorted(number for number, count in counts[name].items()
                                      if not count))
