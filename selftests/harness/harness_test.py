#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The table of tests, and how results are read."""
import glob
import os
import re
import sys
import unittest

import ktap
import machines
import table

ROWS = table.read("selftests/harness/tests")
READER = ktap.Reader(os.environ["KSRC"])


def names_of(kind):
    return {row.name for row in ROWS if row.kind == kind}


def verdicts(text, status=0):
    return [verdict for verdict, _ in READER.points(text, status)]


class TableTest(unittest.TestCase):
    def test_each_program_is_in_it_and_as_a_32_bit_one(self):
        found = {os.path.basename(path)[:-2] for path in glob.glob("selftests/*/*_test.c")}
        self.assertEqual(names_of("kselftest"),
                         found | {f"{name}_32" for name in found - {"uring_test"}})

    def test_each_script_is_in_it(self):
        paths = glob.glob("selftests/module/*_test.sh") + glob.glob("selftests/stress/*_test.sh")
        self.assertEqual(names_of("script") & {os.path.basename(path)[:-3] for path in paths},
                         {os.path.basename(path)[:-3] for path in paths})

    def test_each_suite_is_in_it(self):
        suites = set()
        for path in glob.glob("kunit/**/*_test.c", recursive=True):
            with open(path, encoding="utf-8") as file:
                suites |= set(re.findall(r"\.name\s*=\s*\"(hwheel_\w+)\"", file.read()))
        self.assertEqual(names_of("kunit"), suites)

    def test_each_test_in_python_is_named(self):
        with open("selftests/harness/tests", encoding="utf-8") as file:
            text = file.read()
        for folder in "selftests", "tools", "kunit":
            for path in glob.glob(f"{folder}/**/*_test.py", recursive=True):
                self.assertTrue(path in text, path)

    def test_a_set_has_the_smaller_ones(self):
        quick, check, every = (table.of_set(ROWS, name) for name in ("quick", "check", "all"))
        self.assertTrue(set(quick) < set(check) < set(every))
        self.assertFalse([row.name for row in every if row.set == "hand"])

    def test_a_name_that_nothing_has_is_refused(self):
        with self.assertRaises(ValueError):
            table.named(ROWS, "no_such_test")

    def test_a_glob_and_a_machine_choose(self):
        self.assertEqual([row.name for row in table.named(ROWS, "kasan:fuzz*")],
                         ["kasan:fuzz_test"])
        self.assertEqual([row.name for row in table.named(ROWS, "vm:torture_test")],
                         ["torture_test"])

    def test_an_argument_of_bounded_runs(self):
        random, rounds = (table.parse(f"a script vm check 1 - NOBODY_SETS{sign}5 6\n")
                          for sign in ("=", ":="))
        self.assertEqual([random.argument(bound) for bound in (2, 1, 0)], ["5 6", "5 6", ""])
        self.assertEqual([rounds.argument(bound) for bound in (2, 1, 0)], ["5 6", "", ""])

    def test_an_unknown_machine_gets_all_tests_of_the_vm(self):
        self.assertEqual({machines.plain(row) for row in table.of_machine(ROWS, "newest")},
                         {row.name for row in ROWS if row.machine == "vm" and row.set != "hand"})


class ResultsTest(unittest.TestCase):
    def test_a_plan_may_come_last(self):
        text = "TAP version 13\nok 1 - a\nnot ok 2 - b\nok 3 - c # SKIP why\n1..3\n"
        self.assertEqual(READER.points(text, 1), [(ktap.PASSED, "a"), (ktap.FAILED, "b"),
                                                  (ktap.SKIPPED, "c")])

    def test_a_point_without_a_name(self):
        self.assertEqual(verdicts("TAP version 13\n1..1\nok 1 # SKIP why\n"), [ktap.SKIPPED])

    def test_what_is_missing_fails(self):
        for text in ("", "TAP version 13\n", "TAP version 13\nok 1 - a\n",
                     "TAP version 13\n1..2\nok 1 - a\n", "TAP version 13\n1..2\nok 1 - a\nok 3 - b\n"):
            self.assertIn(ktap.FAILED, verdicts(text), text)

    def test_a_status_fails(self):
        text = "TAP version 13\n1..1\nok 1 - a\n"
        self.assertEqual(verdicts(text), [ktap.PASSED])
        self.assertIn(ktap.FAILED, verdicts(text, 1))

    def test_subtests_are_counted_and_not_their_sums(self):
        text = "KTAP version 1\n1..1\n    KTAP version 1\n    1..2\n    ok 1 a\n    ok 2 b\nok 1 s\n"
        self.assertEqual(READER.suites(text)["s"], [(ktap.PASSED, "a"), (ktap.PASSED, "b")])


if __name__ == "__main__":
    sys.exit(unittest.main())
