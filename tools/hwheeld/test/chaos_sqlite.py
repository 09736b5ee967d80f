#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""chaos_sqlite.py FOLDER ROUNDS HWHEELD LINUX HWHEEL_KO [SEED]: one node, with a database.

The daemon is killed, and its machine: a user-mode kernel, whose memory is lost with its process,
and whose disk is a file. The checker of the cluster judges the history; with synchronous=NORMAL it
has to find what is lost. Prints TAP.
"""
import os
import shutil
import subprocess
import sys
import time

from campaign import Campaign
from daemon import Tap, free_ports, true
from history import Fault, History
from machine import Keys, Machine

folder, rounds, program, kernel, module = sys.argv[1:6]
DISK = 64 << 20
# Seconds, about, from a kill to the next one
ROUND = 6
# So many rounds have to be enough to find that commits are not on the disk.
ENOUGH = 20


class OneNode:
    """A cluster of one machine"""

    session = 10

    # After a reboot the time goes on with the wall clock, and that of a user-mode kernel is wrong by
    # what passes in its boot before it has a clock.
    resolution = 0.25

    def __init__(self, name, synchronous):
        self.folder = f"{folder}/{name}"
        os.makedirs(self.folder)
        self.history = History(f"{self.folder}/history")
        disk = f"{self.folder}/disk"
        with open(disk, "wb") as stream:
            stream.truncate(DISK)
        subprocess.run(["mkfs.ext4", "-q", "-F", disk], check=True)
        machine = Machine(kernel, module, program, self.folder, "node", free_ports(1)[0],
                          Keys(f"{self.folder}/keys"), disk=disk, synchronous=synchronous,
                          database="/tmp/disk/log.sqlite")
        self.nodes = [machine]
        self.chance = None

    def fault(self, name, kill, start):
        time.sleep(self.chance.random())
        begin = time.monotonic()
        kill()
        start()
        self.history.add(Fault(begin, time.monotonic(), name, False))

    def the_daemon_is_killed(self):
        node = self.nodes[0]
        self.fault("the daemon is killed", node.kill_daemon, node.start_daemon)

    def the_machine_is_lost(self):
        node = self.nodes[0]
        self.fault("the machine is lost", node.kill, node.start)

    def campaign(self, seed, seconds):
        campaign = Campaign(self, self.history, seed, 0.01)
        self.chance = campaign.chance
        self.nodes[0].start()
        try:
            campaign.each_fault_is_overcome(
                [self.the_daemon_is_killed, self.the_machine_is_lost], seconds)
        finally:
            self.nodes[0].end()
            self.history.close()
        return campaign


def nothing_is_lost(seed):
    OneNode("full", "FULL").campaign(seed, int(rounds) * ROUND).the_history_keeps_the_promises()


def less_than_full_is_noticed(seed):
    campaign = OneNode("normal", "NORMAL").campaign(seed, ENOUGH * ROUND)
    violations = campaign.check()[1]
    rules = sorted({violation.rule for violation in violations})
    true(violations, "it went unnoticed")
    print(f"# {len(violations)} violations: {', '.join(rules)}")


def main():
    tap = Tap()
    seed = tap.begin(6)
    shutil.rmtree(folder, ignore_errors=True)
    tap.run(nothing_is_lost, seed)
    tap.run(less_than_full_is_noticed, seed)
    sys.exit(tap.end())


main()
