#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""kill_test.py HWHEELD FOLDER ROUNDS [SEED]: SIGKILL at random moments loses nothing.

Clients put, restart, cancel, take and acknowledge timeouts, each with keys of its own, until the
daemon is killed. For each key a client knows what it may be: what was answered last, and what the
request that got no answer would have made of it. The daemon is started again, and each key has to
be one of these. Prints TAP.
"""
import random
import sys
import threading
import time

from daemon import Daemon, Tap
from worker import CLIENTS, Worker

# A line tells after so many kills how far it is.
STEP = 50


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


def nothing_is_lost(program, folder, rounds, seed):
    chance = random.Random(seed)
    workers = [Worker(number, seed) for number in range(CLIENTS)]
    progress = Progress(rounds, workers)
    with Daemon(program, folder) as daemon:
        for kills in range(1, rounds + 1):
            one_round(daemon, workers, chance)
            progress.tell(kills)
        for worker in workers:
            worker.drain(daemon.client())
        daemon.is_sound()


def main():
    program, folder, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
    tap = Tap()
    seed = tap.begin(4)
    tap.run(nothing_is_lost, program, folder, rounds, seed)
    sys.exit(tap.end())


main()
