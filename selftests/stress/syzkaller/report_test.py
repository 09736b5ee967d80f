#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Tests of report.py, with a folder as run.sh leaves it."""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

REPORT = pathlib.Path(__file__).with_name("report.py")

RACE = """BUG: KCSAN: data-race in kfree / other

write to 0xffff888004a81e40 of 8 bytes by task 10 on cpu 0:
 kfree+0x11/0x20
 vfs_read+0x13/0x90
 hwheel_far+0x13/0x90 [hwheel]

read to 0xffff888004a81e40 of 8 bytes by task 11 on cpu 1:
 vfs_write+0x11/0x20
 {}
"""


class ReportTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="report_test"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.out = self.folder / "out"
        self.out.mkdir()

    def bench(self, *records):
        """syzkaller appends a record each minute, without a separator."""
        (self.out / "bench").write_text("\n".join(json.dumps(record, indent=1)
                                                  for record in records), encoding="utf-8")

    def crash(self, title, logs, report=""):
        folder = self.out / "work/crashes" / title.replace(" ", "_").replace("/", "_")
        folder.mkdir(parents=True)
        (folder / "report0").write_text(report, encoding="utf-8")
        (folder / "description").write_text(title + "\n", encoding="utf-8")
        for i in range(logs):
            (folder / f"log{i}").touch()

    def report(self):
        """Returns the status, and what was printed, which report.txt has, too."""
        result = subprocess.run([sys.executable, "-B", REPORT, self.out],
                                stdout=subprocess.PIPE, text=True, check=False)
        self.assertEqual(result.stdout, (self.out / "report.txt").read_text(encoding="utf-8"))
        return result.returncode, result.stdout

    def test_last_record_counts(self):
        self.bench({"exec total": 1, "corpus": 1}, {"exec total": 300, "corpus": 20,
                                                    "coverage": 4000})
        status, text = self.report()
        self.assertEqual(status, 0)
        self.assertIn("# programs=300 in all, 20 in the corpus; places in the code: 4000", text)
        self.assertIn("crashes: 0", text)

    def test_crash_fails(self):
        self.bench({"exec total": 300, "corpus": 20})
        self.crash("KASAN: use-after-free Read in arm", 3)
        status, text = self.report()
        self.assertEqual(status, 1)
        self.assertIn("crashes: 1\n  KASAN: use-after-free Read in arm, logs: 3\n", text)

    def test_race_of_the_module_fails(self):
        self.bench({"exec total": 300, "corpus": 20})
        self.crash("KCSAN: data-race in kfree / arm", 1, RACE.format("arm+0x10/0x20 [hwheel]"))
        self.assertEqual(self.report()[0], 1)

    def expect_race_of_others(self, report):
        self.bench({"exec total": 300, "corpus": 20})
        self.crash("KCSAN: data-race in one / another", 2, report)
        status, text = self.report()
        self.assertEqual(status, 0)
        self.assertIn("crashes: 0\nraces of the kernel with itself: 1\n", text)

    def test_race_of_others_is_no_crash(self):
        self.expect_race_of_others(RACE.format("kmalloc+0x10/0x20"))

    def test_known_race_is_no_crash(self):
        report = RACE.replace("kfree / other", "ktime_get_mono_fast_ns / tick")
        self.expect_race_of_others(report.format("arm+0x10/0x20 [hwheel]"))

    def test_panic_of_a_race_is_no_crash(self):
        panic = "Kernel panic - not syncing: KCSAN: panic_on_warn set ...\nCall Trace:\n"
        self.expect_race_of_others(RACE.format("kmalloc+0x10/0x20") + panic)

    def test_warning_besides_a_race_fails(self):
        self.bench({"exec total": 300, "corpus": 20})
        self.crash("KCSAN: data-race in kfree / kmalloc", 1,
                   RACE.format("kmalloc+0x10/0x20") + "WARNING: CPU: 1 PID: 10 at a.c:7\n")
        self.assertEqual(self.report()[0], 1)

    def test_failure_of_the_executor_is_listed(self):
        self.bench({"exec total": 300, "corpus": 20})
        self.crash("SYZFAIL: mmap of data segment failed", 1)
        self.assertIn("failures of syzkaller's own program: 1\n", self.report()[1])

    def test_silence_is_no_crash(self):
        self.bench({"exec total": 300, "corpus": 20})
        self.crash("no output from test machine", 1)
        status, text = self.report()
        self.assertEqual(status, 0)
        self.assertIn("crashes: 0\nmachines that fell silent: 1\n", text)

    def test_nothing_executed_fails(self):
        self.assertEqual(self.report()[0], 1)

    def test_nothing_learned_fails(self):
        self.bench({"exec total": 300, "corpus": 0})
        self.assertEqual(self.report()[0], 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
