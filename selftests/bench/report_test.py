#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Tests of report.py: what it reads, compares and judges."""

import contextlib
import io
import json
import os
import tempfile
import unittest

import report

KEYS = ("metric", "impl", "n", "unit", "value")


def line(metric, impl="hwheel", n=report.N, unit="instructions", value=100):
    return json.dumps(dict(zip(KEYS, (metric, impl, n, unit, value))))


class ReportTest(unittest.TestCase):
    def file(self, *lines):
        with tempfile.NamedTemporaryFile("w", delete=False, suffix=".json") as file:
            print(*lines, sep="\n", file=file)
        self.addCleanup(os.unlink, file.name)
        return file.name

    def said(self, command, *paths):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            command(*paths)
        return out.getvalue()

    def test_shows_peers_beside_hwheel(self):
        text = self.said(report.show, self.file(
            '{"kernel": "6.1"}', line("op.arm", value=98.0), line("op.arm", "timer_list", value=245)))
        self.assertIn('{"kernel": "6.1"}', text)
        self.assertIn("| op.arm | 100,000 | instructions | 98 | 245 (2.50) |", text)

    def test_judges_what_was_measured(self):
        text = self.said(report.show, self.file(line("op.arm", value=111),
                                                line("op.arm_at", value=60)))
        self.assertIn("| arm: instructions | 110 | 111 | MISSED |", text)
        self.assertIn("| arm, absolute: instructions | 60 | 60 | met |", text)
        self.assertNotIn("hrtimer's", text)

    def test_refuses_what_is_not_a_measurement(self):
        for text in (line("op.arm") + "\n" + line("op.arm"), line("op.arm", value="9"),
                     '{"metric": "op.arm"}', line("op.arm")[:-9]):
            with self.assertRaises((KeyError, ValueError)):
                report.Rows(self.file(text))

    def test_a_rise_of_instructions_fails(self):
        base = self.file(line("op.arm"), line("ns.arm", unit="ns"), line("op.gone"))
        self.assertIn("0 of 1", self.said(report.compare, base, self.file(
            line("op.arm", value=103), line("ns.arm", unit="ns", value=900))))
        with self.assertRaises(ValueError):
            self.said(report.compare, base, self.file(line("op.arm", value=103.1)))

    def test_nothing_in_common_fails(self):
        with self.assertRaises(ValueError):
            self.said(report.compare, self.file(line("op.arm")), self.file(line("op.drop")))


if __name__ == "__main__":
    unittest.main()
