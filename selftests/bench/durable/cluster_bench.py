#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""cluster_bench.py TOOLS FOLDER OUT [NAME=VALUE...]: what bounds one cluster.

Three servers of etcd and three nodes, on this machine: puts a second as single requests, and what
etcd alone commits in groups of the same size, as many of them on their way. One node: operations a
second, as single requests and in batches; how long it loads; and bytes of a server's database per
timeout. TOOLS has hwheeld, load and etcd_load. OUT gets all figures as JSON, each with the
machine's load of the last minute, its own included. NAME is ms (3000), rounds (3), pending
(1000000), shards (16), only (all).
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

tools, base, out = sys.argv[1:4]
options = {"ms": "3000", "rounds": "3", "pending": "1000000", "shards": "16", "only": ""} | dict(
    word.split("=", 1) for word in sys.argv[4:])
MS, ROUNDS, PENDING = (int(options[name]) for name in ("ms", "rounds", "pending"))
NODES = 3
BATCH = 1000
LOADED = 100000
PAYLOAD = "x" * 100
QUOTA = 8 << 30

# A record of load's in a commit: its length, a header, key, queue and payload
RECORD = 4 + 72 + 16 + 7 + 100

# A node has so many txns on their way, see consensus/tenure/group.c.
WINDOW = 1


def launch(etcd, cluster, name):
    folder = f"{base}/{name}"
    os.makedirs(folder)
    with open(f"{folder}/token", "w", encoding="ascii") as stream:
        print("the secret of the nodes", file=stream)
    node = Daemon(f"{tools}/hwheeld", folder, cluster=cluster, node=name, etcd_quota=QUOTA,
                  mark=f"{folder}/mark",
                  shards=options["shards"], session="10s", tick="10ms", timeouts=3000000,
                  connections=4096, client_connections=2048,
                  listen=f"127.0.0.1:{free_ports(1)[0]}", peer_token_file=f"{folder}/token",
                  **etcd.settings())
    node.poison = False
    node.start()
    return node


def start_node(etcd, name):
    node = launch(etcd, name, name)
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


def rate(*command):
    """What it says that it did, a second"""
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    operations, ns = (int(word) for word in done.stdout.split()[:2])
    return operations * 1e9 / ns


def single(nodes, clients, operation, seed):
    return rate(f"{tools}/load", "hwheeld", ",".join(node.socket for node in nodes), str(clients),
                operation, str(MS), "0", str(seed))


def revision(etcd):
    """How many txns there were"""
    return max(etcd.status(server)["header"]["revision"] for server in etcd.servers)


def of_etcd_alone(etcd, group, seed):
    """Records a second"""
    certificates = etcd.certificates
    txns = rate(f"{tools}/etcd_load", etcd.addresses, certificates.ca, certificates.certificate,
                certificates.key, f"alone{seed}", str(NODES * WINDOW), str(round(group * RECORD)),
                str(MS))
    return txns * group


def measure_nodes(etcd):
    """Three nodes, and etcd alone"""
    nodes = [launch(etcd, "nodes", f"node{number}") for number in range(NODES)]
    for node in nodes:
        until(lambda node=node: len(node.client().request("GET", "/cluster").json["nodes"]) == NODES,
              "all know each other")
        wait_for(node)
    figures = {}
    for clients in 64, 512:
        rounds = []
        for number in range(ROUNDS):
            seed = clients * ROUNDS + number
            before = revision(etcd)
            puts = single(nodes, clients, "put", seed)
            group = puts * MS / 1000 / (revision(etcd) - before)
            rounds.append((puts, of_etcd_alone(etcd, group, seed), group))
        names = f"puts_{clients}", f"alone_{clients}", f"group_{clients}"
        figures |= zip(names, map(statistics.median, zip(*rounds)))
        figures[f"ratio_{clients}"] = statistics.median(puts / alone for puts, alone, _ in rounds)
    for node in nodes:
        node.stop()
    return figures


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
            figures.setdefault(f"single_{clients}", []).append(
                single([node], clients, "recent", number + 1))
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
        for name, measure in (("nodes", measure_nodes), ("rates", measure_rates),
                              ("load_100000_s", measure_loading), ("pending", measure_size)):
            if options["only"] not in ("", name):
                continue
            figures[name] = measure(etcd)
            figures[f"{name}_beside"] = os.getloadavg()[0]
            print(name, json.dumps(figures[name]), flush=True)
    with open(out, "w", encoding="utf-8") as stream:
        json.dump({"options": options, **figures}, stream, indent=1)


main()
