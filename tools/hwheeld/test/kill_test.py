#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""kill_test.py HWHEELD FOLDER FULL_DISK ROUNDS [SEED]: SIGKILL at random moments loses nothing.

Clients put, restart, cancel, take and acknowledge timeouts, each with keys of its own, until the
daemon is killed. For each key a client knows what it may be: what was answered last, and what the
request that got no answer would have made of it. The daemon is started again, and each key has to
be one of these. Half of the time the disk is full, and large timeouts leave no room for others;
what there is then has to end before there is room again. Prints TAP.
"""
import os
import random
import sys
import threading
import time

from daemon import Daemon, Tap, equal
from worker import CLIENTS, Worker

# A line tells after so many kills how far it is.
STEP = 50

# The disk is full for so many kills, and then it is not for as many.
SPELL = 5


def one_round(daemon, workers, chance):
    threads = [threading.Thread(target=worker.work, args=(daemon.socket,)) for worker in workers]
    for thread in threads:
        thread.start()
    goal = sum(worker.done for worker in workers) + chance.randrange(200)
    while sum(worker.done for worker in workers) < goal and any(t.is_alive() for t in threads):
        threads[0].join(chance.random() * 0.01)
    daemon.kill()
    for thread in threads:
        thread.join()
    daemon.start()
    for worker in workers:
        worker.check(daemon.client())


class Progress:
    """Tells from time to time how far thousands of kills have come."""

    def __init__(self, rounds, workers):
        self.rounds = rounds
        self.workers = workers
        self.begin = self.last = time.monotonic()
        self.longest = 0

    def tell(self, kills):
        now = time.monotonic()
        self.longest = max(self.longest, now - self.last)
        self.last = now
        if kills % STEP == 0 or kills == self.rounds:
            done = sum(worker.done for worker in self.workers)
            print(f"# {kills} of {self.rounds} kills, {done} operations, in "
                  f"{now - self.begin:.0f} s, {self.longest:.1f} s at most for one", flush=True)


class FullDisk:
    """A disk that gets full, and has room again"""

    def __init__(self, flag, daemon, library):
        self.flag = flag
        self.daemon = daemon
        self.large = self.most = 0
        daemon.environment = {"LD_PRELOAD": library, "FULL_DISK": flag}

    def fill(self):
        with open(self.flag, "wb"):
            pass
        client = self.daemon.client()
        while (status := client.put(f"large-{self.large}", delay=3600,
                                    payload=60000 * "x").status) == 201:
            self.large += 1
        equal(status, 507)
        self.most = max(self.most, self.large)

    def drain(self, workers):
        """All that there is ends while it is full."""
        client = self.daemon.client()
        for worker in workers:
            worker.drain(client)
        for number in range(self.large):
            equal(client.cancel(f"large-{number}").status, 204)
        self.large = 0
        equal(client.metric("hwheeld_timeouts"), 0)
        os.unlink(self.flag)


def nothing_is_lost(program, folder, library, rounds, seed):
    chance = random.Random(seed)
    workers = [Worker(number, seed) for number in range(CLIENTS)]
    progress = Progress(rounds, workers)
    daemon = Daemon(program, folder)
    disk = FullDisk(f"{folder}.full", daemon, library)
    with daemon:
        for kills in range(1, rounds + 1):
            one_round(daemon, workers, chance)
            progress.tell(kills)
            if kills % (2 * SPELL) == SPELL:
                disk.fill()
            elif kills % (2 * SPELL) == 0:
                disk.drain(workers)
        if disk.large:
            disk.drain(workers)
        print(f"# up to {disk.most} large timeouts as the disk was full")
        for worker in workers:
            worker.drain(daemon.client())
        daemon.is_sound()


def main():
    program, folder, library, rounds = *sys.argv[1:4], int(sys.argv[4])
    tap = Tap()
    seed = tap.begin(5)
    tap.run(nothing_is_lost, program, folder, library, rounds, seed)
    sys.exit(tap.end())


main()
