# SPDX-License-Identifier: GPL-2.0-only
"""The results of tests, read with the kernel's own reader of KTAP, and written as KTAP."""
import importlib
import re
import sys

PLAN = re.compile(r"1\.\.\d+\b")
NAMELESS = re.compile(r"(ok \d+) # ")

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


class Reader:
    """The parser lies in an unpacked kernel source."""

    def __init__(self, ksrc):
        sys.path.insert(0, f"{ksrc}/tools/testing/kunit")
        self.parser = importlib.import_module("kunit_parser")
        # It prints what it reads.
        self.parser.stdout.print = lambda message: None

    def test(self, text):
        return self.parser.parse_test(self.parser.extract_tap_lines(in_order(text)), 0, [], False)

    def points(self, text, status):
        """The test points of a text as (verdict, name), and one for each thing that is wrong"""
        test = self.test(text)
        points = list(self.leaves(test, ""))
        if test.expected_count is None:
            points.append((FAILED, "the results have no plan"))
        elif test.counts.errors:
            points.append((FAILED, f"the results have {test.counts.errors} errors of form"))
        if status and all(verdict != FAILED for verdict, _ in points):
            points.append((FAILED, f"status {status}"))
        return points

    def suites(self, text):
        """The points of each suite of KUnit"""
        return {test.name: list(self.leaves(test, "")) for test in self.test(text).subtests}

    def leaves(self, test, within):
        for child in test.subtests:
            name = f"{within}{child.name}"
            if child.subtests:
                yield from self.leaves(child, f"{name}: ")
                continue
            status = self.parser.TestStatus
            yield ({status.SUCCESS: PASSED, status.SKIPPED: SKIPPED}.get(child.status, FAILED), name)


def in_order(text):
    """As the reader wants it: with the plan first, which scripts print last, and points with names"""
    lines = [NAMELESS.sub(r"\1 - # ", line) for line in text.splitlines()]
    plans = [line for line in lines if PLAN.match(line)]
    rest = [line for line in lines if not PLAN.match(line)]
    if not rest or not rest[0].startswith(("TAP version", "KTAP version")):
        rest = ["TAP version 13"] + [line for line in rest if "TAP version" not in line]
    return [rest[0], *plans[:1], *rest[1:]]


def count(points, verdict):
    return sum(found == verdict for found, _ in points)


def summary(points):
    return ", ".join(f"{count(points, verdict)} {verdict}" for verdict in (PASSED, FAILED, SKIPPED))


def write(path, results):
    """results: a list of (name, points)"""
    with open(path, "w", encoding="utf-8") as file:
        print(f"KTAP version 1\n1..{len(results)}", file=file)
        for number, (name, points) in enumerate(results, 1):
            print(f"    KTAP version 1\n    # Subtest: {name}\n    1..{len(points)}", file=file)
            for index, (verdict, point) in enumerate(points, 1):
                print(f"    {'not ok' if verdict == FAILED else 'ok'} {index} {point}"
                      f"{' # SKIP' if verdict == SKIPPED else ''}", file=file)
            print(f"{'not ok' if count(points, FAILED) else 'ok'} {number} {name}", file=file)
