#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""power_guest.py HWHEELD FOLDER SYNCHRONOUS JOURNAL SEED: in a machine that will lose its power.

The journal, which is outside, has what the clients knew before: the last line about a key counts.
Each key is looked at; then the clients go on, and print lines for the journal until the end.
"""
import json
import sys
import threading

from daemon import Daemon
from worker import CLIENTS, Worker

program, folder, synchronous, journal, seed = sys.argv[1:]
lock = threading.Lock()


def tell(what):
    """A line is out before the request is sent: the console has no buffer of its own."""
    with lock:
        sys.stdout.buffer.raw.write((json.dumps(what) + "\n").encode())


def note(key, values):
    tell([key, sorted(values, key=str)])


def remembered():
    known = {}
    with open(journal, encoding="utf-8") as stream:
        for line in stream:
            key, values = json.loads(line)
            known[key] = set(values)
    return known


def main():
    known = remembered()
    workers = [Worker(number, int(seed), note) for number in range(CLIENTS)]
    with Daemon(program, folder, synchronous=synchronous) as daemon:
        for worker in workers:
            worker.may_be |= {key: known[key] for key in worker.keys if key in known}
            try:
                worker.check(daemon.client())
            except AssertionError as error:
                tell({"wrong": str(error)})
                return
        tell({"checked": len(known)})
        threads = [threading.Thread(target=worker.work, args=(daemon.socket,))
                   for worker in workers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        tell({"wrong": f"the clients ended: {[str(w.error) for w in workers]} {daemon.said()}"})


main()
