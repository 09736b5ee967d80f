# SPDX-License-Identifier: GPL-2.0-only
"""Scratch copies of the project, in which faults are tested side by side."""

import concurrent.futures
import contextlib
import fcntl
import functools
import math
import os
import pathlib
import queue
import shutil
import signal
import subprocess
import threading
import time

from mutant import TOP

CACHE = pathlib.Path(os.environ.get("HWHEEL_CACHE") or
                     os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")) + "/hwheel")
SCRATCH = CACHE / "mutants"
# Seconds: so long a run, and a silence, may be at the least
PATIENCE = 60
SILENCE = 20
# How long after that the run's own limit ends it
MARGIN = 30
# A fault may make the kernel print without end.
LINES = 200000
PARTS = ("Kbuild", "Makefile", "module", "kunit", "selftests")


def longest_silence(gap):
    """Seconds that a run with a fault may print nothing, if one without was silent for gap."""
    return max(SILENCE, 5 * gap)


def copy_project(top):
    """The copies get the present time, as objects of an earlier run may be younger."""
    shutil.rmtree(top, ignore_errors=True)
    for part in PARTS:
        source, target = TOP / part, top / part
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, copy_function=shutil.copy)
        else:
            shutil.copy(source, target)


class Run:
    """
    The lines of a run so far, of which start and end tell that the kernel starts and ends: those
    before are the build's, and all if there is no start. A kernel that has started hangs if it
    prints nothing for silence seconds, or if it has not ended after so many seconds.
    """

    start = end = ""
    not_started = "does not start"

    def __init__(self, seconds=math.inf, silence=math.inf):
        self.seconds, self.silence = seconds, silence
        self.started = self.heard = self.gap = 0
        self.hung = self.ended = False
        self.catcher = ""

    def hear(self):
        """Keeps the longest time in which nothing was printed."""
        now = time.monotonic()
        self.started = self.started or now
        self.gap = max(self.gap, now - (self.heard or now))
        self.heard = now

    def read(self, line):
        if self.started or self.start and self.start in line:
            self.hear()
            self.take(line)
            self.ended |= self.end in line

    def hangs(self):
        now = time.monotonic()
        self.hung = bool(self.started) and not self.ended and (
            now - self.heard > self.silence or now - self.started > self.seconds)
        return self.hung

    def verdict(self, passed):
        """
        Returns a verdict and its reason. A kernel that neither hung nor came to its end says
        nothing of the fault: something else may have ended it.
        """
        if not self.started:
            return self.not_started, ""
        if self.catcher:
            return "caught", self.catcher
        if passed:
            return "survived", ""
        if self.hung:
            return "caught", f"{self.place()} hangs"
        if self.ended:
            return "caught", "the end of the run"
        return "broke off", self.place()


class Job:
    """A scratch copy of the project, and the process that builds and tests it."""

    stop_signal = signal.SIGTERM

    def __init__(self, name):
        self.top = SCRATCH / name
        self.output = self.top / "output.txt"
        self.process = None
        self.given_up = False
        copy_project(self.top)

    def stop(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, self.stop_signal)

    def verdict(self, run, passed):
        return ("given up", "") if self.given_up else run.verdict(passed)

    def give_up(self):
        self.given_up = True
        if self.process and self.process.poll() is None:
            self.stop()

    def stop_if_hung(self, run, ended):
        while not ended.wait(0.5):
            if run.hangs():
                self.stop()
                return

    def run(self, command, env, run):
        """Stops the command once the run has caught something. Returns whether it succeeded."""
        if self.given_up:
            return False
        ended = threading.Event()
        watch = threading.Thread(target=self.stop_if_hung, args=(run, ended), daemon=True)
        watch.start()
        try:
            return self.read_all(command, env, run)
        finally:
            ended.set()
            watch.join()

    def read_lines(self, output, run):
        """Lines that come once the run has caught something do not count."""
        for number, line in enumerate(self.process.stdout):
            if number < LINES:
                output.write(line)
            if run.catcher:
                continue
            run.read(line)
            if number == LINES:
                run.catcher = f"{run.place()} prints without end"
            if run.catcher:
                self.stop()

    def read_all(self, command, env, run):
        with open(self.output, "w", encoding="utf-8") as output, \
             subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, encoding="utf-8", errors="replace",
                              start_new_session=True, env=env) as self.process:
            try:
                self.read_lines(output, run)
            except BaseException:
                self.stop()
                raise
            return self.process.wait() == 0


@contextlib.contextmanager
def alone():
    """All checkouts share the scratch copies."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / "mutants.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def jobs_wanted(mutants):
    jobs = int(os.environ.get("JOBS") or len(os.sched_getaffinity(0)))
    return max(1, min(jobs, len(mutants)))


def in_one_of(idle, mutant):
    job = idle.get()
    try:
        return job.test_mutant(mutant)
    finally:
        idle.put(job)


def share_out(mutants, jobs):
    """Results in the table's order, each as soon as it and those before it are known."""
    idle = queue.SimpleQueue()
    for job in jobs:
        idle.put(job)
    with concurrent.futures.ThreadPoolExecutor(len(jobs)) as pool:
        try:
            yield from pool.map(functools.partial(in_one_of, idle), mutants)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for job in jobs:
                job.give_up()
            raise
