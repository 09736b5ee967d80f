#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""cluster.py LINUX HWHEEL_KO HWHEELD FOLDER: 10,000 timeouts, of which each comes once.

Three servers of etcd run on this machine, and three nodes, each in a user-mode kernel with a
wheel of its own. Half-way a node is killed, and the leader of the servers with it; the others deliver
what it had.
"""
import collections
import contextlib
import os
import queue
import random
import shutil
import sys
import threading
import time

sys.path.insert(0, f"{os.path.dirname(os.path.realpath(__file__))}/../hwheeld/test")
from daemon import PATIENCE, free_ports, true, until  # noqa: E402
from etcd import Etcd  # noqa: E402
from machine import HOST, Keys, Machine  # noqa: E402
from worker import LOST  # noqa: E402

COUNT = 10000
BATCH = 500
# The delays: until all have been put, and from then on evenly
BEGIN = 15
SPREAD = 40
SESSION = 10
# Longer than a takeover
LEASE = 30
NODES = 3
# Of each node: an acknowledgement is a commit, and those at one time are one
ACKNOWLEDGERS = 4


class Ledger:
    """When each may come at the earliest, and which node fired it when"""

    def __init__(self):
        self.due = {}
        self.late = collections.defaultdict(list)
        self.came = set()
        self.acknowledged = set()
        self.again = 0
        self.to_acknowledge = queue.Queue()
        self.lock = threading.Lock()

    def take(self, node, key):
        """One comes again only if nobody could acknowledge it in time."""
        now = time.monotonic()
        with self.lock:
            true(key not in self.acknowledged, f"{key} came twice")
            true(now >= self.due[key], f"{key} is early by {self.due[key] - now} s")
            if key in self.came:
                self.again += 1
            else:
                self.came.add(key)
                self.late[node].append(now - self.due[key])

    def acknowledge(self, key):
        with self.lock:
            self.acknowledged.add(key)

    def is_complete(self):
        return len(self.acknowledged) == COUNT


class Worker(threading.Thread):
    """A client of one node, until there is nothing left or the node is gone"""

    def __init__(self, node, ledger):
        super().__init__(daemon=True)
        self.node = node
        self.ledger = ledger
        self.error = None

    def work_on(self):
        """Until the connection is lost"""
        with contextlib.suppress(*LOST):
            client = self.node.connect(30)
            while not self.ledger.is_complete():
                self.work(client)

    def run(self):
        try:
            while not self.ledger.is_complete() and self.node.is_there():
                self.work_on()
        except Exception as error:  # told by the thread that waits
            self.error = error


class Taker(Worker):
    def work(self, client):
        answer = client.request("POST", f"/queues/default/take?max=100&wait=1&lease={LEASE}")
        if answer.status == 503:  # until the servers have a leader
            time.sleep(0.1)
            return
        true(answer.status == 200, answer.text)
        for timeout in answer.json["timeouts"]:
            self.ledger.take(self.node.name, timeout["key"])
            self.ledger.to_acknowledge.put((timeout["key"], timeout["token"]))


class Acknowledger(Worker):
    """Any node acknowledges what any node has given. If a node dies, others repeat its requests."""

    def ask(self, client, key, token):
        """410: the lease has ended, or a node has acknowledged it whose answer was lost."""
        status = client.ack(token)
        if status == 410:
            status = {404: 204, 200: 410}.get(client.get(key).status, 503)
        return status

    def work(self, client):
        try:
            key, token = self.ledger.to_acknowledge.get(timeout=0.1)
        except queue.Empty:
            return
        try:
            status = self.ask(client, key, token)
        except LOST:
            self.ledger.to_acknowledge.put((key, token))
            raise
        true(status in (204, 410, 503), f"{key}: {status}")
        if status == 204:
            self.ledger.acknowledge(key)
        elif status == 503:
            self.ledger.to_acknowledge.put((key, token))
            time.sleep(0.1)


def put_all(nodes, ledger):
    """Each node gets its part, and passes on what is another's."""
    wishes = []
    for number in range(COUNT):
        wishes.append({"key": f"job-{number}", "delay": BEGIN + random.uniform(0, SPREAD),
                       "payload": f"job {number}"})
    for first in range(0, COUNT, BATCH):
        part = wishes[first:first + BATCH]
        begin = time.monotonic()
        for wish in part:
            ledger.due[wish["key"]] = begin + wish["delay"]
        client = nodes[first // BATCH % NODES].connect(30)
        answer = client.put_many(part)
        client.close()
        true(answer.status == 200, answer.text)
        true(all(result["status"] == 201 for result in answer.json["results"]), answer.text)


def show(name, late):
    late = sorted(late)
    print(f"  {name}: fired {len(late)}, late by {late[len(late) // 2] * 1e3:.1f} ms (p50), "
          f"{late[len(late) * 99 // 100] * 1e3:.1f} ms (p99), {late[-1] * 1e3:.1f} ms (max)",
          flush=True)


def report(ledger):
    for name in sorted(ledger.late):
        show(name, ledger.late[name])
    show("all", [late for part in ledger.late.values() for late in part])


def wait(workers, keys, count):
    """It may take as long as it needs, while there are more and more."""
    before, since = 0, time.monotonic()
    while len(keys) < count:
        for worker in workers:
            if worker.error:
                raise worker.error
        if len(keys) > before:
            before, since = len(keys), time.monotonic()
        true(time.monotonic() < since + PATIENCE + LEASE, f"{len(keys)} came, and no more")
        time.sleep(0.05)


def run(nodes, ledger, etcd):
    begin = time.monotonic()
    put_all(nodes, ledger)
    print(f"  {COUNT} timeouts are accepted, in {time.monotonic() - begin:.1f} s", flush=True)
    workers = [Taker(node, ledger) for node in nodes]
    workers += [Acknowledger(node, ledger) for node in nodes for _ in range(ACKNOWLEDGERS)]
    for worker in workers:
        worker.start()
    wait(workers, ledger.came, COUNT // 2)
    victim = random.choice(nodes)
    victim.kill()
    leader = etcd.leader()
    if leader:
        leader.kill()
        print(f"  {leader.name}, which led the servers, is killed", flush=True)
        leader.start()
    print(f"  {len(ledger.came)} have come; the machine of {victim.name} is killed", flush=True)
    print(f"  timeouts that no client got from it come when their leases end, after {LEASE} s",
          flush=True)
    wait(workers, ledger.acknowledged, COUNT)
    for worker in workers:
        worker.join()


def main():
    kernel, module, program = sys.argv[1:4]
    folder = os.path.realpath(sys.argv[4])
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    keys = Keys(f"{folder}/keys")
    ledger = Ledger()
    with Etcd(f"{folder}/etcd") as etcd:
        print(f"  three servers of etcd are up: {etcd.addresses}", flush=True)
        nodes = [Machine(kernel, module, program, folder, f"node{number}", port, keys,
                         advertise=f"{HOST}:{port}", session=f"{SESSION}s",
                         **etcd.settings(HOST))
                 for number, port in enumerate(free_ports(NODES))]
        try:
            for node in nodes:
                node.start()
            until(lambda: all(node.is_settled() for node in nodes), "the nodes have all shards")
            print("  three nodes are up, each in a kernel of its own", flush=True)
            run(nodes, ledger, etcd)
        finally:
            for node in nodes:
                node.end()
    report(ledger)
    print(f"  each of {COUNT} came once, none early; {ledger.again} came again, as nobody "
          "could acknowledge them in time", flush=True)


main()
