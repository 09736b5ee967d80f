# SPDX-License-Identifier: GPL-2.0-only
"""ZooKeeper servers that fail: their clocks are shifted, and their disks get full."""
import glob
import os
import resource

from daemon import until
from ensemble import Ensemble, Server

FAKETIME = "/usr/lib/*/faketime/libfaketimeMT.so.1"
SHIFTS = (0, 3600, -3600, 7 * 3600, -86400)


def shifted(seconds):
    """
    The environment of a process that sees another wall clock. The fix for timed waits on the
    monotonic clock has to be off: with it a Java thread does not wait at all.
    """
    library, = glob.glob(FAKETIME)
    return os.environ | {"LD_PRELOAD": library, "FAKETIME": f"{seconds:+d}",
                         "FAKETIME_DONT_FAKE_MONOTONIC": "1", "FAKETIME_FORCE_MONOTONIC_FIX": "0",
                         "NO_FAKE_STAT": "1"}


class ChaosServer(Server):
    shift = 0

    def start(self):
        self.environment = shifted(self.shift) if self.shift else None
        super().start()

    def limit_files(self, size):
        """A write beyond that fails, as on a full disk: the server's memory has the log anyway."""
        resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    def is_running(self):
        return self.process.poll() is None


class ChaosEnsemble(Ensemble):
    make = ChaosServer

    def revive(self):
        for server in self.servers:
            if not server.is_running():
                server.start()
        until(self.serves, "the servers have a leader")

    def count(self):
        """Of the servers that serve"""
        return sum(1 for server in self.servers if server.mode())
