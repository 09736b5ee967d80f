#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Has each call in module/ that orders others a row in the file judges, which names a line of a
litmus test or a reason, and each row a call?"""

import collections
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
MODULE = HERE.parents[1] / "module"
# Barriers, atomic operations, RCU sections (each without preemption is one) and calls of llist.h,
# but no locks and completions; comments name functions without arguments, and without a semicolon
ORDERS = re.compile(r"\b(smp_\w*mb\w*|smp_load_acquire|smp_store_release|synchronize_rcu|"
                    r"(?:\w+_)?(?:cmp)?xchg(?:_acquire|_release)?|set_current_state|"
                    r"rcu_read_lock_sched|preempt_disable|\w+_read_acquire|\w+_set_release|"
                    r"atomic\w*_fetch_\w+(?<!_relaxed)|atomic\w+_return|atomic\w+_unless|"
                    r"refcount_dec_and_test|test_and_set_bit|clear_bit_unlock|wq_has_sleeper|"
                    r"llist_add|llist_del_all)\((?:[^)]|\);)")
FUNCTION = re.compile(r"^#define (\w+)|^(?!\s)[^\n;=]*?\b(\w+)\(", re.MULTILINE)


def calls_in(text):
    """Each call that orders others, with its function or macro"""
    for call in ORDERS.finditer(text):
        *_, function = FUNCTION.finditer(text, 0, call.start())
        yield function[1] or function[2], call[1]


def has_line(judge):
    """Has the litmus test that "TEST P0: CODE" names a line with a replacement there?"""
    if judge.startswith("- "):
        return True
    test, thread, code = re.fullmatch(r"(\w+) (P\d): (.*)", judge).groups()
    text = (HERE / f"litmus/{test}.litmus").read_text(encoding="utf-8")
    line = re.compile(rf"^\s*{re.escape(code)} /\* (not|spare):", re.MULTILINE)
    return any(part.startswith(thread) and line.search(part)
               for part in re.split(r"^(?=P\d)", text, flags=re.MULTILINE))


def main():
    lines = (HERE / "judges").read_text(encoding="utf-8").splitlines()
    rows = [line.split(" ", 2) for line in lines if not line.startswith("#")]
    judged = collections.Counter((function, call) for function, call, _ in rows)
    calls = collections.Counter()
    for path in MODULE.rglob("*.[ch]"):
        calls.update(calls_in(path.read_text(encoding="utf-8")))
    wrong = [f"{function}(): {call}() has no judge" for function, call in calls - judged]
    wrong += [f"no such call: {function}(): {call}()" for function, call in judged.keys() - calls]
    wrong += [f"no such line: {row}" for *_, row in rows if not has_line(row)]
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
