# SPDX-License-Identifier: GPL-2.0-only
"""Kselftests in a user-mode kernel judge a fault in the code behind system calls.

seen_by of a mutant names the tests that run then. A fault is caught if one of them fails, or if
the kernel complains or hangs.
"""

import itertools
import pathlib
import re
import sys

import module_job
import scratch
from console import complaint
from mutant import TOP, Result, Stale, put_into

FOLDERS = ("abi", "module", "stress")
# Targets that make does not build again for each fault
KEEP = ("-o", "_test_modules", "-o", "_test_programs")
TOOK = re.compile(r"^# (\S+) took (\d+) s$", re.MULTILINE)
BEGUN = re.compile(r"^# (\S+_test(?:\.sh)?)$")
FAILED = re.compile(r"^not ok \d+ (?:- )?(.*)")


def is_script(test):
    return test.endswith(".sh")


def sources_of(test):
    name = test if is_script(test) else f"{test}.c"
    return [path for folder in FOLDERS if (path := TOP / "selftests" / folder / name).exists()]


def check(mutant):
    if not mutant.seen_by or not all(map(sources_of, mutant.seen_by.split())):
        raise Stale(f"{mutant.name}: there is no such test: {mutant.seen_by}")


def programs_of(tests):
    """The variable for make that names the programs among the tests"""
    return f"TESTS={' '.join(test for test in tests if not is_script(test))}"


class Run(scratch.Run):
    start = "hwheel: init begins"
    end = "reboot: Power down"

    def __init__(self, *limits):
        super().__init__(*limits)
        self.begun = "start"

    def place(self):
        return self.begun

    def take(self, line):
        if match := BEGUN.match(line):
            self.begun = match[1]
        elif match := FAILED.match(line):
            self.catcher = f"{self.begun}: {match[1]}"
        elif what := complaint(line):
            self.catcher = f"{self.begun} ({what})"


class Job(module_job.Job):
    def __init__(self, number, seconds, silence):
        """Builds all tests that seconds names, as no fault changes them."""
        super().__init__(f"kselftest-{number}")
        self.seconds, self.silence = seconds, silence
        if not self.make("_test_modules") or not self.make("_test_programs", programs_of(seconds)):
            sys.exit(f"mutants: the kselftests do not build, see {self.output}")

    def run_tests(self, tests):
        """
        Within five times the time that they take alone and without a fault. Without programs the
        scripts run in full, and count the kernel's objects that are left. Returns whether all
        went well, and the run.
        """
        seconds = max(scratch.PATIENCE, 5 * sum(self.seconds[test] for test in tests))
        scripts = [pathlib.Path(test).stem for test in tests if is_script(test)]
        quick = "" if all(map(is_script, tests)) else "1"
        run = Run(seconds, self.silence)
        return self.make("_selftests", *KEEP, f"QUICK={quick}",
                         f"TIMEOUT={seconds + scratch.MARGIN}", programs_of(tests),
                         f"SCRIPTS={' '.join(scripts)}", run=run), run

    def test(self, tests):
        """Returns a verdict and what caught it."""
        if verdict := self.fails_to_build():
            return verdict, ""
        passed, run = self.run_tests(tests)
        return self.verdict(run, passed)

    def test_mutant(self, mutant):
        with put_into(mutant, self.top):
            return Result(mutant, *self.test(mutant.seen_by.split()))


def unmutated(job, tests):
    """The seconds that each test takes, once all have passed, and the longest time in which nothing
    was printed. Programs and scripts run apart."""
    seconds, gap = {}, 0
    for some in (list(group) for _, group in itertools.groupby(tests, is_script)):
        passed, run = job.run_tests(some)
        if not passed:
            sys.exit(f"mutants: kselftests do not pass without a fault, see {job.output}")
        took = TOOK.findall(job.output.read_text(encoding="utf-8"))
        seconds |= {test: int(number) for test, number in took}
        gap = max(gap, run.gap)
    print(f"  without a fault: {' '.join(tests)} pass, in {sum(seconds.values())} s, "
          f"{gap:.0f} s of them silent", flush=True)
    return seconds, gap


def jobs_for(mutants):
    tests = {test for mutant in mutants for test in mutant.seen_by.split()}
    first = Job(1, dict.fromkeys(tests, 600), 600)
    seconds, gap = unmutated(first, sorted(tests, key=lambda test: (is_script(test), test)))
    first.seconds, first.silence = seconds, scratch.longest_silence(gap)
    return [first, *(Job(i + 1, seconds, first.silence)
                     for i in range(1, scratch.jobs_wanted(mutants)))]


def results_of(mutants):
    with scratch.alone():
        yield from scratch.share_out(mutants, jobs_for(mutants))
