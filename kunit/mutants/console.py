# SPDX-License-Identifier: GPL-2.0-only
"""Complaints of a kernel on its console, by the pattern that the scripts have."""

import functools
import re
import subprocess

from mutant import TOP

# At the beginning of a line, or behind the kernel's time
BEGINNING = r"(?:^|\[ *\d+\.\d{6}\](?:\[ *[TC]\d+\])? )"


@functools.cache
def pattern():
    words = subprocess.run(["bash", "-c", '. "$1" && printf %s "$complaints"', "bash",
                            TOP / "selftests/harness/complaints.sh"],
                           check=True, stdout=subprocess.PIPE, text=True).stdout
    return re.compile(f"{BEGINNING}({words}.*)")


def complaint(line):
    found = pattern().search(line)
    return found[1] if found else None
