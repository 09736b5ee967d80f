#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""cluster_bench.py HWHEELD LOAD FOLDER OUT [NAME=VALUE...]: what bounds one cluster.

Three servers of etcd and one node, on this machine: operations a second, as single requests and in
batches; how long a node loads; and bytes of a server's database per timeout. OUT gets all figures as
JSON. NAME is ms (3000), rounds (3), pending (1000000), shards (16).
"""
import json
import os
import shutil
import statistics
import subprocess
import sys
import threading
import time

here = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, f"{here}/../../../tools/hwheeld/test")
from daemon import Daemon, free_ports, until  # noqa: E402
from etcd import Etcd  # noqa: E402

program, load, base, out = sys.argv[1:5]
options = {"ms": "3000", "rounds": "3", "pending": "1000000", "shards": "16"} | dict(
    word.split("=", 1) for word in sys.argv[5:])
MS, ROUNDS, PENDING = (int(options[name]) for name in ("ms", "rounds", "pending"))
BATCH = 1000
LOADED = 100000
PAYLOAD = "x" * 100
QUOTA = 8 << 30


def start_node(etcd, name):
    folder = f"{base}/{name}"
    os.makedirs(folder)
    with open(f"{folder}/token", "w", encoding="ascii") as stream:
        print("the secret of the nodes", file=stream)
    node = Daemon(program, folder, cluster=name, node=name, etcd_quota=QUOTA, mark=f"{folder}/mark",
                  shards=options["shards"], session="10s", tick="10ms", timeouts=3000000,
                  listen=f"127.0.0.1:{free_ports(1)[0]}", peer_token_file=f"{folder}/token",
                  **etcd.settings())
    node.start()
    wait_for(node)
    return node


def wait_for(node):
    client = node.client()
    until(lambda: client.request("GET", "/health").status == 200, "all shards are loaded")


def body(first, count):
    return json.dumps({"timeouts": [{"key": f"{first + i:08}", "delay": 86400, "queue": "q",
                                     "payload": PAYLOAD} for i in range(count)]}).encode()


def post_all(node, bodies, connections):
    """Returns how many seconds it took."""
    bodies = iter(bodies)
    lock = threading.Lock()
    failures = []

    def post():
        client = node.client()
        while True:
            with lock:
                text = next(bodies, None)
            if text is None:
                return
            answer = client.request("POST", "/timeouts", text)
            if answer.status != 200:
                failures.append(answer.text)
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


def single(node, clients, seed):
    """Put, and cancel that: operations a second"""
    done = subprocess.run([load, "hwheeld", node.socket, str(clients), "recent", str(MS), "0",
                           str(seed)], check=True, capture_output=True, text=True)
    operations, ns = (int(word) for word in done.stdout.split()[:2])
    return operations * 1e9 / ns


def in_batches(node, connections, first):
    count = 100
    took = post_all(node, [body(first + i * BATCH, BATCH) for i in range(count)], connections)
    return count * BATCH / took


def restart(node):
    """Seconds from the start until all is loaded"""
    if node.stop():
        raise RuntimeError(node.said())
    begin = time.monotonic()
    node.start()
    wait_for(node)
    return time.monotonic() - begin


def size(etcd):
    """Bytes of a server's database that are in use"""
    return etcd.status(etcd.servers[0])["dbSizeInUse"]


def measure_rates(etcd):
    node = start_node(etcd, "rates")
    figures = {}
    for number in range(ROUNDS):
        for clients in (1, 64, 512):
            figures.setdefault(f"single_{clients}", []).append(single(node, clients, number + 1))
        for connections in (1, 4, 16):
            figures.setdefault(f"batches_{connections}", []).append(
                in_batches(node, connections, number * 1000000))
    node.stop()
    return {name: statistics.median(values) for name, values in figures.items()}


def measure_loading(etcd):
    node = start_node(etcd, "loading")
    post_all(node, [body(i * BATCH, BATCH) for i in range(LOADED // BATCH)], 4)
    seconds = statistics.median(restart(node) for _ in range(ROUNDS))
    node.stop()
    return seconds


def measure_size(etcd):
    before = size(etcd)
    node = start_node(etcd, "size")
    took = post_all(node, [body(i * BATCH, BATCH) for i in range(PENDING // BATCH)], 4)
    figures = {"fill_per_s": PENDING / took, "commits": etcd.count("size/log/"),
               "bytes_per_timeout": (size(etcd) - before) / PENDING, "load_s": restart(node)}
    node.stop()
    return figures


def main():
    shutil.rmtree(base, ignore_errors=True)
    os.makedirs(base)
    figures = {}
    with Etcd(os.path.realpath(base) + "/etcd", "--quota-backend-bytes", str(QUOTA)) as etcd:
        for name, measure in (("rates", measure_rates), ("load_100000_s", measure_loading),
                              ("pending", measure_size)):
            figures[name] = measure(etcd)
            print(name, json.dumps(figures[name]), flush=True)
    with open(out, "w", encoding="utf-8") as stream:
        json.dump({"options": options, **figures}, stream, indent=1)


main()
