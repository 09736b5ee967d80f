# SPDX-License-Identifier: GPL-2.0-only
"""Clients that know what they were promised."""
import http.client
import itertools
import random

from daemon import Client, equal, true

CLIENTS = 4
KEYS = 12
LOST = (OSError, http.client.HTTPException)


class Worker:
    """A client of its own keys, which knows what each may be: None, or a payload."""

    connect = Client

    def __init__(self, number, seed, note=None):
        self.random = random.Random(seed * 1000 + number)
        self.seed = seed
        self.queue = f"q{number}"
        self.keys = [f"{number}-{key}" for key in range(KEYS)]
        self.may_be = {key: {None} for key in self.keys}
        self.note = note
        self.payloads = itertools.count()
        self.error = None
        self.done = 0

    def payload(self):
        return f"{self.seed}-{next(self.payloads)}"

    def know(self, key, values):
        """It tells before a request what that may do, and afterwards what it did."""
        self.may_be[key] = values
        if self.note:
            self.note(key, values)

    def put(self, client, delay=None):
        key = self.random.choice(self.keys)
        payload = self.payload()
        before = self.may_be[key]
        self.know(key, before | {payload})
        delay = self.random.choice((0, 0.001, 3600)) if delay is None else delay
        answer = client.put(key, delay=delay, queue=self.queue, payload=payload)
        if answer.status in (409, 507):
            self.know(key, before)
        else:
            # An older request, of which nobody knows, has happened by now or never will.
            true(answer.status in (200, 201), answer.text)
            self.know(key, {payload})

    def put_many(self, client):
        chosen = self.random.sample(self.keys, 4)
        wishes = [{"key": key, "delay": 3600, "queue": self.queue,
                   "payload": self.payload()} for key in chosen]
        before = {key: self.may_be[key] for key in chosen}
        for wish in wishes:
            self.know(wish["key"], before[wish["key"]] | {wish["payload"]})
        answer = client.put_many(wishes)
        if answer.status == 507:
            for key in chosen:
                self.know(key, before[key])
            return
        equal(answer.status, 200)
        for wish, result in zip(wishes, answer.json["results"]):
            key = wish["key"]
            if result["status"] == 409:
                self.know(key, before[key])
            elif result["status"] != 503:
                self.know(key, {wish["payload"]})

    def cancel(self, client):
        key = self.random.choice(self.keys)
        before = self.may_be[key]
        self.know(key, before | {None})
        status = client.cancel(key).status
        if status == 409:
            self.know(key, before)
        else:
            true(status == 204 or (status == 404 and None in before), f"{status} {key} {before}")
            self.know(key, {None})

    def seen(self, key, payload):
        true(payload in self.may_be[key], f"{key}: {payload}, not {self.may_be[key]}")
        self.know(key, {payload})

    def take(self, client):
        for timeout in client.take(self.queue, max=3, wait=0.005, lease="50ms"):
            key = timeout["key"]
            self.seen(key, timeout["payload"])
            if self.random.random() < 0.3:
                continue
            self.know(key, self.may_be[key] | {None})
            status = client.ack(timeout["token"])
            if status == 204:
                self.know(key, {None})
            else:
                equal(status, 410)
                self.know(key, {timeout["payload"]})

    def work(self, path):
        client = self.connect(path)
        try:
            while True:
                self.random.choices((self.put, self.cancel, self.take, self.put_many),
                                    (6, 3, 3, 1))[0](client)
                self.done += 1
        except LOST:
            pass
        except Exception as error:  # told by the thread that waits
            self.error = error
        finally:
            client.close()

    def check(self, client):
        if self.error:
            raise self.error
        for key in self.keys:
            answer = client.get(key)
            self.seen(key, None if answer.status == 404 else answer.json["payload"])

    def present(self):
        return {key for key in self.keys if self.may_be[key] != {None}}

    def drain(self, client):
        """All that there is becomes due, and comes."""
        for key in sorted(self.present()):
            while client.put(key, delay=0, queue=self.queue, payload="end").status == 409:
                client.take(self.queue, max=10, wait=0.1, lease="1ms")
            self.know(key, {"end"})
        while self.present():
            for timeout in client.take(self.queue, max=10, wait=30, lease=60):
                self.seen(timeout["key"], timeout["payload"])
                equal(client.ack(timeout["token"]), 204)
                self.know(timeout["key"], {None})
