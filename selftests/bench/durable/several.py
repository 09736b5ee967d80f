# SPDX-License-Identifier: GPL-2.0-only
"""Nodes of a cluster on this machine, and many timeouts for them"""
import json
import os
import sys
import threading
import time

here = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, f"{here}/../../../tools/hwheeld/test")
from daemon import Daemon, free_ports, until  # noqa: E402

NODES = 3
BATCH = 1000
PAYLOAD = "x" * 100
QUOTA = 8 << 30


class Nodes:
    """program: hwheeld; they have folders in base, and the servers of etcd"""

    def __init__(self, program, base, shards, etcd):
        self.program = program
        self.base = base
        self.shards = shards
        self.etcd = etcd

    def launch(self, cluster, name):
        folder = f"{self.base}/{name}"
        os.makedirs(folder)
        with open(f"{folder}/token", "w", encoding="ascii") as stream:
            print("the secret of the nodes", file=stream)
        node = Daemon(self.program, folder, cluster=cluster, node=name, etcd_quota=QUOTA,
                      mark=f"{folder}/mark", shards=self.shards, session="10s", tick="10ms",
                      timeouts=3000000, connections=4096, client_connections=2048,
                      listen=f"127.0.0.1:{free_ports(1)[0]}", peer_token_file=f"{folder}/token",
                      **self.etcd.settings())
        node.poison = False
        return node.start()

    def start(self, name):
        """One alone"""
        node = self.launch(name, name)
        wait_for(node)
        return node

    def start_several(self, cluster):
        nodes = [self.launch(cluster, f"{cluster}{number}") for number in range(NODES)]
        settle(nodes)
        return nodes


def wait_for(node):
    client = node.client()
    until(lambda: client.request("GET", "/health").status == 200, "all shards are loaded")


def settle(nodes):
    for node in nodes:
        client = node.client()
        until(lambda client=client: len(client.request("GET", "/cluster").json["nodes"]) == NODES,
              "all know each other")
        wait_for(node)


def key(number):
    return f"{number:08}"


def bodies(first, count):
    """Of requests that put so many timeouts"""
    return [json.dumps({"timeouts": [{"key": key(number + i), "delay": 86400, "queue": "q",
                                      "payload": PAYLOAD} for i in range(BATCH)]}).encode()
            for number in range(first, first + count, BATCH)]


def post_all(node, texts, connections):
    """Returns how many seconds it took."""
    texts = iter(texts)
    lock = threading.Lock()
    failures = []

    def post():
        client = node.client()
        while True:
            with lock:
                text = next(texts, None)
            if text is None:
                return
            # request() would check the answer against its description, which takes long.
            client.connection.request("POST", "/timeouts", text)
            answer = client.connection.getresponse()
            found = answer.read()
            if answer.status != 200:
                failures.append(found)
                return

    threads = [threading.Thread(target=post) for _ in range(connections)]
    begin = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise RuntimeError(failures[0])
    return time.monotonic() - begin
