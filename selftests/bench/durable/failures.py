# SPDX-License-Identifier: GPL-2.0-only
"""How long there is no service when something is killed"""
import base64
import http.client
import json
import ssl
import statistics
import threading
import time

from several import NODES, key, settle
from daemon import Client

ROUNDS = {"leader": 20, "node": 5}
# Between two looks, in seconds
LOOK = 0.005
# Timeouts that stand for all: each shard has some of them.
SOME = 200
ALL_PUT = {200, 201}


class Server:
    """A server's JSON gateway"""

    def __init__(self, etcd, server):
        certificates = etcd.certificates
        context = ssl.create_default_context(cafile=certificates.ca)
        context.load_cert_chain(certificates.certificate, certificates.key)
        self.connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=1,
                                                      context=context)

    def ask(self, path, **body):
        """Nothing if it does not answer"""
        try:
            self.connection.request("POST", path, json.dumps(body))
            return json.loads(self.connection.getresponse().read())
        except (OSError, http.client.HTTPException):
            self.connection.close()
            return {}

    def term(self):
        """Of the leader that it follows, or is; 0 without one"""
        status = self.ask("/v3/maintenance/status")
        return int(status["raftTerm"]) if int(status.get("leader", 0)) else 0

    def counts(self, prefix):
        begin, end = (base64.b64encode(text.encode()).decode()
                      for text in (prefix, prefix[:-1] + chr(ord(prefix[-1]) + 1)))
        found = self.ask("/v3/kv/range", key=begin, range_end=end, count_only=True)
        return int(found.get("count", 0)) if found else None


def seconds_until(condition, since):
    while not condition():
        time.sleep(LOOK)
    return time.monotonic() - since


def summary(name, values):
    return {f"{name}_p50_s": statistics.median(values), f"{name}_max_s": max(values)}


class Putter(threading.Thread):
    """Puts at one node, into all shards at once, until it is told that all have happened."""

    def __init__(self, node, since):
        super().__init__()
        self.node = node
        self.since = since
        self.seconds = None

    def put(self):
        client = Client(self.node.socket)
        try:
            answer = client.put_many([{"key": f"put-{number}", "delay": 86400}
                                      for number in range(SOME)])
            return answer.status == 200 and \
                {result["status"] for result in answer.json["results"]} <= ALL_PUT
        except (OSError, http.client.HTTPException):
            return False
        finally:
            client.close()

    def run(self):
        self.seconds = seconds_until(self.put, self.since)


def measure_killed_leader(etcd, nodes):
    elections, services = [], []
    for _ in range(ROUNDS["leader"]):
        leader = None
        while not leader:
            leader = etcd.leader()
        others = [Server(etcd, server) for server in etcd.servers if server is not leader]
        term = max(server.term() for server in others)
        leader.kill()
        since = time.monotonic()
        putters = [Putter(node, since) for node in nodes]
        for putter in putters:
            putter.start()
        elections.append(seconds_until(
            lambda others=others, term=term: all(server.term() > term for server in others), since))
        for putter in putters:
            putter.join()
        services.append(max(putter.seconds for putter in putters))
        etcd.start()
        settle(nodes)
    return summary("election", elections) | summary("no_service_after_leader", services)


def all_come(client, numbers):
    """Takes the numbers of timeouts that a client gets off the list."""
    while numbers and client.get(key(numbers[-1])).status == 200:
        numbers.pop()
    return not numbers


def measure_killed_node(etcd, nodes, pending):
    """Of as many timeouts, some are asked for: those of each shard."""
    server = Server(etcd, etcd.servers[0])
    before, after = [], []
    for number in range(ROUNDS["node"]):
        node = nodes[number % NODES]
        other = nodes[(number + 1) % NODES].client()
        node.kill()
        since = time.monotonic()
        numbers = list(range(0, pending, pending // SOME))
        ended = threading.Thread(target=lambda since=since: before.append(seconds_until(
            lambda: server.counts("failures/members/") == NODES - 1, since)))
        ended.start()
        served = seconds_until(lambda other=other, numbers=numbers: all_come(other, numbers), since)
        ended.join()
        after.append(served - before[-1])
        node.start()
        settle(nodes)
    return summary("session_end", before) | summary("all_served_after_session", after)
