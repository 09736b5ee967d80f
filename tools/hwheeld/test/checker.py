#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""checker.py HISTORY: does a history keep what hwheeld promises?

For each key there is an order of all requests in which each answer is right (order.py). How late
deliveries were is printed by fault, and judged by nobody: it depends on what else the machine does.
Prints each violation.
"""
import bisect
import collections
import sys

from clocks import Clocks
from history import UNKNOWN, Ack, Cancel, Clock, Delivery, Fault, LostTake, Put, read
from order import broken_promise

# Seconds that reading a clock takes
RESOLUTION = 0.001

# As long after a fault a delivery is still counted as late by it.
AFTERMATH = 5

Violation = collections.namedtuple("Violation", "rule key text")


class Checker:
    def __init__(self, history, resolution=RESOLUTION):
        self.resolution = resolution
        self.puts = {put.version: put for put in history.of(Put)}
        self.deliveries = history.of(Delivery)
        self.faults = sorted(history.of(Fault), key=lambda fault: fault.begin)
        # A take without an answer may have leased something, and so may one node for another.
        self.unseen_since = min((event.begin for event in self.faults + history.of(LostTake)),
                                default=float("inf"))
        self.clocks = Clocks(history.of(Clock), [fault for fault in self.faults if fault.all_away])
        self.keys = collections.defaultdict(list)
        for kind in (Put, Cancel, Delivery, Ack):
            for event in history.of(kind):
                self.keys[event.key].append(event)

    def check(self):
        """Returns the violations."""
        found = ((key, broken_promise(events, self.unseen_since, self.resolution))
                 for key, events in self.keys.items())
        violations = [Violation(broken[0], key, f"no order leads to {broken[1]}")
                      for key, broken in found if broken]
        wrong = self.clocks.wrong()
        return violations + ([Violation("clock", "", wrong)] if wrong else [])

    # How late

    def late(self):
        """Yields (put, delivery, seconds) for each timeout that came at its first attempt."""
        for delivery in self.deliveries:
            put = self.puts.get(delivery.version)
            if put and delivery.number == 1:
                yield put, delivery, delivery.end - (put.end + put.delay)

    def fault_of(self, due, delivered):
        """The last fault that lasted between the two, or ended just before"""
        index = bisect.bisect(self.faults, delivered, key=lambda fault: fault.begin)
        for fault in reversed(self.faults[:index]):
            if fault.end + AFTERMATH > due:
                return fault
        return None

    def lateness(self):
        """Seconds by the fault's name"""
        late = collections.defaultdict(list)
        for put, delivery, seconds in self.late():
            fault = self.fault_of(put.end + put.delay, delivery.end)
            late[fault.name if fault else "no fault"].append(seconds)
        return late

    def takeovers(self):
        """By the fault's name: the longest that a timeout waited for another node"""
        longest = {}
        for put, delivery, _ in self.late():
            due = put.end + put.delay
            fault = self.fault_of(due, delivery.end)
            if fault and fault.takes_over and fault.begin < delivery.end:
                waited = delivery.end - max(due, fault.begin)
                longest[fault.name] = max(waited, longest.get(fault.name, 0))
        return longest


def quantile(sorted_values, part):
    return sorted_values[min(int(len(sorted_values) * part), len(sorted_values) - 1)]


def report(checker, history):
    """Lines that tell what there was"""
    counts = collections.Counter(type(event).__name__ for event in history.events)
    unknown = sum(1 for event in history.events if getattr(event, "status", None) == UNKNOWN)
    names = (("puts", "Put"), ("cancels", "Cancel"), ("deliveries", "Delivery"),
             ("acknowledgements", "Ack"), ("faults", "Fault"))
    operations = len(history.events) - counts["Fault"] - counts["Clock"]
    yield ", ".join(f"{counts[kind]} {name}" for name, kind in names) + \
        f"; {unknown} answers are unknown; operations={operations}"
    if checker.clocks.answers:
        yield checker.clocks.report()
    longest = checker.takeovers()
    for name, late in sorted(checker.lateness().items()):
        late.sort()
        line = f"{name}: {len(late)} came, late by {quantile(late, 0.5) * 1e3:.0f} ms (p50), " \
               f"{quantile(late, 0.99) * 1e3:.0f} ms (p99), {late[-1] * 1e3:.0f} ms (max)"
        if name in longest:
            line += f"; waited at most {longest[name]:.1f} s since the fault"
        yield line


def main():
    history = read(sys.argv[1])
    checker = Checker(history)
    violations = checker.check()
    for line in report(checker, history):
        print(line)
    for violation in violations:
        print(f"{violation.rule}: {violation.key}: {violation.text}")
    print(f"{len(violations)} violations")
    sys.exit(bool(violations))


if __name__ == "__main__":
    main()
