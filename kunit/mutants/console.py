# SPDX-License-Identifier: GPL-2.0-only
"""Complaints of a kernel on its console."""

import re

SPLAT = re.compile(r"(BUG: .*|WARNING: .*|UBSAN: .*|ODEBUG: .*|INFO: (?:possible|task).*|"
                   r"Kernel panic.*)")


def complaint(line):
    found = SPLAT.search(line)
    return found[1] if found else None
