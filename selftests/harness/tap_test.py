#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Tests of tap.py: what passes, and above all what must not."""

import collections
import pathlib
import subprocess
import sys
import tempfile
import unittest

import tap

KUNIT = """KTAP version 1
1..2
    KTAP version 1
    # Subtest: slots
    # module: hwheel
    1..2
    ok 1 files_far
        KTAP version 1
        # Subtest: wraps
        ok 1 small
        ok 2 large # SKIP no memory
    # wraps: pass:1 fail:0 skip:1 total:2
    ok 2 wraps
# slots: pass:2 fail:0 skip:1 total:3
ok 1 slots
    KTAP version 1
    # Subtest: timeout
    1..1
    {timeout} 1 cancels
{suite} 2 timeout
"""


def counts(text):
    found = collections.Counter(verdict for verdict, _ in tap.read(text))
    return found[tap.PASSED], found[tap.FAILED], found[tap.SKIPPED]


class ReadTest(unittest.TestCase):
    def check(self, text, *expected):
        self.assertEqual(counts(text), expected)

    def test_flat(self):
        self.check("TAP version 13\n1..2\nok 1 a\nok 2 - b\n", 2, 0, 0)

    def test_failure(self):
        self.check("1..2\nok 1 a\nnot ok 2 b\n", 1, 1, 0)

    def test_skip_is_not_a_pass(self):
        self.check("1..3\nok 1 a # SKIP no\nok 2 # skip b\nok 3 c # XFAIL d\n", 0, 0, 3)

    def test_failed_skip_is_a_failure(self):
        self.check("1..1\nnot ok 1 a # SKIP no\n", 0, 1, 0)

    def test_all_skipped(self):
        self.check("1..0 # SKIP no device\n", 0, 0, 1)

    def test_empty(self):
        self.check("", 0, 1, 0)

    def test_empty_plan(self):
        self.check("1..0\n", 0, 1, 0)

    def test_no_plan(self):
        self.check("ok 1 a\n", 1, 1, 0)

    def test_died_early(self):
        self.check("1..3\nok 1 a\n", 1, 1, 0)

    def test_more_than_planned(self):
        self.check("1..1\nok 1 a\nok 2 b\n", 2, 1, 0)

    def test_number_twice(self):
        self.check("1..2\nok 1 a\nok 1 a\n", 2, 1, 0)

    def test_two_plans(self):
        self.check("1..1\nok 1 a\n1..1\n", 1, 1, 0)

    def test_bail_out(self):
        self.check("1..1\nok 1 a\nBail out! no memory\n", 1, 1, 0)

    def test_diagnostics_do_not_count(self):
        self.check("1..1\n# ok 1 no\nokay 7\nnot okay\nok 1 a\n", 1, 0, 0)

    def test_leaves_are_counted(self):
        self.check(KUNIT.format(timeout="ok", suite="ok"), 3, 0, 1)

    def test_failed_leaf_counts_once(self):
        self.check(KUNIT.format(timeout="not ok", suite="not ok"), 2, 1, 1)

    def test_failed_leaf_under_passed_parent(self):
        self.check(KUNIT.format(timeout="not ok", suite="ok"), 2, 1, 1)

    def test_failed_parent_of_passed_leaves(self):
        self.check(KUNIT.format(timeout="ok", suite="not ok"), 3, 1, 1)

    def test_subtest_died_early(self):
        self.check("1..1\n    1..2\n    ok 1 a\nok 1 s\n", 1, 1, 0)

    def test_ended_within_subtest(self):
        text = KUNIT.format(timeout="ok", suite="ok").rsplit("ok 2", 1)[0]
        passed, failed, _ = counts(text)
        self.assertEqual(passed, 3)
        self.assertGreater(failed, 0)

    def test_subtest_without_result(self):
        text = "1..1\n    1..1\n        ok 1 a\nok 1 s\n"
        self.assertGreater(counts(text)[1], 0)


class MainTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.good = self.folder / "good.tap"
        self.good.write_text("1..1\nok 1 a\n")

    def run_parts(self, *parts):
        """Returns the exit status and the last line."""
        words = [str(word) for part in parts for word in ("--part", *part)]
        done = subprocess.run(
            [sys.executable, tap.__file__, "--out", self.folder / "all.tap", *words],
            stdout=subprocess.PIPE, text=True, check=False)
        return done.returncode, done.stdout.splitlines()[-1]

    def test_files_and_commands(self):
        result = self.run_parts(("a", 0, self.good), ("b", 0))
        self.assertEqual(result, (0, "2 passed, 0 failed, 0 skipped"))

    def test_command_failed(self):
        result = self.run_parts(("a", 0, self.good), ("b", 2))
        self.assertEqual(result, (1, "1 passed, 1 failed, 0 skipped"))

    def test_status_without_failed_point(self):
        result = self.run_parts(("a", 1, self.good))
        self.assertEqual(result, (1, "1 passed, 1 failed, 0 skipped"))

    def test_missing_file(self):
        result = self.run_parts(("a", 0, self.good, self.folder / "none.tap"))
        self.assertEqual(result, (1, "1 passed, 1 failed, 0 skipped"))

    def test_nothing_passed(self):
        skipped = self.folder / "skipped.tap"
        skipped.write_text("1..0 # SKIP no\n")
        result = self.run_parts(("a", 0, skipped))
        self.assertEqual(result, (1, "0 passed, 0 failed, 1 skipped"))

    def test_gathered_points_read_back(self):
        self.run_parts(("a", 0, self.good), ("b", 1))
        found = tap.read((self.folder / "all.tap").read_text())
        self.assertEqual([verdict for verdict, _ in found], [tap.PASSED, tap.FAILED])


if __name__ == "__main__":
    unittest.main()
