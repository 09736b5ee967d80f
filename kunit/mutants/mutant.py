# SPDX-License-Identifier: GPL-2.0-only
"""A fault: a replacement of text in one file of the module, and the verdict on it."""

import collections
import contextlib
import pathlib

TOP = pathlib.Path(__file__).resolve().parents[2]

# "seen_by" tells the judge which tests are to notice the fault: see the judges.
Mutant = collections.namedtuple("Mutant", "name file old new seen_by", defaults=("",))
Result = collections.namedtuple("Result", "mutant verdict catcher")


class Stale(Exception):
    """A table does not fit the module, or the tests, any more."""


def source_of(mutant, top=TOP):
    return top / "module" / mutant.file


def mutate(mutant, text):
    if text.count(mutant.old) != 1:
        raise Stale(f"{mutant.name}: found {text.count(mutant.old)} times in "
                    f"module/{mutant.file}:\n{mutant.old}")
    return text.replace(mutant.old, mutant.new)


@contextlib.contextmanager
def put_into(mutant, top):
    """The project in the folder top has the fault meanwhile."""
    path = source_of(mutant, top)
    text = path.read_text(encoding="utf-8")
    path.write_text(mutate(mutant, text), encoding="utf-8")
    try:
        yield
    finally:
        path.write_text(text, encoding="utf-8")
