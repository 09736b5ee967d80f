# SPDX-License-Identifier: GPL-2.0-only
"""Scratch copies of the project, in which faults are tested side by side."""

import concurrent.futures
import contextlib
import fcntl
import functools
import os
import pathlib
import queue
import shutil

from mutant import TOP

CACHE = pathlib.Path(os.environ.get("HWHEEL_CACHE") or
                     os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")) + "/hwheel")
SCRATCH = CACHE / "mutants"
PARTS = ("Kbuild", "Makefile", "module", "kunit", "selftests")


def copy_project(top):
    """With the times of now, as objects of an earlier run may be younger than the sources."""
    shutil.rmtree(top, ignore_errors=True)
    for part in PARTS:
        source, target = TOP / part, top / part
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, copy_function=shutil.copy)
        else:
            shutil.copy(source, target)


@contextlib.contextmanager
def alone():
    """All checkouts share the scratch copies."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / "mutants.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def jobs_for(mutants):
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
