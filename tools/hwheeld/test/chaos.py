#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""chaos.py FOLDER SECONDS HWHEELD [--seed N] [--session SECONDS] [--pause SECONDS]
[--putters N] [--kernel LINUX --module KO] [--only NAME...]

Three servers of etcd, three nodes, and clients that keep a history while one fault comes after
another, for that many seconds; then the faults end, all that is left has to come, and the checker
judges the history. A node is a user-mode kernel of its own, or without --kernel a process
of this machine. So many clients put, and pause between their requests. Prints TAP; FOLDER keeps
the history and what all of them said.
"""
import argparse
import os
import random
import shutil
import sys

from campaign import Campaign
from chaos_etcd import ChaosEtcd
from chaos_nodes import ProcessNode
from checker import RESOLUTION
from daemon import Tap, free_ports, true, until
from disturbances import Disturbances
from history import History
from machine import HOST, Keys, Machine, keep

NODES = 3
SHARDS = 32

# Seconds: the wall clock of each process that is a node is so much ahead of the one before it, and
# it was booted so much earlier.
AHEAD = 100
BOOT_AHEAD = 1000


class Cluster:
    """Three nodes in kernels of their own, or three processes"""

    resolution = RESOLUTION

    def __init__(self, arguments, etcd):
        self.etcd = etcd
        self.session = arguments.session
        make = self.machines if arguments.kernel else self.processes
        self.nodes = list(make(arguments))

    def settings(self):
        return {"cluster": "chaos", "session": f"{self.session}s", "shards": SHARDS}

    def processes(self, arguments):
        secret = "the secret of the nodes"
        token_file = keep(f"{arguments.folder}/token", secret)
        for number, port in enumerate(free_ports(NODES)):
            yield ProcessNode(os.path.realpath(arguments.hwheeld), arguments.folder,
                              f"node{number}",
                              {"wall": number * AHEAD, "boot": number * BOOT_AHEAD}, secret,
                              listen=f"127.0.0.1:{port}",
                              mark=f"{os.path.realpath(arguments.folder)}/node{number}/mark",
                              peer_token_file=token_file, **self.settings(),
                              **self.etcd.settings())

    def machines(self, arguments):
        keys = Keys(f"{arguments.folder}/keys")
        for number, port in enumerate(free_ports(NODES)):
            yield Machine(arguments.kernel, arguments.module, arguments.hwheeld,
                          arguments.folder, f"node{number}", port, keys,
                          advertise=f"{HOST}:{port}", **self.settings(),
                          **self.etcd.settings(HOST))

    def is_settled(self):
        return all(node.is_settled() for node in self.nodes)

    def settle(self):
        try:
            until(self.is_settled, "the nodes have all shards")
        except AssertionError:
            for node in self.nodes:
                print(f"# {node.name}: {node.state()}", flush=True)
            raise

    def __enter__(self):
        for node in self.nodes:
            node.start()
        self.settle()
        return self

    def __exit__(self, *_):
        for node in self.nodes:
            node.end()


def duration(text):
    """Seconds, or with a unit"""
    units = {"s": 1, "m": 60, "h": 3600}
    return int(text[:-1]) * units[text[-1]] if text[-1] in units else int(text)


def read_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("seconds", type=duration)
    parser.add_argument("hwheeld")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--session", type=int, default=10)
    parser.add_argument("--pause", type=float, default=0.05)
    parser.add_argument("--putters", type=int, default=4)
    parser.add_argument("--kernel")
    parser.add_argument("--module")
    parser.add_argument("--only", nargs="*", default=[])
    arguments = parser.parse_args()
    if arguments.seed is None:
        arguments.seed = random.SystemRandom().randrange(1 << 32)
    return arguments


def choose(disturbances, only):
    kinds = [kind for kind in disturbances.kinds() if not only or kind.__name__ in only]
    true(kinds, f"there is nothing of {only}")
    return kinds


def main():
    arguments = read_arguments()
    shutil.rmtree(arguments.folder, ignore_errors=True)
    os.makedirs(arguments.folder)
    print(f"TAP version 13\n# seed {arguments.seed}", flush=True)
    tap = Tap()
    history = History(f"{arguments.folder}/history")
    programs = os.path.dirname(os.path.realpath(arguments.hwheeld))
    with ChaosEtcd(os.path.realpath(arguments.folder) + "/etcd", programs) as etcd, \
            Cluster(arguments, etcd) as cluster:
        campaign = Campaign(cluster, history, arguments.seed, arguments.pause, arguments.putters)
        kinds = choose(Disturbances(campaign), arguments.only)
        tap.run(campaign.each_fault_is_overcome, kinds, arguments.seconds)
    history.close()
    tap.run(campaign.the_history_keeps_the_promises)
    if any(putter.large_answers for putter in campaign.putters):
        tap.run(campaign.large_requests_are_answered)
    sys.exit(tap.end())


main()
