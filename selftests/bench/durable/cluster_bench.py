#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""cluster_bench.py HWHEELD LOAD FOLDER OUT [NAME=VALUE...]: what bounds one ensemble.

Three servers of ZooKeeper and one node, on this machine: operations a second, as single requests
and in batches; how long a node loads; and memory of the servers per timeout. OUT gets all figures
as JSON. NAME is ms (3000), rounds (3), pending (1000000), shards (256).
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
from daemon import Daemon, until  # noqa: E402
from ensemble import Ensemble, free_ports  # noqa: E402

program, load, base, out = sys.argv[1:5]
options = {"ms": "3000", "rounds": "3", "pending": "1000000", "shards": "256"} | dict(
    word.split("=", 1) for word in sys.argv[5:])
MS, ROUNDS, PENDING = (int(options[name]) for name in ("ms", "rounds", "pending"))
BATCH = 1000
LOADED = 100000
PAYLOAD = "x" * 100


def start_node(ensemble, name):
    folder = f"{base}/{name}"
    os.makedirs(folder)
    with open(f"{folder}/token", "w", encoding="ascii") as stream:
        print("the secret of the nodes", file=stream)
    node = Daemon(program, folder, zookeeper=ensemble.addresses, cluster=name, node=name,
                  shards=options["shards"], session="10s", tick="10ms", timeouts=3000000,
                  listen=f"127.0.0.1:{free_ports(1)[0]}", peer_token_file=f"{folder}/token",
                  zookeeper_may_lose="yes")
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


def heap(server):
    """Live bytes of a server, after a collection"""
    text = subprocess.run(["jcmd", str(server.process.pid), "GC.class_histogram"], check=True,
                          capture_output=True, text=True).stdout
    return int(text.strip().splitlines()[-1].split()[2])


def measure_rates(ensemble):
    node = start_node(ensemble, "rates")
    figures = {}
    for number in range(ROUNDS):
        for clients in (1, 64, 256):
            figures.setdefault(f"single_{clients}", []).append(single(node, clients, number + 1))
        for connections in (1, 4, 16):
            figures.setdefault(f"batches_{connections}", []).append(
                in_batches(node, connections, number * 1000000))
    node.stop()
    return {name: statistics.median(values) for name, values in figures.items()}


def measure_loading(ensemble):
    node = start_node(ensemble, "loading")
    post_all(node, [body(i * BATCH, BATCH) for i in range(LOADED // BATCH)], 4)
    let_merge(ensemble)
    seconds = statistics.median(restart(node) for _ in range(ROUNDS))
    node.stop()
    return seconds


def znodes(ensemble):
    return ensemble.servers[0].number("zk_znode_count")


def let_merge(ensemble):
    """Small pieces of the log become large ones for some seconds yet."""
    before = None
    while before != (before := znodes(ensemble)):
        time.sleep(1)


def measure_size(ensemble):
    before, nodes_before = heap(ensemble.servers[0]), znodes(ensemble)
    node = start_node(ensemble, "size")
    took = post_all(node, [body(i * BATCH, BATCH) for i in range(PENDING // BATCH)], 4)
    let_merge(ensemble)
    figures = {"fill_per_s": PENDING / took, "znodes": znodes(ensemble) - nodes_before,
               "heap_per_timeout": (heap(ensemble.servers[0]) - before) / PENDING,
               "load_s": restart(node)}
    node.stop()
    return figures


def main():
    shutil.rmtree(base, ignore_errors=True)
    os.makedirs(base)
    figures = {}
    with Ensemble(base, memory="2g") as ensemble:
        for name, measure in (("rates", measure_rates), ("load_100000_s", measure_loading),
                              ("pending", measure_size)):
            figures[name] = measure(ensemble)
            print(name, json.dumps(figures[name]), flush=True)
    with open(out, "w", encoding="utf-8") as stream:
        json.dump({"options": options, **figures}, stream, indent=1)


main()
