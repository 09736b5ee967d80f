#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""row.py KERNEL SANITIZER SUITE COMMIT SECONDS STATUS LOG [TAP]...: prints a row of a Markdown table.

It has what doc/results.md is written from: operations, test points passed, skipped and failed,
minutes, commit. Operations are the sum of what diagnostics in LOG call operations=N, states=N or
programs=N; test points are counted as tap.py counts them.
"""

import pathlib
import re
import sys

import tap

DONE = re.compile(r"^ *# .*?\b(?:operations|states|programs)=(\d+)", re.MULTILINE)


def row(kernel, sanitizer, suite, commit, seconds, status, log, *taps):
    verdicts = [verdict for verdict, _ in tap.part(suite, status, *taps)]
    path = pathlib.Path(log)
    text = path.read_text(errors="replace") if path.is_file() else ""
    counts = [sum(map(int, DONE.findall(text))),
              *map(verdicts.count, (tap.PASSED, tap.SKIPPED, tap.FAILED))]
    return " | ".join(["| " + kernel, sanitizer, suite, *(f"{count:,}" for count in counts),
                       f"{int(seconds) / 60:.1f}", f"{commit} |"])


if __name__ == "__main__":
    print(row(*sys.argv[1:]))
