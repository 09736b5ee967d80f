# SPDX-License-Identifier: GPL-2.0-only
"""KUnit tests judge a fault: the scratch copy is built and tested by its kunit/run.sh.

A fault is caught if a test fails or the kernel complains, and its run ends there, or if a test
hangs with it. seen_by of a mutant is empty. From the environment:
  OPS      operations of the model test; default 100000
  SEED     where it starts; default 1
  TIMEOUT  seconds until a run counts as hung; default 60, or three times those of the run
           without a fault. A run that prints nothing for twenty seconds, or five
           times the longest such time without a fault, counts as hung as well
"""

import collections
import os
import re
import shutil
import signal
import sys

import scratch
from console import complaint
from mutant import Result, Stale, put_into, source_of

SETTINGS = {"OPS": "100000", "SEED": "1"}
NO_SUITE = "none"

# The suites that call inline functions of a header themselves, beside that of its own name;
# race_test includes what is tested. In all others a fault in a header changes nothing, as no
# fault changes a structure.
INLINE_SUITES = {"edge.h": {"slots_test"}, "fraction.h": {"slots_test", "stats_test"},
                 "gfp.h": {"alloc_test"}, "callback.h": {"contain_test"},
                 "file.h": {"mapping_test"},
                 "hwheel.h": {"cancel_sync_test", "due_test", "kinds_test", "model_test",
                              "netty_test", "stats_test", "table_test", "wheel_test"}}
ASKED_FOR = ("hwheel: a complaint is asked for", "hwheel: the complaint was asked for")
SUITE = re.compile(r"^    # Subtest: (\S+)")
CASE = re.compile(r"^    (not )?ok \d+ (\S+)")


def check(mutant):
    if mutant.seen_by:
        raise Stale(f"{mutant.name}: all of KUnit looks at it")


class Run(scratch.Run):
    start = "Starting KUnit Kernel"
    end = "reboot: System halted"
    # As one script builds and starts the kernel
    not_started = "does not build"

    def __init__(self, order, *limits):
        super().__init__(*limits)
        self.order = order
        self.asked_for = False
        self.begun = []
        self.passed = collections.defaultdict(list)

    def is_complete(self):
        return self.ended and all(self.passed[suite] == cases
                                  for suite, cases in self.order.items())

    def place(self):
        """Which case is running, if the order is known."""
        if not self.begun:
            return "boot"
        suite = self.begun[-1]
        cases = self.order.get(suite, [])
        at = len(self.passed[suite])
        return f"{suite}.{cases[at]}" if at < len(cases) else suite

    def take(self, line):
        if match := SUITE.match(line):
            self.begun.append(match[1])
        elif match := CASE.match(line):
            self.read_case(*match.groups())
        elif any(mark in line for mark in ASKED_FOR):
            self.asked_for = ASKED_FOR[0] in line
        elif what := not self.asked_for and complaint(line):
            self.catcher = f"{self.place()} ({what})"

    def read_case(self, failed, name):
        suite = self.begun[-1] if self.begun else ""
        if failed:
            self.catcher = f"{suite}.{name}"
        else:
            self.passed[suite].append(name)


class Job(scratch.Job):
    """A job with a number other than 0 has a build folder of its own."""

    # kunit.py ends its kernel when it is interrupted, and prints until then.
    stop_signal = signal.SIGINT

    def __init__(self, number, seconds, silence, order):
        super().__init__(str(number))
        self.limits = order, seconds, silence
        self.objects = self.top / "build/kunit"
        self.kept = self.top / "objects"
        self.env = {**SETTINGS,
                    **{name: value for name, value in os.environ.items() if value},
                    "TIMEOUT": f"{seconds + scratch.MARGIN:.0f}",
                    "RAW": "1", "HWHEEL_JOB": f"-mutants-{number}" if number else ""}

    def run_tests(self, suite=""):
        """Until they end or one fails. Returns whether all went well, and the run."""
        run = Run(*self.limits)
        return self.run([self.top / "kunit/run.sh"], {**self.env, "FILTER": suite}, run), run

    def test(self):
        """Returns a verdict and what caught it."""
        passed, run = self.run_tests()
        return self.verdict(run, passed and run.is_complete())

    def keep_objects(self):
        """Keeps the objects without a fault, once."""
        if not self.kept.exists():
            self.run_tests(NO_SUITE)
            shutil.copytree(self.objects, self.kept)

    def restore_objects(self):
        """The objects get their times back, so that make compiles the next fault alone."""
        folder = self.objects.resolve()
        shutil.rmtree(folder)
        shutil.copytree(self.kept, folder)

    def spare_objects(self, header):
        """Makes the objects of suites that call nothing of the header as new as its fault."""
        needed = {"race_test", f"{header.stem}_test"} | INLINE_SUITES.get(header.name, set())
        for path in self.objects.resolve().glob("kunit/*/*_test.o"):
            if path.stem not in needed:
                os.utime(path)

    def test_mutant(self, mutant):
        """Leaves all as it was, also the times of the files."""
        self.keep_objects()
        path = source_of(mutant, self.top)
        times = path.stat()
        try:
            with put_into(mutant, self.top):
                if path.suffix == ".h":
                    self.spare_objects(path)
                return Result(mutant, *self.test())
        finally:
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
            self.restore_objects()


def unmutated():
    """The order of all cases, once they have passed, the seconds that they took, and the
    longest time in which nothing was printed."""
    job = Job(0, 600, 600, {})
    passed, run = job.run_tests()
    if not passed or not run.is_complete():
        sys.exit(f"mutants: KUnit does not pass without a fault, see {job.output}")
    count, seconds = sum(map(len, run.passed.values())), run.heard - run.started
    print(f"  without a fault: {count} test cases pass, in {seconds:.0f} s, "
          f"{run.gap:.0f} s of them silent", flush=True)
    return run.passed, seconds, run.gap


def results_of(mutants):
    with scratch.alone():
        order, took, gap = unmutated()
        seconds = int(os.environ.get("TIMEOUT") or max(scratch.PATIENCE, 3 * took))
        jobs = [Job(i + 1, seconds, scratch.longest_silence(gap), order)
                for i in range(scratch.jobs_wanted(mutants))]
        yield from scratch.share_out(mutants, jobs)
