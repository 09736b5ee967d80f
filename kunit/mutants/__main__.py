# SPDX-License-Identifier: GPL-2.0-only
"""Can the tests fail? Puts faults into the module and sees which test notices.

usage: python3 kunit/mutants [check]

check only looks whether each fault fits the module as it is.

Each fault is one replacement in one file of a scratch copy of the project. KUnit judges the faults
in the engine and in most of the device (kunit.py), kselftests in a user-mode kernel judge those in
the code behind system calls (kselftest.py), and litmus tests judge those in barriers (litmus.py). A
fault that does not build, or with which nothing happens, is not caught. Jobs work side by side,
each with a scratch copy and a build folder of its own. From the environment:
  ONLY     which faults, a glob
  JOBS     how many at a time; default: one for each CPU
The outcome is kept in build/mutants.txt, or with ONLY in build/mutants-only.txt, with the first
test that noticed. Exits with 0 if all were caught, but for those that are spare and those in
barriers that no model has, of which the table tells why.
"""

import collections
import fnmatch
import os
import re
import signal
import sys
import time

import kselftest
import kunit
import litmus
from barriers import BARRIERS
from calls import CALLS
from device import DEVICE
from engine import ENGINE
from mutant import TOP, Mutant, Stale, mutate, source_of

RESULTS = TOP / f"build/mutants{'-only' if os.environ.get('ONLY') else ''}.txt"

PASSES = ("caught", "spare", "no model")

# The quick ones first
JUDGED = [(judge, [Mutant(*row) for row in table])
          for judge, table in ((litmus, BARRIERS), (kselftest, CALLS), (kunit, ENGINE + DEVICE))]


def mutated(mutant):
    """The file with the fault, without what the compiler does not see: spaces, empty statements."""
    if not (path := source_of(mutant)).exists():
        raise Stale(f"{mutant.name}: there is no module/{mutant.file}")
    text = re.sub(r"\s", "", mutate(mutant, path.read_text(encoding="utf-8")))
    return mutant.file, re.sub(r";+", ";", text)


def check_differ(mutants, key):
    known = {}
    for mutant in mutants:
        if (other := known.setdefault(key(mutant), mutant)) is not mutant:
            raise Stale(f"two mutants are one: {other.name}, {mutant.name}")


def check_tables():
    every = [mutant for _, mutants in JUDGED for mutant in mutants]
    check_differ(every, lambda mutant: mutant.name)
    check_differ(every, mutated)
    for judge, mutants in JUDGED:
        for mutant in mutants:
            judge.check(mutant)
    litmus.check_calls(dict(JUDGED)[litmus])


def chosen(only):
    """Judges with those of their mutants whose names match."""
    for judge, mutants in JUDGED:
        if some := [mutant for mutant in mutants if fnmatch.fnmatch(mutant.name, only)]:
            yield judge, some


def report(result, file):
    print(f"{result.verdict:9} {result.mutant.name} ({result.mutant.file})", file=file)
    if result.catcher:
        print(f"          {result.catcher}", file=file)


def show(result):
    print(f"  {result.verdict:9} {result.mutant.name}" +
          (f": {result.catcher}" if result.catcher else ""), flush=True)


def test_all(judged):
    RESULTS.parent.mkdir(exist_ok=True)
    begin = time.monotonic()
    verdicts = collections.Counter()
    with open(RESULTS, "w", buffering=1, encoding="utf-8") as file:
        for judge, mutants in judged:
            for result in judge.results_of(mutants):
                verdicts[result.verdict] += 1
                show(result)
                report(result, file)
        minutes = (time.monotonic() - begin) / 60
        summary = (f"{verdicts['caught']} of {verdicts.total()} mutants caught, "
                   f"{verdicts['spare']} spare, {verdicts['no model']} in no model, "
                   f"in {minutes:.0f} minutes")
        print(summary, file=file)
    print(summary)
    return set(verdicts) <= set(PASSES)


def stop_with_jobs():
    """Python ends without a word when it gets these signals, and would leave its jobs behind. With
    nohup it does not end."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda number, _: sys.exit(128 + number))


def main():
    stop_with_jobs()
    only = os.environ.get("ONLY") or "*"
    judged = [*chosen(only)]
    try:
        check_tables()
    except Stale as error:
        sys.exit(f"mutants: the table is stale: {error}")
    if not judged:
        sys.exit(f"mutants: none is called {only}")
    if sys.argv[1:] == ["check"]:
        return 0
    return 0 if test_all(judged) else 1


if __name__ == "__main__":
    sys.exit(main())
