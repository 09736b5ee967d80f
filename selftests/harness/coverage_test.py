#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Tests of coverage.py: which lines a reason explains, which reasons none needs, the verdict."""

import unittest

import coverage

UNREACHED = """# A comment

An allocation fails:
	device/a.c grow: return -ENOMEM;
	device/a.c widen: return -ENOMEM;

The compiler counts it apart:
	engine/b.c run: }
"""
FUNCTIONS = {"module/device/a.c": {7: "grow", 17: "shrink"}, "module/engine/b.c": {3: "run"}}


class CoverageTest(unittest.TestCase):
    def setUp(self):
        self.known = coverage.reasons(UNREACHED)

    def explain(self, *lines):
        return dict(coverage.explain(lines, FUNCTIONS, self.known))

    def test_line_of_the_function_is_explained(self):
        self.assertEqual(self.explain(("module/device/a.c", 7, "\t\treturn -ENOMEM;")),
                         {"module/device/a.c:7:\t\treturn -ENOMEM;": "An allocation fails"})

    def test_same_line_of_another_function_is_not(self):
        self.assertEqual(self.explain(("module/device/a.c", 17, "\treturn -ENOMEM;")),
                         {"module/device/a.c:17:\treturn -ENOMEM;": ""})

    def test_same_line_of_no_function_is_not(self):
        self.assertEqual(self.explain(("module/device/a.c", 99, "\treturn -ENOMEM;")),
                         {"module/device/a.c:99:\treturn -ENOMEM;": ""})

    def test_reason_explains_several_lines(self):
        found = self.explain(("module/engine/b.c", 3, "}"), ("module/engine/b.c", 3, "\t}"))
        self.assertEqual([*found.values()], ["The compiler counts it apart"] * 2)

    def test_what_no_line_needed_is_remarked(self):
        self.explain(("module/device/a.c", 7, "return -ENOMEM;"))
        self.assertEqual([*coverage.remarks(self.known)],
                         ["module/device/a.c widen: return -ENOMEM;  # not needed",
                          "module/engine/b.c run: }  # not needed"])

    def test_verdict(self):
        enough, few = ({n: int(n < reached) for n in range(100)}
                       for reached in (coverage.LEAST, coverage.LEAST - 1))
        self.assertEqual([coverage.verdict(enough, 0), coverage.verdict(enough, 1),
                          coverage.verdict(few, 0)], [0, 1, 1])


if __name__ == "__main__":
    unittest.main(verbosity=2)
