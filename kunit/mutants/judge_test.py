#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the verdicts, with lines as kernels and litmus.sh print them."""

import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import kselftest
import kunit
import litmus
import scratch
from console import complaint
from mutant import Mutant, Result, Stale

ORDER = {"hwheel_a": ["first", "second"]}
BOOT = "Starting KUnit Kernel (1/1)..."
PASSES = [BOOT, "    # Subtest: hwheel_a", "    ok 1 first", "    ok 2 second",
          "reboot: System halted"]
STARTS = ["make: built", "hwheel: init begins", "# some_test"]
ENDS = "[   10.370000] reboot: Power down"


def heard(run, lines):
    for line in lines:
        run.read(line + "\n")
    return run


def of_kunit(lines, passed):
    run = heard(kunit.Run(ORDER), lines)
    return run.verdict(passed and run.is_complete())


def of_kselftest(lines, passed):
    return heard(kselftest.Run(), lines).verdict(passed)


class ComplaintTest(unittest.TestCase):
    def test_of_the_kernel(self):
        for words in ("WARNING: CPU: 0 PID: 1 at a.c:1", "BUG: KASAN: use-after-free in arm",
                      "kernel BUG at a.c:1!", "Oops: 0000", "Kernel panic - not syncing: x",
                      "INFO: task x:1 blocked for more than 60 seconds",
                      "INFO: rcu_sched self-detected stall on CPU", "UBSAN: shift in a.c",
                      "kmemleak: 3 new suspected memory leaks"):
            self.assertEqual(complaint(words), words)
            self.assertEqual(complaint(f"[    1.230000] {words}"), words)
            self.assertEqual(complaint(f"# RUN[    1.230000][  T12] {words}"), words)

    def test_of_programs(self):
        self.assertIsNone(complaint("ok 1 - no WARNING: is printed"))


class BuildTest(unittest.TestCase):
    def test_has_no_kernel(self):
        run = heard(scratch.Run(), ["make: built", BOOT])
        self.assertFalse(run.started or run.hangs())


class KUnitTest(unittest.TestCase):
    def test_passes(self):
        self.assertEqual(of_kunit(PASSES, True), ("survived", ""))

    def test_failure(self):
        self.assertEqual(of_kunit([*PASSES[:3], "    not ok 2 second"], False),
                         ("caught", "hwheel_a.second"))

    def test_complaint(self):
        self.assertEqual(of_kunit([*PASSES[:3], "WARNING: x"], False),
                         ("caught", "hwheel_a.second (WARNING: x)"))

    def test_complaint_that_is_asked_for(self):
        asked = ["hwheel: a complaint is asked for", "WARNING: x",
                 "hwheel: the complaint was asked for"]
        self.assertEqual(of_kunit([*PASSES[:3], *asked, *PASSES[3:]], True), ("survived", ""))

    def test_case_that_is_missing(self):
        self.assertEqual(of_kunit([*PASSES[:3], PASSES[-1]], True),
                         ("caught", "the end of the run"))

    def test_kernel_that_is_gone_without_a_fault(self):
        self.assertFalse(heard(kunit.Run({}), PASSES[:3]).is_complete())
        self.assertTrue(heard(kunit.Run({}), PASSES).is_complete())

    def test_kernel_that_is_gone(self):
        self.assertEqual(of_kunit(PASSES[:3], False), ("broke off", "hwheel_a.second"))

    def test_no_start(self):
        self.assertEqual(of_kunit(["cc: failed"], False), ("does not build", ""))

    def test_words_before_the_start(self):
        self.assertFalse(heard(kunit.Run(ORDER), ["WARNING: x", "not ok 1 x"]).catcher)


class KselftestTest(unittest.TestCase):
    def test_passes(self):
        self.assertEqual(of_kselftest([*STARTS, "ok 1 - a", ENDS], True), ("survived", ""))

    def test_failure(self):
        self.assertEqual(of_kselftest([*STARTS, "not ok 1 - a"], False), ("caught", "some_test: a"))

    def test_complaint(self):
        self.assertEqual(of_kselftest([*STARTS, "[    1.230000] BUG: x"], False),
                         ("caught", "some_test (BUG: x)"))

    def test_test_that_leaves_points_out(self):
        self.assertEqual(of_kselftest([*STARTS, ENDS], False), ("caught", "the end of the run"))

    def test_no_start(self):
        self.assertEqual(of_kselftest(["make: built", "BUG: x"], False), ("does not start", ""))

    def test_kernel_that_is_gone(self):
        self.assertEqual(of_kselftest(STARTS, False), ("broke off", "some_test"))


class HungTest(unittest.TestCase):
    def run_shell(self, script, *limits):
        """A job without a copy of the project runs a script as if it were the tests."""
        with tempfile.TemporaryDirectory(prefix="judge_test") as folder, \
             unittest.mock.patch("scratch.copy_project", lambda top: top.mkdir()), \
             unittest.mock.patch("scratch.SCRATCH", scratch.pathlib.Path(folder)):
            run = kselftest.Run(*limits)
            passed = scratch.Job("job").run(["bash", "-c", script], None, run)
            return run.verdict(passed)

    def test_silence(self):
        script = "printf 'hwheel: init begins\n# a_test\n'; exec tail -f /dev/null"
        self.assertEqual(self.run_shell(script, 1000, 0.1), ("caught", "a_test hangs"))

    def test_no_end(self):
        script = "printf 'hwheel: init begins\n# a_test\n'; exec tail -f /dev/null"
        self.assertEqual(self.run_shell(script, 0.1, 1000), ("caught", "a_test hangs"))

    def test_flood(self):
        script = "printf 'hwheel: init begins\n# a_test\n'; yes"
        with unittest.mock.patch("scratch.LINES", 100):
            self.assertEqual(self.run_shell(script, 1000, 1000),
                             ("caught", "a_test prints without end"))

    def test_killed(self):
        script = "printf 'hwheel: init begins\n# a_test\n'; kill -KILL $$"
        self.assertEqual(self.run_shell(script, 1000, 1000), ("broke off", "a_test"))

    def test_silence_behind_the_end(self):
        self.assertTrue(heard(kselftest.Run(-1, -1), STARTS).hangs())
        self.assertFalse(heard(kselftest.Run(-1, -1), [*STARTS, ENDS]).hangs())

    def test_build_may_be_silent(self):
        self.assertFalse(heard(kselftest.Run(-1, -1), ["make: built"]).hangs())


class LitmusTest(unittest.TestCase):
    def judge(self, output):
        with unittest.mock.patch("litmus.output_of", lambda _: output), \
             unittest.mock.patch("litmus.line_of", lambda _: ("a", 7)):
            return litmus.judge("a P0: smp_mb();")[0]

    def test_verdicts(self):
        never = "ok 1 - a: never\n"
        self.assertEqual(self.judge(f"{never}ok 2 - a: line 7 is needed\n"), "caught")
        self.assertEqual(self.judge(f"{never}ok 2 - a: line 7 is spare\n"), "spare")
        self.assertEqual(self.judge(f"{never}not ok 2 - a: line 7 is needed\n"), "survived")
        self.assertEqual(self.judge("not ok 1 - a: never\nok 2 - a: line 7 is needed\n"),
                         "not judged")
        self.assertEqual(self.judge("ok 1 - litmus tests # SKIP there is no herd7\n"),
                         "not judged")

    def test_reason_judges_nothing(self):
        mutant = Mutant("x", "engine/worker.c", "smp_mb", "", "the lock has an order of its own")
        self.assertEqual(litmus.verdict_on(mutant),
                         Result(mutant, "no model", "the lock has an order of its own"))

    def test_reason_is_no_misspelt_line(self):
        for text in ("", "map_kick P0 smp_mb();"):
            with self.assertRaisesRegex(Stale, "neither a line of a litmus test nor a reason"):
                litmus.check(Mutant("x", "engine/worker.c", "smp_mb();", "", text))

    def test_fault_that_leaves_the_call(self):
        for old, new in (("smp_mb();", "smp_mb();\nbarrier();"), ("xchg(a, 1);", "xchg(a, 2);")):
            with self.assertRaisesRegex(Stale, "leaves each call"):
                litmus.check(Mutant("x", "engine/worker.c", old, new, "a reason"))
        litmus.check(Mutant("x", "engine/worker.c", "xchg(a, 1);", "xchg_release(a, 1);", "why"))

    def test_mutant_that_keeps_one_of_two_calls(self):
        mutant = Mutant("x", "engine/worker.c", "smp_mb();\nxchg(a, 1);", "smp_mb();")
        self.assertEqual([litmus.takes(mutant, call, mutant.old)
                          for call in litmus.ORDERS.finditer(mutant.old)], [False, True])

    def test_call_without_a_mutant(self):
        with self.assertRaisesRegex(Stale, r"no mutant takes the order of \w+\(\) away"):
            litmus.check_calls([Mutant("x", "engine/worker.c", "smp_mb", "")])


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
