# SPDX-License-Identifier: GPL-2.0-only
"""Clients work on a cluster while one fault comes after another; then all that is left comes."""
import os
import random
import time

from chaos_clients import LARGE, LEASES, LONGEST_DELAY, Putter, Taker, Watcher
from checker import Checker, report
from daemon import PATIENCE, true
from history import REFUSED, UNKNOWN, Delivery

# Without a fault between two of them
QUIET = 3


class Campaign:
    """pause: of a client that puts, between its requests; putters: how many such clients"""

    def __init__(self, cluster, history, seed, pause, putters=4):
        self.cluster = cluster
        self.history = history
        self.chance = random.Random(seed)
        self.putters = [Putter(f"p{number}", cluster, history, seed, pause)
                        for number in range(putters)]
        self.takers = [Taker(f"t{number}", cluster, history, seed, number)
                       for number in range(2 * len(cluster.nodes))]
        several = cluster.nodes if len(cluster.nodes) > 1 else []
        self.watchers = [Watcher(node, history) for node in several]

    def each_fault_is_overcome(self, kinds, seconds):
        """kinds: functions, each of which is a fault"""
        for client in self.putters + self.takers + self.watchers:
            client.start()
        try:
            self.disturb(kinds, seconds)
            end(self.putters)
            self.drain()
        finally:
            end(self.putters + self.takers + self.watchers)

    def disturb(self, kinds, seconds):
        stop = time.monotonic() + seconds
        todo = []
        while time.monotonic() < stop:
            time.sleep(QUIET)
            todo = todo or self.chance.sample(kinds, len(kinds))
            kind = todo.pop()
            begin = time.monotonic()
            kind()
            print(f"# {begin:.1f}: {kind.__name__}, {time.monotonic() - begin:.1f} s", flush=True)

    def check(self):
        checker = Checker(self.history, self.cluster.resolution)
        return checker, checker.check()

    def is_drained(self):
        return not any(violation.rule == "lost" for violation in self.check()[1])

    def drain(self):
        """All are due, and those that were leased are due again, until none is missing."""
        time.sleep(LONGEST_DELAY + max(LEASES))
        before, since = None, time.monotonic()
        while not self.is_drained() and time.monotonic() < since + PATIENCE:
            if before != (before := len(self.history.of(Delivery))):
                since = time.monotonic()
            time.sleep(1)

    # The verdict

    def the_history_keeps_the_promises(self):
        checker, violations = self.check()
        print(f"# load {' '.join(f'{load:.1f}' for load in os.getloadavg())}, "
              f"{os.cpu_count()} CPUs")
        for line in report(checker, self.history):
            print("#", line)
        for violation in violations[:20]:
            print(f"# {violation.rule}: {violation.text}")
        rules = sorted({violation.rule for violation in violations})
        true(not violations, f"{len(violations)} violations: {', '.join(rules)}")

    def large_requests_are_answered(self):
        statuses = [status for putter in self.putters for status in putter.large_answers]
        print(f"# {len(statuses)} requests of {LARGE[0]} to {LARGE[1]} bytes: {sorted(statuses)}")
        true(set(statuses) <= {200, 413, UNKNOWN, REFUSED} and set(statuses) & {200, 413}, statuses)


def end(clients):
    for client in clients:
        client.ended.set()
    for client in clients:
        client.join()
        if client.error:
            raise client.error
