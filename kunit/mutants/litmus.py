# SPDX-License-Identifier: GPL-2.0-only
"""Litmus tests judge a fault in a barrier, by one of the lines in selftests/models/litmus/.

seen_by of a mutant is that line, as "TEST P0: CODE", or the reason why none is needed. The fault
is caught if the outcome that must never happen does happen without that line, and spare if
another barrier keeps the order.
"""

import functools
import re
import subprocess

from mutant import TOP, Result, Stale

TESTS = TOP / "selftests/models/litmus"


def line_of(where):
    """The test and the number of its line that "TEST P0: CODE" names."""
    test, thread, code = re.fullmatch(r"(\w+) (P\d): (.*)", where).groups()
    inside = ""
    text = (TESTS / f"{test}.litmus").read_text(encoding="utf-8")
    for number, line in enumerate(text.splitlines(), 1):
        inside = found[0] if (found := re.match(r"P\d", line)) else inside
        if inside == thread and re.match(rf"\s*{re.escape(code)} /\* (not|spare):", line):
            return test, number
    raise Stale(f"{test}.litmus has no line {thread}: {code}")


@functools.cache
def source():
    """The kernel source, which has the memory model."""
    output = subprocess.run([TOP / "selftests/harness/setup.sh", "source"], check=True,
                            stdout=subprocess.PIPE, text=True).stdout
    return output.strip().partition("=")[2]


@functools.cache
def output_of(test):
    return subprocess.run([TOP / "selftests/models/litmus.sh", source(), test], check=False,
                          stdout=subprocess.PIPE, text=True).stdout


def points(test):
    """The test points about the lines of a test: what each is, by its number."""
    return {int(number): kind for number, kind in
            re.findall(r"^ok \d+ - \w+: line (\d+) is (needed|spare)$", output_of(test),
                       re.MULTILINE)}


def judge(where):
    """A verdict on what "TEST P0: CODE" stands for, and what it comes from."""
    test, number = line_of(where)
    if skipped := re.search(r"# SKIP (.*)", output_of(test)):
        return "not judged", skipped[1]
    kind = points(test).get(number, "")
    verdict = {"needed": "caught", "spare": "spare"}.get(kind, "survived")
    return verdict, f"litmus test {test}, line {number}"


def has_line(mutant):
    return re.match(r"\w+ P\d: ", mutant.seen_by)


def check(mutant):
    if has_line(mutant):
        line_of(mutant.seen_by)
    elif not mutant.seen_by:
        raise Stale(f"{mutant.name}: neither a line of a litmus test nor a reason")


def results_of(mutants):
    for mutant in mutants:
        verdict = judge(mutant.seen_by) if has_line(mutant) else ("spare", mutant.seen_by)
        yield Result(mutant, *verdict)
