# SPDX-License-Identifier: GPL-2.0-only
"""Litmus tests judge a fault in a barrier, by one of the lines in selftests/models/litmus/.

seen_by of a mutant is that line, as "TEST P0: CODE", or the reason why there is none. The fault
is caught if the outcome that must never happen does happen without that line, and spare if
another barrier, a lock or a dependency keeps the order. Nothing judges one that has a reason: it
gets the verdict "no model". Each call in module/ that ORDERS names has a mutant that takes it away,
and with which the module has to build.
"""

import collections
import functools
import re
import subprocess
import sys

import module_job
import scratch
from mutant import TOP, Result, Stale, put_into, source_of

TESTS = TOP / "selftests/models/litmus"
# Barriers, atomic operations, RCU sections (each without preemption is one) and calls of llist.h
# that order others, but no locks and completions; comments name functions without arguments, and
# without a semicolon
ORDERS = re.compile(r"\b(smp_\w*mb\w*|smp_load_acquire|smp_store_release|synchronize_rcu|"
                    r"(\w+_)?(cmp)?xchg(_acquire|_release)?|rcu_read_lock_sched|preempt_disable|"
                    r"set_current_state|\w+_read_acquire|\w+_set_release|"
                    r"atomic\w*_fetch_\w+(?<!_relaxed)|atomic\w+_return|atomic\w+_unless|"
                    r"refcount_dec_and_test|test_and_set_bit|clear_bit_unlock|wq_has_sleeper|"
                    r"llist_add|llist_del_all)\(([^)]|\);)")


def line_of(where):
    """The test and the number of its line that "TEST P0: CODE" names."""
    test, thread, code = re.fullmatch(r"(\w+) (P\d): (.*)", where).groups()
    inside = ""
    text = (TESTS / f"{test}.litmus").read_text(encoding="utf-8")
    for number, line in enumerate(text.splitlines(), 1):
        inside = found[0] if (found := re.match(r"P\d", line)) else inside
        if inside == thread and re.match(rf"\s*{re.escape(code)} /\* (not|spare):", line):
            return test, number
    raise Stale(f"{test}.litmus has no line {thread}: {code}")


def calls_in(text):
    return collections.Counter(call[1] for call in ORDERS.finditer(text))


def part_of(mutant, text):
    start = text.find(mutant.old)
    return range(start, start + len(mutant.old))


def takes(mutant, call, text):
    """Does the mutant change the part of the text with the call, and have one call of it less?"""
    return (call.start() in part_of(mutant, text) and
            calls_in(mutant.old)[call[1]] > calls_in(mutant.new)[call[1]])


def check_calls(mutants):
    """Each call in module/ that ORDERS names has a mutant."""
    for path in sorted((TOP / "module").rglob("*.[ch]")):
        text = path.read_text(encoding="utf-8")
        here = [mutant for mutant in mutants if source_of(mutant) == path]
        for call in ORDERS.finditer(text):
            if not any(takes(mutant, call, text) for mutant in here):
                line = text.count("\n", 0, call.start()) + 1
                raise Stale(f"{path}:{line}: no mutant takes the order of {call[1]}() away")


@functools.cache
def source():
    """The kernel source, which has the memory model."""
    output = subprocess.run([TOP / "selftests/harness/setup.sh", "source"], check=True,
                            stdout=subprocess.PIPE, text=True).stdout
    return output.strip().partition("=")[2]


@functools.cache
def output_of(test):
    return subprocess.run([TOP / "selftests/models/litmus.sh", source(), test], check=False,
                          stdout=subprocess.PIPE, text=True).stdout


def points(test):
    """The test points about the lines of a test: what each is, by its number."""
    return {int(number): kind for number, kind in
            re.findall(r"^ok \d+ - \w+: line (\d+) is (needed|spare)$", output_of(test),
                       re.MULTILINE)}


def judge(where):
    """A verdict on the fault that "TEST P0: CODE" stands for, and the test that gives it."""
    test, number = line_of(where)
    if skipped := re.search(r"# SKIP (.*)", output_of(test)):
        return "not judged", skipped[1]
    if not re.search(rf"^ok \d+ - {test}: never$", output_of(test), re.MULTILINE):
        return "not judged", f"litmus test {test} fails as it is"
    kind = points(test).get(number, "")
    verdict = {"needed": "caught", "spare": "spare"}.get(kind, "survived")
    return verdict, f"litmus test {test}, line {number}"


def has_line(mutant):
    return re.match(r"\w+ P\d: ", mutant.seen_by)


def is_reason(text):
    """A text that begins with the name of a test names a line wrongly."""
    return text and not (TESTS / f"{text.split()[0]}.litmus").exists()


def check(mutant):
    orders = calls_in(mutant.old)
    if orders and not orders - calls_in(mutant.new):
        raise Stale(f"{mutant.name} leaves each call that orders others")
    if has_line(mutant):
        line_of(mutant.seen_by)
    elif not is_reason(mutant.seen_by):
        raise Stale(f"{mutant.name}: neither a line of a litmus test nor a reason")


def verdict_on(mutant):
    return Result(mutant, *(judge(mutant.seen_by) if has_line(mutant) else
                            ("no model", mutant.seen_by)))


class Job(module_job.Job):
    """The fault that a line stands for has to be code: the module is built with each."""

    def __init__(self, number):
        super().__init__(f"litmus-{number}")
        if self.fails_to_build():
            sys.exit(f"mutants: the module does not build, see {self.output}")

    def test_mutant(self, mutant):
        with put_into(mutant, self.top):
            if verdict := self.fails_to_build():
                return Result(mutant, verdict, "")
        return verdict_on(mutant)


def results_of(mutants):
    with scratch.alone():
        jobs = [Job(i + 1) for i in range(scratch.jobs_wanted(mutants))]
        yield from scratch.share_out(mutants, jobs)
