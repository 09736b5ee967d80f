# SPDX-License-Identifier: GPL-2.0-only
"""Clients of a cluster under faults, which keep a history.

Each goes to another node when it does not get an answer, or is told that nothing has changed.
"""
import contextlib
import itertools
import json
import random
import threading
import time

from history import REFUSED, UNKNOWN, Ack, Cancel, Clock, Delivery, LostTake, Put
from worker import LOST

QUEUES = ("one", "other")
# So long a client waits for an answer; a take asks for one earlier.
PATIENCE = 5
WAIT = 1
KEYS = 40
LONGEST_DELAY = 12
# The longer one survives a takeover.
LEASES = (2, 15)
# A commit has 900 KiB at most, a request 1 MiB.
LARGE = (700 << 10, 1000 << 10)
LARGE_PAYLOAD = 60 << 10


class Client(threading.Thread):
    """connect: gives a connection to the node that it is called with"""

    def __init__(self, name, cluster, history, seed):
        super().__init__(name=name, daemon=True)
        self.cluster = cluster
        self.history = history
        self.random = random.Random(f"{seed} {name}")
        self.node = None
        self.client = None
        self.ended = threading.Event()
        self.error = None

    def hang_up(self):
        if self.client:
            self.client.close()
        self.client = None

    def connect(self):
        """Returns whether there is a connection; without one no request is sent."""
        if self.client:
            return True
        self.node = self.choose()
        try:
            self.client = self.node.connect(PATIENCE)
        except LOST:
            pass
        return bool(self.client)

    def choose(self):
        return self.random.choice(self.cluster.nodes)

    def ask(self, *arguments):
        """Returns (begin, end, status, answer); a 503 that knows that nothing happened says so."""
        begin = time.monotonic()
        if not self.connect():
            self.ended.wait(0.1)
            return begin, time.monotonic(), REFUSED, None
        try:
            answer = self.client.request(*arguments)
            status = answer.status
            if status == 503:
                is_known = b"nothing has changed" in answer.text
                status = REFUSED if is_known else UNKNOWN
                self.hang_up()
        except LOST:
            answer, status = None, UNKNOWN
            self.hang_up()
        end = time.monotonic()
        if status in (UNKNOWN, REFUSED):
            self.ended.wait(0.05)
        return begin, end, status, answer

    def run(self):
        try:
            while not self.ended.is_set():
                self.step()
        except Exception as error:  # told by the thread that waits
            self.error = error
        finally:
            self.hang_up()


class Putter(Client):
    """Puts, restarts and cancels keys of its own."""

    def __init__(self, name, cluster, history, seed, pause):
        super().__init__(name, cluster, history, seed)
        self.pause = pause
        self.numbers = itertools.count()
        self.keys = [self.new_key() for _ in range(KEYS)]
        self.large = threading.Event()
        self.large_answers = []

    def new_key(self):
        return f"{self.name}-{next(self.numbers)}"

    def wish(self, key, size=0):
        version = f"{self.name}.{next(self.numbers)}"
        delay = round(self.random.choice((0, 1, LONGEST_DELAY)) * self.random.random(), 3)
        return {"key": key, "delay": delay, "queue": self.random.choice(QUEUES),
                "payload": version + " " + "x" * size if size else version}

    def leave(self, key):
        """An unknown request may still happen: the key is of no use any more."""
        self.keys[self.keys.index(key)] = self.new_key()

    def note(self, begin, end, wish, status):
        version = wish["payload"].split()[0]
        self.history.add(Put(begin, end, wish["key"], version, wish["delay"], status))
        if status == UNKNOWN:
            self.leave(wish["key"])

    def put(self):
        wish = self.wish(self.random.choice(self.keys))
        body = {name: value for name, value in wish.items() if name != "key"}
        begin, end, status, _ = self.ask("PUT", f"/timeouts/{wish['key']}", body)
        self.note(begin, end, wish, status)

    def put_many(self, wishes):
        begin, end, status, answer = self.ask("POST", "/timeouts", {"timeouts": wishes})
        results = answer.json["results"] if status == 200 else [None] * len(wishes)
        for wish, result in zip(wishes, results):
            one = result["status"] if result else status
            if one == 503:
                one = UNKNOWN
            self.note(begin, end, wish, REFUSED if one == 413 else one)
        return status

    def put_some(self):
        self.put_many([self.wish(key) for key in self.random.sample(self.keys, 5)])

    def put_large(self):
        """About as much as a commit may have, or more: hwheeld refuses it then."""
        size = self.random.randrange(*LARGE)
        count = -(-size // LARGE_PAYLOAD)
        keys = self.random.sample(self.keys, count)
        self.large_answers.append(
            self.put_many([self.wish(key, size // count) for key in keys]))

    def cancel(self):
        key = self.random.choice(self.keys)
        begin, end, status, _ = self.ask("DELETE", f"/timeouts/{key}")
        self.history.add(Cancel(begin, end, key, status))
        if status == UNKNOWN:
            self.leave(key)

    def step(self):
        if self.large.is_set():
            self.put_large()
            self.large.clear()
        else:
            self.random.choices((self.put, self.put_some, self.cancel), (6, 1, 3))[0]()
        self.ended.wait(self.pause * 2 * self.random.random())


class Taker(Client):
    """Takes from one node, and acknowledges most of it."""

    def __init__(self, name, cluster, history, seed, number):
        super().__init__(name, cluster, history, seed)
        self.number = number
        self.queue = QUEUES[number % len(QUEUES)]
        self.acks = None

    def choose(self):
        return self.cluster.nodes[self.number // len(QUEUES) % len(self.cluster.nodes)]

    def step(self):
        lease = self.random.choice(LEASES)
        begin, end, status, answer = self.ask(
            "POST", f"/queues/{self.queue}/take?max=20&wait={WAIT}&lease={lease}")
        if status == UNKNOWN:
            self.history.add(LostTake(begin, end))
        if status != 200:
            return
        timeouts = answer.json["timeouts"]
        for timeout in timeouts:
            self.history.add(Delivery(begin, end, timeout["key"], timeout["payload"].split()[0],
                                      lease, timeout["deliveries"], self.node.name))
        for timeout in timeouts:
            if self.random.random() < 0.9:
                self.acknowledge(timeout)

    def acknowledge(self, timeout):
        begin, end, status, _ = self.ask("DELETE", f"/leases/{timeout['token']}")
        self.history.add(Ack(begin, end, timeout["key"], timeout["payload"].split()[0],
                             timeout["deliveries"], status))


class Watcher(threading.Thread):
    """Asks one node for the time that the nodes share, as they ask each other."""

    def __init__(self, node, history):
        super().__init__(name=f"watcher of {node.name}", daemon=True)
        self.node = node
        self.history = history
        self.ended = threading.Event()
        self.error = None

    def watch(self, connection):
        while not self.ended.wait(0.2):
            begin = time.monotonic()
            connection.request("GET", "/peer/time",
                               headers={"Authorization": f"Bearer {self.node.secret}"})
            answer = connection.getresponse()
            text, end = answer.read(), time.monotonic()
            if answer.status == 200:
                self.history.add(Clock(begin, end, self.node.name, **json.loads(text)))

    def run(self):
        try:
            while not self.ended.wait(0.2):
                with contextlib.suppress(*LOST), \
                        contextlib.closing(self.node.connect_as_node(PATIENCE)) as connection:
                    self.watch(connection)
        except Exception as error:  # told by the thread that waits
            self.error = error
