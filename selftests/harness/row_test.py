#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A row has no more than was done."""

import pathlib
import tempfile
import unittest

import row

TAP = "TAP version 13\n1..3\nok 1 - arms\nok 2 - maps # SKIP no memory\n{third} 3 - ends\n"
LOG = "# fuzz: operations=1000\n#   states=234\n[ 1.0] torture: operations=9\noperations=9\n"


class RowTest(unittest.TestCase):
    def row(self, third="ok", status="0", log=LOG):
        with tempfile.TemporaryDirectory() as folder:
            points, text = pathlib.Path(folder, "tap"), pathlib.Path(folder, "log")
            points.write_text(TAP.format(third=third))
            text.write_text(log)
            return row.row("6.1", "KASAN", "torture", "abc", "90", status, text, str(points))

    def test_counts_points_and_operations(self):
        self.assertEqual(self.row(), "| 6.1 | KASAN | torture | 1,234 | 2 | 1 | 0 | 1.5 | abc |")

    def test_counts_failures(self):
        self.assertIn("| 1 | 1 | 1 |", self.row(third="not ok"))
        self.assertIn("| 2 | 1 | 1 |", self.row(status="1"))

    def test_without_a_log_nothing_was_done(self):
        self.assertIn("| 0 | 1 | 0 | 0 |",
                      row.row("6.1", "", "gcc", "abc", "9", "0", "/nonexistent"))


if __name__ == "__main__":
    unittest.main()
