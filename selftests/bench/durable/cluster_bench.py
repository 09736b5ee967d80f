#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""cluster_bench.py TOOLS FOLDER OUT [NAME=VALUE...]: what bounds one cluster.

Three servers of etcd and three nodes, on this machine: puts a second as single requests, and what
etcd alone commits in groups of the same size, as many of them on their way. One node: operations a
second, as single requests and in batches; how long it loads; and bytes of a server's database per
timeout. Three nodes: how long there is no service when the leader or a node is killed. TOOLS has
hwheeld, load and etcd_load. OUT gets all figures as JSON, each with the machine's load of the last
minute, its own included. NAME is ms (3000), rounds (3), pending (1000000), shards (16), only (all).
"""
import json
import os
import shutil
import statistics
import subprocess
import sys
import time

from several import NODES, QUOTA, Nodes, bodies, post_all, wait_for
from etcd import Etcd
from failures import measure_killed_leader, measure_killed_node

tools, base, out = sys.argv[1:4]
options = {"ms": "3000", "rounds": "3", "pending": "1000000", "shards": "16", "only": ""} | dict(
    word.split("=", 1) for word in sys.argv[4:])
MS, ROUNDS, PENDING = (int(options[name]) for name in ("ms", "rounds", "pending"))
LOADED = 100000

# A record of load's in a commit: its length, a header, key, queue and payload
RECORD = 4 + 72 + 16 + 7 + 100

# A node has so many txns on their way, see consensus/tenure/group.c.
WINDOW = 1


def those(etcd):
    return Nodes(f"{tools}/hwheeld", base, options["shards"], etcd)


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
    nodes = those(etcd).start_several("nodes")
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
    count = 100000
    return count / post_all(node, bodies(first, count), connections)


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
    node = those(etcd).start("rates")
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
    node = those(etcd).start("loading")
    post_all(node, bodies(0, LOADED), 4)
    seconds = statistics.median(restart(node) for _ in range(ROUNDS))
    node.stop()
    return seconds


def measure_size(etcd):
    before = size(etcd)
    node = those(etcd).start("size")
    took = post_all(node, bodies(0, PENDING), 4)
    figures = {"fill_per_s": PENDING / took, "commits": etcd.count("size/log/"),
               "bytes_per_timeout": (size(etcd) - before) / PENDING, "load_s": restart(node)}
    node.stop()
    return figures


def measure_failures(etcd):
    nodes = those(etcd).start_several("failures")
    post_all(nodes[0], bodies(0, LOADED), 4)
    figures = measure_killed_leader(etcd, nodes) | measure_killed_node(etcd, nodes, LOADED)
    for node in nodes:
        node.stop()
    return figures


def main():
    shutil.rmtree(base, ignore_errors=True)
    os.makedirs(base)
    figures = {}
    with Etcd(os.path.realpath(base) + "/etcd", "--quota-backend-bytes", str(QUOTA)) as etcd:
        for name, measure in (("nodes", measure_nodes), ("rates", measure_rates),
                              ("load_100000_s", measure_loading), ("pending", measure_size),
                              ("failures", measure_failures)):
            if options["only"] not in ("", name):
                continue
            figures[name] = measure(etcd)
            figures[f"{name}_beside"] = os.getloadavg()[0]
            print(name, json.dumps(figures[name]), flush=True)
    with open(out, "w", encoding="utf-8") as stream:
        json.dump({"options": options, **figures}, stream, indent=1)


main()
