#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Gathers the TAP and KTAP of several parts into one and counts its test points.

tap.py --out FILE --part NAME STATUS [TAP]... --part ...

STATUS is what the part's command exited with. A part without a TAP file is one
test point by itself. Subtests are counted, not their sums.
Each missing thing counts as a failure: a file, a plan, points that the plan
promised, a reason for a status that is not 0.
"""

import argparse
import re
import sys

PLAN = re.compile(r"^( *)1\.\.(\d+)\s*(#.*)?$")
POINT = re.compile(r"^( *)(ok|not ok)\b *(\d+)?(?: *-)? *([^#]*?)\s*(?:#\s*(.*))?$")
NOT_RUN = ("SKIP", "XFAIL")

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


class Block:
    """The test points of one level, and the plan they were announced with."""

    def __init__(self, indent):
        self.indent = indent
        self.plan = None
        self.numbers = []
        self.points = []

    def fail(self, why):
        self.points.append((FAILED, why))

    def add_plan(self, count, remark):
        if self.plan is not None:
            self.fail("a second plan")
        self.plan = count
        if count == 0 and remark.upper().startswith("# SKIP"):
            self.points.append((SKIPPED, "all of it"))

    def add(self, point, number):
        self.points.append(point)
        self.count(number)

    def count(self, number):
        self.numbers.append(number or len(self.numbers) + 1)

    def close(self):
        """Subtests may come without a plan: their parent's point ends them."""
        seen = len(self.numbers)
        if self.plan is None and self.indent == 0:
            self.fail("no plan")
        elif self.plan is not None and self.plan != seen:
            self.fail(f"{self.plan} points planned, {seen} seen")
        elif self.numbers != list(range(1, seen + 1)):
            self.fail("points are not numbered 1, 2, 3...")
        if not self.points:
            self.fail("no test point")
        return self.points


def verdict_of(word, remark):
    if word != "ok":
        return FAILED
    return SKIPPED if remark.upper().startswith(NOT_RUN) else PASSED


def under(name, points):
    return [(verdict, f"{name}: {what}") for verdict, what in points]


class Reader:
    """Reads one TAP text, line by line."""

    def __init__(self):
        self.stack = [Block(0)]

    def block(self, indent):
        if self.stack[-1].indent < indent:
            self.stack.append(Block(indent))
        return self.stack[-1]

    def close_deeper(self, indent):
        """Ends the levels below indent; returns the points of the first one."""
        points = []
        while self.stack[-1].indent > indent:
            if points:
                self.stack[-1].points += points
                self.stack[-1].fail("a subtest has no result")
            points = self.stack.pop().close()
        return points

    def point(self, indent, word, number, name, remark):
        children = self.close_deeper(indent)
        block = self.block(indent)
        verdict = verdict_of(word, remark)
        if not children:
            block.add((verdict, name), number)
            return
        block.points += under(name, children)
        block.count(number)
        if verdict == FAILED and not any(c[0] == FAILED for c in children):
            block.fail(name)

    def line(self, text):
        if match := PLAN.match(text):
            indent = len(match[1])
            self.block(indent).add_plan(int(match[2]), match[3] or "")
        elif match := POINT.match(text):
            number = int(match[3]) if match[3] else None
            self.point(len(match[1]), match[2], number, match[4], match[5] or "")
        elif text.startswith("Bail out!"):
            self.stack[0].fail(text)

    def finish(self):
        if orphans := self.close_deeper(0):
            self.stack[0].points += orphans
            self.stack[0].fail("it ended within a subtest")
        return self.stack[0].close()


def read(text):
    """Returns the test points of a TAP text as a list of (verdict, name)."""
    reader = Reader()
    for line in text.splitlines():
        reader.line(line)
    return reader.finish()


def read_file(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return read(file.read())
    except OSError as error:
        return [(FAILED, error.strerror)]


def part(name, status, *paths):
    points = []
    for path in paths:
        title = path.rsplit("/", 1)[-1].removesuffix(".tap")
        points += under(title, read_file(path)) if len(paths) > 1 else read_file(path)
    failed = any(point[0] == FAILED for point in points)
    if int(status) != 0 and not failed:
        points.append((FAILED, f"ended with status {status}"))
    elif not paths:
        points.append((PASSED, "ended with status 0"))
    return under(name, points)


def write(path, points):
    with open(path, "w", encoding="utf-8") as file:
        print("TAP version 13", f"1..{len(points)}", sep="\n", file=file)
        for number, (verdict, name) in enumerate(points, 1):
            word = "not ok" if verdict == FAILED else "ok"
            skip = " # SKIP" if verdict == SKIPPED else ""
            print(f"{word} {number} - {name}{skip}", file=file)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True)
    parser.add_argument("--part", nargs="+", action="append", required=True)
    args = parser.parse_args()

    points = [point for words in args.part for point in part(*words)]
    write(args.out, points)
    for name in (name for verdict, name in points if verdict == FAILED):
        print(f"failed: {name}")
    count = {v: sum(p[0] == v for p in points) for v in (PASSED, FAILED, SKIPPED)}
    print(", ".join(f"{count[v]} {v}" for v in count))
    return 1 if count[FAILED] or not count[PASSED] else 0


if __name__ == "__main__":
    sys.exit(main())
