# SPDX-License-Identifier: GPL-2.0-only
"""What the litmus tests in selftests/models/litmus/ say of one of their lines."""

import functools
import pathlib
import re
import subprocess

TOP = pathlib.Path(__file__).resolve().parent.parent
TESTS = TOP / "selftests/models/litmus"


class NoLine(Exception):
    """No test has that line, with something that comes in its place."""


def line_of(where):
    """The test and the number of its line that "TEST P0: CODE" names."""
    test, thread, code = re.fullmatch(r"(\w+) (P\d): (.*)", where).groups()
    inside = ""
    text = (TESTS / f"{test}.litmus").read_text(encoding="utf-8")
    for number, line in enumerate(text.splitlines(), 1):
        inside = found[0] if (found := re.match(r"P\d", line)) else inside
        if inside == thread and re.match(rf"\s*{re.escape(code)} /\* (not|spare):", line):
            return test, number
    raise NoLine(f"{test}.litmus has no line {thread}: {code}")


@functools.cache
def source():
    """The kernel source, which has the memory model."""
    output = subprocess.run([TOP / "selftests/harness/setup.sh", "source"], check=True,
                            stdout=subprocess.PIPE, text=True).stdout
    return output.strip().partition("=")[2]


@functools.cache
def points(test):
    """The test points about the lines of a test: what each is, by its number."""
    output = subprocess.run([TOP / "selftests/models/litmus.sh", source(), test], check=False,
                            stdout=subprocess.PIPE, text=True).stdout
    return {int(number): kind for number, kind in
            re.findall(r"^ok \d+ - \w+: line (\d+) is (needed|spare)$", output, re.MULTILINE)}


def judge(where):
    """A verdict on what "TEST P0: CODE" stands for, and what it comes from."""
    test, number = line_of(where)
    if not points(test):
        return "not judged", "there is no herd7"
    kind = points(test).get(number, "")
    verdict = {"needed": "caught", "spare": "spare"}.get(kind, "survived")
    return verdict, f"litmus test {test}, line {number}"
