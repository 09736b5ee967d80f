# SPDX-License-Identifier: GPL-2.0-only
"""Measurements: read from the folders of a run, and kept as JSON.

Each measurement is a line "bench METRIC IMPL N UNIT VALUE": of what, by whom, with how
many timeouts, in which unit, how much. Other lines of the same files are facts about the
run, "WORD ANYTHING"; "check ten_nops 10" among them is how many instructions the virtual
machine counted for ten. Each folder with numbers of instructions needs that fact.
"""

import json
import math
import os
import re

METRIC = re.compile(r"[a-z]+\.[a-z0-9_]+")
IMPL = re.compile(r"[a-z_]+")
UNIT = re.compile(r"[a-z0-9/]+")
FIELDS = ("metric", "impl", "n", "unit", "value")


class BadResults(Exception):
    """Results that are missing, not understood, or not to be trusted"""


class Results:
    """Measurements, found by metric, implementation and number of timeouts"""

    def __init__(self):
        self.rows = {}

    def add(self, metric, impl, n, unit, value):
        """In which order they were added is kept."""
        key = (metric, impl, n)
        if not (is_like(METRIC, metric) and is_like(IMPL, impl) and is_like(UNIT, unit) and
                is_number(n) and n == int(n) and n >= 0 and is_number(value)):
            raise BadResults(f"not a measurement: {metric} {impl} {n} {unit} {value}")
        if key in self.rows:
            raise BadResults(f"measured twice: {metric} {impl} {n}")
        self.rows[key] = (unit, value)

    def replace(self, others):
        """Each measurement of others in the place of the one before, or at the end"""
        self.rows.update(others.rows)

    def value(self, metric, impl, n):
        """None if that was not measured"""
        return self.rows.get((metric, impl, n), (None, None))[1]

    def unit(self, metric):
        return next((unit for key, (unit, _) in self.rows.items() if key[0] == metric), None)

    def metrics(self, impl, group=""):
        """Names that begin with group, in the order in which they were measured"""
        return list(dict.fromkeys(key[0] for key in self.rows
                                  if key[1] == impl and key[0].startswith(group)))

    def numbers(self, metric, impl):
        """With how many timeouts was it measured?"""
        return sorted(key[2] for key in self.rows if key[:2] == (metric, impl))

    def __iter__(self):
        for (metric, impl, n), (unit, value) in self.rows.items():
            yield dict(zip(FIELDS, (metric, impl, n, unit, value)))


def is_like(pattern, value):
    return isinstance(value, str) and bool(pattern.fullmatch(value))


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and \
        math.isfinite(value)


def number(text):
    """Whole numbers stay whole."""
    return int(text) if re.fullmatch(r"[0-9]+", text) else float(text)


def read_line(line, results, about):
    words = line.split(" ")
    if words[0] != "bench":
        about[words[0]] = line[len(words[0]) + 1:]
        return
    try:
        metric, impl, n, unit, value = words[1:]
        results.add(metric, impl, number(n), unit, number(value))
    except ValueError:
        raise BadResults(f"not a measurement: {line}") from None


def read_folder(folder, results):
    """Returns the facts. The console of the virtual machine is there, too."""
    about = {}
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if name == "console.log" or not os.path.isfile(path):
            continue
        with open(path, encoding="ascii") as file:
            for line in file.read().splitlines():
                read_line(line, results, about)
    return about


def check_counting(folder, rows, about):
    """Were instructions counted, if the folder's rows say that they were?"""
    check = about.get("check")
    if check is None and any(row["unit"] == "instructions" for row in rows):
        raise BadResults(f"nothing in {folder} tells whether instructions were counted")
    if check not in (None, "ten_nops 10"):
        raise BadResults(f"instructions were not counted: {check}")


def read_folders(folders):
    """Returns the measurements of all, and the facts by folder."""
    results, abouts = Results(), {}
    for folder in folders:
        before = len(results.rows)
        try:
            about = read_folder(folder, results)
        except (OSError, UnicodeDecodeError) as error:
            raise BadResults(str(error)) from None
        check_counting(folder, list(results)[before:], about)
        abouts[os.path.basename(os.path.normpath(folder))] = about
    if not results.rows:
        raise BadResults("nothing was measured")
    return results, abouts


def read_json(path):
    results = Results()
    try:
        with open(path, encoding="ascii") as file:
            for row in json.load(file):
                results.add(*(row[field] for field in FIELDS))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadResults(f"{path}: {error!r}") from None
    return results


def write_json(path, value):
    """One line for each entry of a list, so that versions can be compared"""
    with open(path, "w", encoding="ascii") as file:
        if isinstance(value, list):
            file.write("[\n" + ",\n".join(json.dumps(row) for row in value) + "\n]\n")
        else:
            json.dump(value, file, indent=2)
            file.write("\n")
