# SPDX-License-Identifier: GPL-2.0-only
"""A scratch copy of the project whose module is built for a user-mode kernel."""

import functools
import os
import subprocess

import scratch
from mutant import TOP


@functools.cache
def kernel():
    """NAME=VALUE for make: the kernel, and the source that the programs need."""
    return subprocess.run([TOP / "selftests/harness/setup.sh", "native", "source", "programs"],
                          check=True, stdout=subprocess.PIPE, text=True).stdout.split()


class Job(scratch.Job):
    def make(self, target, *variables, run=None):
        """Returns whether all went well. The make that began this script hands no variables on."""
        env = {name: value for name, value in os.environ.items() if name != "MAKEFLAGS"}
        return self.run(["make", "-C", self.top, target, "SEED=1", *kernel(), *variables], env,
                        run or scratch.Run())

    def fails_to_build(self):
        """A verdict, or an empty one if the module with the fault builds."""
        if self.make("_module"):
            return ""
        return "given up" if self.given_up else "does not build"
