#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""durable.py HWHEELD FOLDER: 10,000 durable timeouts; the daemon is killed half-way."""
import os
import random
import sys

sys.path.insert(0, f"{os.path.dirname(os.path.realpath(__file__))}/../hwheeld/test")
from daemon import Daemon, true  # noqa: E402

COUNT = 10000
SECONDS = 10


def put_all(client):
    for first in range(0, COUNT, 500):
        wishes = [{"key": f"job-{number}", "delay": random.uniform(2, 2 + SECONDS),
                   "payload": f"job {number}"} for number in range(first, first + 500)]
        true(client.put_many(wishes).status == 200, "a batch was refused")


def take(client, taken, goal):
    """Returns how late each was."""
    late = []
    while len(taken) < goal:
        for timeout in client.take(max=200, wait=30, lease=600):
            true(timeout["key"] not in taken, f"{timeout['key']} came twice")
            taken[timeout["key"]] = timeout["token"]
            late.append(timeout["late"])
    return late


def show(late, what):
    late = sorted(late)
    print(f"  {len(late)} {what}: late by {late[len(late) // 2] * 1e3:.1f} ms (median), "
          f"{late[len(late) * 99 // 100] * 1e3:.1f} ms (p99), {late[-1] * 1e3:.1f} ms (max)",
          flush=True)


def main():
    taken = {}
    with Daemon(sys.argv[1], sys.argv[2], tick="10ms") as daemon:
        put_all(daemon.client())
        print(f"  {COUNT} timeouts are on disk, due in 2 s to {2 + SECONDS} s", flush=True)
        show(take(daemon.client(), taken, COUNT // 2), "taken")
        daemon.kill()
        print("  the daemon is killed, and started again", flush=True)
        daemon.start()
        show(take(daemon.client(), taken, COUNT), "taken")
        client = daemon.client()
        for token in taken.values():
            true(client.ack(token) == 204, "a lease was lost")
        true(not client.request("GET", "/timeouts").json["timeouts"], "some are left")
        print(f"  each of {COUNT} came once, and all were acknowledged", flush=True)
        daemon.is_sound()


main()
