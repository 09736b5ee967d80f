# SPDX-License-Identifier: GPL-2.0-only
"""Clocks of a process that are ahead of the machine's, by seconds that a test may change"""
import os
import struct

from daemon import true


class OtherClock:
    def __init__(self, path, programs, wall=0, boot=0):
        """path: of a file of its own; programs: the folder that has other_clock.so"""
        library = f"{os.path.realpath(programs)}/other_clock.so"
        true(os.path.exists(library), f"{library} is missing")
        self.path = os.path.realpath(path)
        self.boot = boot
        self.set(wall)
        self.environment = {"LD_PRELOAD": library, "OTHER_CLOCK": self.path}

    def set(self, wall):
        """The process has the file in its memory: it is written in its place."""
        self.wall = wall
        file = os.open(self.path, os.O_WRONLY | os.O_CREAT, 0o600)
        os.pwrite(file, struct.pack("=qq", wall, self.boot), 0)
        os.close(file)

    def step(self, seconds):
        self.set(self.wall + seconds)
