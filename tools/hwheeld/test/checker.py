#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""checker.py HISTORY: does a history keep what hwheeld promises?

Each accepted timeout that is not cancelled is delivered; none after its cancel or restart was
acknowledged, none early, and none again that was acknowledged within its lease. No two clients
have a lease of one timeout. How late deliveries were is printed by fault, and judged by nobody: it
depends on what else the machine does. Prints each violation.
"""
import bisect
import collections
import sys

from history import UNKNOWN, Ack, Cancel, Delivery, Fault, Put, read

# Two clocks may differ by so much: 500 ppm, and what a reading takes
RATE = 500e-6
RESOLUTION = 0.001

# As long after a fault a delivery is still counted as late by it.
AFTERMATH = 5

Violation = collections.namedtuple("Violation", "rule key text")


class Key:
    """All that happened to a key"""

    def __init__(self):
        self.writes = []
        self.deliveries = []
        self.acks = []


class Checker:
    def __init__(self, history, resolution=RESOLUTION):
        self.resolution = resolution
        self.violations = []
        self.keys = collections.defaultdict(Key)
        self.puts = {put.version: put for put in history.of(Put)}
        self.faults = sorted(history.of(Fault), key=lambda fault: fault.begin)
        for put in history.of(Put):
            self.keys[put.key].writes.append(put)
        for cancel in history.of(Cancel):
            self.keys[cancel.key].writes.append(cancel)
        for delivery in history.of(Delivery):
            self.keys[delivery.key].deliveries.append(delivery)
        for ack in history.of(Ack):
            self.keys[ack.key].acks.append(ack)

    def complain(self, rule, key, text):
        self.violations.append(Violation(rule, key, text))

    def check(self):
        for name, key in self.keys.items():
            key.writes.sort(key=lambda write: write.begin)
            key.deliveries.sort(key=lambda delivery: delivery.end)
            self.check_writes(name, key)
            self.check_deliveries(name, key)
        return self.violations

    # Writes of a key, one after the other

    def check_writes(self, name, key):
        present = None
        gone = {}
        maybe = []
        for write in key.writes:
            if write.status == UNKNOWN:
                maybe.append(write)
            elif write.status in (200, 201, 204, 404):
                self.check_answer(name, key, present, write)
                gone[present] = write
                present = write.version if isinstance(write, Put) else None
        self.check_gone(name, key, gone)
        self.check_lost(name, key, present, maybe)

    def check_answer(self, name, key, present, write):
        """It tells whether the key was there."""
        may_be_gone = present is None or any(
            ack.version == present and ack.status in (204, UNKNOWN) and ack.begin < write.end
            for ack in key.acks)
        is_gone = present is None or any(
            ack.version == present and ack.status == 204 and ack.end < write.begin
            for ack in key.acks)
        if write.status in (201, 404) and not may_be_gone:
            self.complain("vanished", name, f"{present} was not there: {write}")
        if write.status in (200, 204) and is_gone:
            self.complain("resurrected", name, f"{present} was there again: {write}")

    def check_gone(self, name, key, gone):
        for delivery in key.deliveries:
            write = gone.get(delivery.version)
            if write and delivery.begin > write.end:
                rule = "restarted" if isinstance(write, Put) else "cancelled"
                self.complain(rule, name, f"{delivery} after {write}")

    def check_lost(self, name, key, present, maybe):
        """An unknown put may have replaced the timeout that was there."""
        if not present or any(isinstance(write, Cancel) for write in maybe):
            return
        versions = {present} | {write.version for write in maybe}
        if not any(delivery.version in versions for delivery in key.deliveries) and \
           not any(ack.version in versions and ack.status == 204 for ack in key.acks):
            self.complain("lost", name, f"{self.puts[present]} was never delivered")

    # Deliveries

    def check_deliveries(self, name, key):
        for delivery in key.deliveries:
            self.check_origin(name, delivery)
        versions = collections.defaultdict(list)
        for delivery in key.deliveries:
            versions[delivery.version].append(delivery)
        for version, deliveries in versions.items():
            acks = [ack for ack in key.acks if ack.version == version and ack.status == 204]
            self.check_once(name, deliveries, acks)
            self.check_leases(name, deliveries)

    def check_origin(self, name, delivery):
        put = self.puts.get(delivery.version)
        if not put or put.key != name or put.status not in (UNKNOWN, 200, 201):
            self.complain("invented", name, f"{delivery} of {put}")
        elif delivery.end < put.begin + put.delay * (1 - RATE) - self.resolution:
            early = put.begin + put.delay - delivery.end
            self.complain("early", name, f"by {early:.4f} s: {delivery} of {put}")

    def check_once(self, name, deliveries, acks):
        last = min((ack.number for ack in acks), default=None)
        for delivery in deliveries:
            if last is not None and delivery.number > last:
                self.complain("again", name, f"{delivery} after {acks}")

    def check_leases(self, name, deliveries):
        """Whichever lease was the first, it lasts beyond the moment when the other was known."""
        for i, one in enumerate(deliveries):
            for other in deliveries[i + 1:]:
                if other.end < self.lasts_until(one) and \
                   one.end < self.lasts_until(other):
                    self.complain("leased", name, f"{one} and {other}")
                elif other.number == one.number:
                    self.complain("numbered", name, f"{one} and {other}")

    # Time

    def lasts_until(self, delivery):
        """The lease began after the request, on a clock that may be a little faster."""
        return delivery.begin + delivery.lease * (1 - RATE) - self.resolution

    def late(self):
        """Yields (put, delivery, seconds) for each timeout that came at its first attempt."""
        for key in self.keys.values():
            seen = set()
            for delivery in key.deliveries:
                put = self.puts.get(delivery.version)
                if put and delivery.version not in seen and delivery.number == 1:
                    yield put, delivery, delivery.end - (put.end + put.delay)
                seen.add(delivery.version)

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
    yield ", ".join(f"{counts[kind]} {name}" for name, kind in names) + \
        f"; {unknown} answers are unknown; operations={len(history.events) - counts['Fault']}"
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
