#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""power_test.py KERNEL HWHEEL_KO HWHEELD FOLDER ROUNDS [SEED]: a machine that loses its power.

A user-mode kernel, whose memory is lost when its process is killed, stands for the machine; its
disk is a file. It is killed at random moments, and started again. What its clients were promised
has to be there, and with synchronous=NORMAL the test has to find that it is not. Prints TAP.
"""
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading

from daemon import Tap, true

kernel, module, program, base, rounds = sys.argv[1:6]
tests = os.path.dirname(os.path.realpath(__file__))
checkout = os.path.realpath(f"{tests}/../../..")
MEGABYTE = 1 << 20

# So many rounds have to be enough to find that commits are not on the disk.
ENOUGH = 20

# A machine that takes so many seconds has failed; one that is slow has not.
LIMIT = 600


class Machine:
    def __init__(self, name, synchronous, chance):
        self.folder = f"{base}/{name}"
        self.synchronous = synchronous
        self.chance = chance
        self.journal = f"{self.folder}/journal"
        os.makedirs(self.folder)
        with open(f"{self.folder}/disk", "wb") as stream:
            stream.truncate(64 * MEGABYTE)
        subprocess.run(["mkfs.ext4", "-q", "-F", f"{self.folder}/disk"], check=True)
        open(self.journal, "wb").close()

    def command(self):
        return [kernel, "mem=256M", "ncpus=2", "seccomp=auto", "quiet", "loglevel=1",
                f"uml_dir={self.folder}/uml/", f"ubd0={self.folder}/disk",
                "rootfstype=hostfs", "rootflags=/", "rw", f"init={tests}/power_init.sh",
                "con=null", "con0=fd:0,fd:1", f"checkout={checkout}", f"tests={tests}",
                f"hwheel_ko={module}", f"hwheeld={program}",
                f"synchronous={self.synchronous}", f"journal={self.journal}",
                f"seed={self.chance.randrange(1 << 30)}"]

    def kill(self, process):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        shutil.rmtree(f"{self.folder}/uml", ignore_errors=True)

    def run(self):
        """Until the power goes. Returns None, or what was wrong."""
        silence, wire = os.pipe()
        process = subprocess.Popen(self.command(), stdin=silence, stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, start_new_session=True)
        timer = threading.Timer(LIMIT, os.killpg, (process.pid, signal.SIGKILL))
        timer.start()
        try:
            return self.follow(process)
        finally:
            timer.cancel()
            self.kill(process)
            self.keep(process.stdout.read())
            os.close(silence)
            os.close(wire)

    def keep(self, data):
        """A line that is cut off was not there yet."""
        with open(self.journal, "ab") as stream:
            for line in data.split(b"\n")[:-1]:
                if line.startswith(b"["):
                    stream.write(line.strip() + b"\n")

    def follow(self, process):
        left = None
        for line in process.stdout:
            line = line.strip()
            if line.startswith(b"["):
                self.keep(line + b"\n")
                left = left and left - 1
                if left == 0:
                    return None
            elif line.startswith(b'{"wrong"'):
                return json.loads(line)["wrong"]
            elif line.startswith(b'{"checked"'):
                left = self.chance.randrange(1, 500)
        return "the machine ended by itself"


def nothing_is_lost(chance):
    machine = Machine("full", "FULL", chance)
    for number in range(1, int(rounds) + 1):
        wrong = machine.run()
        true(not wrong, f"round {number}: {wrong}")
        print(f"# {number} of {rounds} times without power", flush=True)


def less_than_full_is_noticed(chance):
    machine = Machine("normal", "NORMAL", chance)
    for number in range(ENOUGH):
        wrong = machine.run()
        if wrong:
            true(", not {" in wrong, wrong)
            print(f"# noticed in round {number}: {wrong}")
            return
    raise AssertionError("it went unnoticed")


def main():
    tap = Tap()
    seed = tap.begin(6)
    shutil.rmtree(base, ignore_errors=True)
    tap.run(nothing_is_lost, random.Random(seed))
    tap.run(less_than_full_is_noticed, random.Random(seed))
    sys.exit(tap.end())


main()
