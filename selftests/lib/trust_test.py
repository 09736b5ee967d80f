#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Tests of trust.py: no row tells more than was done, no table more than the rows."""

import json
import pathlib
import tempfile
import unittest

import trust

TAP = "TAP version 13\n1..3\nok 1 - arms\nok 2 - maps # SKIP no memory\n{third} 3 - ends\n"
LOG = "# fuzz: operations=1000\n#   states=234\n[ 1.0] torture: operations=9\noperations=9\n"
README = "before\n" + trust.BEGIN + "{table}" + trust.END + "behind\n"


class Rows(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.tap, self.log = self.put("tap", TAP.format(third="ok")), self.put("log", LOG)

    def put(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return str(path)

    def row(self, name="row", kernel="6.1", suite="torture", status="0", log=None, taps=None):
        path = str(self.folder / name)
        log = self.log if log is None else log
        trust.row(path, kernel, "", suite, "abc", "90", status, log,
                  *([self.tap] if taps is None else taps))
        return path

    def read(self, path):
        return json.loads(pathlib.Path(path).read_text())

    def test_counts_points_and_operations(self):
        found = self.read(self.row())
        self.assertEqual((2, 0, 1, 1234), (found["passed"], found["failed"],
                                           found["skipped"], found["operations"]))

    def test_a_log_that_is_missing_tells_of_no_operation(self):
        self.assertEqual(0, self.read(self.row(log=str(self.folder / "none")))["operations"])
        self.assertEqual(0, self.read(self.row(log=""))["operations"])

    def test_failures_are_told(self):
        self.put("tap", TAP.format(third="not ok"))
        self.assertEqual(1, self.read(self.row())["failed"])

    def test_a_tap_that_is_missing_is_a_failure(self):
        self.assertEqual(1, self.read(self.row(taps=[str(self.folder / "none")]))["failed"])

    def test_a_status_is_a_failure(self):
        self.assertEqual(1, self.read(self.row(status="2", taps=[]))["failed"])
        self.assertEqual(1, self.read(self.row(status="2"))["failed"])

    def gather(self, *rows):
        path = str(self.folder / "rows.json")
        trust.gather(path, *rows)
        return path

    def test_rows_of_before_are_gone(self):
        self.gather(self.row("a"), self.row("b", kernel="6.12"))
        rows = self.read(self.gather(self.row("c", status="1")))
        self.assertEqual([("6.1", 1)], [(each["kernel"], each["failed"]) for each in rows])

    def test_the_table_is_rendered(self):
        rows, readme = self.gather(self.row()), self.put("README", README.format(table="old\n"))
        trust.readme(readme, rows)
        text = pathlib.Path(readme).read_text()
        self.assertIn("| 6.1 |  | torture | 1,234 | 2 | 1 | 0 | 1.5 | abc |", text)
        self.assertTrue(text.startswith("before\n") and text.endswith("behind\n"))
        self.assertNotIn("old", text)
        trust.check_readme(readme, rows)

    def test_another_table_is_refused(self):
        rows, readme = self.gather(self.row()), self.put("README", README.format(table="old\n"))
        with self.assertRaises(trust.BadRows):
            trust.check_readme(readme, rows)

    def test_failures_are_refused(self):
        rows = self.gather(self.row(status="1"))
        readme = self.put("README", README.format(table=""))
        trust.readme(readme, rows)
        with self.assertRaises(trust.BadRows):
            trust.check_readme(readme, rows)

    def test_rows_of_nothing_are_refused(self):
        self.put("tap", "TAP version 13\n1..1\nok 1 - maps # SKIP no memory\n")
        rows = self.gather(self.row())
        readme = self.put("README", README.format(table=""))
        trust.readme(readme, rows)
        with self.assertRaises(trust.BadRows):
            trust.check_readme(readme, rows)

    def test_a_readme_without_the_comments_is_refused(self):
        with self.assertRaises(trust.BadRows):
            trust.render("nothing", [])


if __name__ == "__main__":
    unittest.main()
