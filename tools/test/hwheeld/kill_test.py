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

from daemon import Daemon, Tap
from worker import CLIENTS, Worker


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


def nothing_is_lost(program, folder, rounds, seed):
    chance = random.Random(seed)
    workers = [Worker(number, seed) for number in range(CLIENTS)]
    with Daemon(program, folder) as daemon:
        for _ in range(rounds):
            one_round(daemon, workers, chance)
        for worker in workers:
            worker.drain(daemon.client())
        print(f"# {rounds} kills, {sum(w.done for w in workers)} operations, seed {seed}")
        daemon.is_sound()


def main():
    program, folder, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
    tap = Tap()
    seed = tap.begin(4)
    tap.run(nothing_is_lost, program, folder, rounds, seed)
    sys.exit(tap.end())


main()
