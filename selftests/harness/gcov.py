# SPDX-License-Identifier: GPL-2.0-only
"""gcov's counts for objects of the module that ran in a kernel."""

import collections
import itertools
import json
import operator
import pathlib
import shutil
import subprocess

TOP = pathlib.Path(__file__).resolve().parents[2]
# Counters and notes begin with their kind, a version, and the stamp of their build.
STAMP = slice(8, 12)


def run(counters, folder):
    """A dict for each source file of each object; beside the counters are the compiler's notes."""
    output = subprocess.run(["gcov", "--json-format", "--stdout", *counters], cwd=folder,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True,
                            text=True).stdout
    for line in output.splitlines():
        yield from json.loads(line)["files"]


def unpack(archive, objects, folder):
    """The counters in an archive of counts.sh, each with the notes of its object."""
    subprocess.run(["tar", "-xf", archive, "-C", folder], check=True)
    for counters in sorted(folder.rglob("*.gcda")):
        _, found, name = str(counters).partition(f"/{objects.name}/")
        if found:
            yield counters, (objects / name).with_suffix(".gcno")


def put_beside(counters, notes):
    """gcov wants the compiler's notes beside the kernel's counters."""
    shutil.copy(notes, counters.with_suffix(".gcno"))
    return counters


def fit(counters, notes):
    """Whether they are of one build, as each has a stamp; gcov fails if they are of two."""
    return notes.exists() and counters.read_bytes()[STAMP] == notes.read_bytes()[STAMP]


def of_archive(archive, objects):
    """
    As run(), of the module that was built in the folder objects; and a remark if there are no
    counters of it, or some that are left out, as their object was built again since.
    """
    folder = archive.with_suffix("")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    pairs = [*unpack(archive, objects, folder)]
    fitting = [pair for pair in pairs if fit(*pair)]
    files = [*run(itertools.starmap(put_beside, fitting), folder)] if fitting else []
    remark = f"{archive}: {len(fitting)} of {len(pairs)} counters fit the objects"
    return files, "" if pairs and fitting == pairs else remark


def name_in_module(file):
    """The file's name below module/, or an empty one."""
    _, found, name = file["file"].rpartition("/module/")
    return name if found else ""


def lines_that_ran(file):
    """The numbers of all lines of the functions that ran."""
    return {number for function in file["functions"] if function["execution_count"]
            for number in range(function["start_line"], function["end_line"] + 1)}


def left_out(counts, bare):
    """
    Lines that have code only in builds in which their function did not run, as a declaration that
    is cleared; it ran in others.
    """
    return [(name, number) for name, lines in sorted(counts.items())
            for number in sorted(bare[name]) if lines.get(number) == 0]


def count_lines(files):
    """
    How often each line of each file below module/ was reached, in all objects together; and which
    lines were left out.
    """
    counts, bare, coded = (collections.defaultdict(kind)
                           for kind in (collections.Counter, set, set))
    for file in files:
        path = f"module/{name_in_module(file)}"
        if path != "module/" and (TOP / path).exists():
            ran, own = lines_that_ran(file), {line["line_number"] for line in file["lines"]}
            for line in file["lines"]:
                counts[path][line["line_number"]] += line["count"]
            bare[path] |= ran - own
            coded[path] |= ran & own
    out = left_out(counts, {path: bare[path] - coded[path] for path in counts})
    for path, number in out:
        del counts[path][number]
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
