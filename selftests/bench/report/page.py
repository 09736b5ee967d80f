# SPDX-License-Identifier: GPL-2.0-only
"""The tables of the page about performance: rendered from what was measured, nothing else.

They stand between two comments in the page.
"""

import os
import re

import plots
import results
import table
import targets

BEGIN = "<!-- performance: make performance renders what follows -->\n"
END = "<!-- end of performance -->\n"

GROUPS = (("user.cancel_newest_first", "Programs that cancel the newest first"),
          ("mapped.", "Mapped timeouts, by a loop over the protocol"),
          ("idle.", "Wake-ups when nothing happens"),
          ("memory.", "Memory of each timeout"),
          ("saturation.", "A worker that is busy all the time, and submitters side by side: the "
                          "best of all runs"))
LATENESS = re.compile(r"lateness\.(.*)_(p50|p99|p999|max|early)")
QUANTILES = ("p50", "p99", "p999", "max", "early")


def row(cells):
    return "| " + " | ".join(cells) + " |"


def markdown(heads, rows):
    yield row(heads)
    yield row(["---"] + ["--:"] * (len(heads) - 1))
    for cells in rows:
        yield row(cells)
    yield ""


def ratio_cell(cell):
    return f"{cell[0]} ({cell[1]})" if cell else ""


def compared(found):
    for heading, n, impls, rows in table.sections(found):
        heads = [table.at(impl, rows, i, n) for i, impl in enumerate(impls)]
        yield f"{heading}, {n:,} timeouts:"
        yield ""
        yield from markdown([""] + ["hwheel"] + heads,
                            ([title, own] + [ratio_cell(cell) for cell in cells]
                             for title, own, cells in rows))


def listed(found):
    rest = table.others(found)
    for group, heading in GROUPS:
        rows = [row for row in rest if row[0].startswith(group)]
        if not rows:
            continue
        impls = list(dict.fromkeys(impl for *_, values in rows for impl, _ in values))
        yield f"{heading}:"
        yield ""
        yield from markdown(["", "timeouts", "unit"] + impls,
                            ([metric.partition(".")[2], f"{n:,}", unit] +
                             [dict(values).get(impl, "") for impl in impls]
                             for metric, n, unit, values in rows))


def threads(found):
    rows = list(table.threads(found))
    if rows:
        numbers = [n for n, *_ in rows[0][3]]
        yield "Threads side by side, each on a CPU: what an arm and a cancel take each thread, and"
        yield "how many times as much as one thread alone:"
        yield ""
        yield from markdown(["", "", "unit", *(f"{n} thread{'s'[:n > 1]}" for n in numbers)],
                            ([metric.removeprefix(table.THREADS), impl, unit] +
                             [value if n == 1 else f"{value} ({ratio})"
                              for n, value, ratio in cells]
                             for metric, impl, unit, cells in rows))


def lateness(found):
    rows = {}
    for entry in found:
        named = LATENESS.fullmatch(entry["metric"])
        if named:
            key = (named[1], entry["n"], entry["impl"])
            rows.setdefault(key, {})[named[2]] = table.amount(entry["value"])
    if rows:
        yield "How late timeouts are, in ticks, and how many were early:"
        yield ""
        yield from markdown(["", "timeouts", "", *QUANTILES],
                            ([name, f"{n:,}", impl] + [values.get(q, "") for q in QUANTILES]
                             for (name, n, impl), values in sorted(rows.items())))


def hierarchical(found):
    rows = table.lateness(found)
    if rows:
        yield f"{table.LATENESS_HEADING}:"
        yield ""
        yield from markdown(["", "timeouts", "", *table.LATENESS_HEADS.values()], rows)


def targeted(found):
    yield "Goals, computed from the same run:"
    yield ""
    yield from markdown(["", "at most", "seen", ""],
                        ([v.title, v.bound, v.seen, v.word] for v in targets.judge(found)))


def facts(abouts):
    """Each fact once, with the folders that it is from if they differ"""
    known = {}
    for folder, about in abouts.items():
        for word, value in about.items():
            known.setdefault((word, value), []).append(folder.removeprefix("bench-"))
    for (word, value), folders in known.items():
        if word != "check":
            yield f"- {', '.join(folders)}: {word} {value}"


def pictures(found, folder):
    for name in plots.all_plots(found):
        yield f"![{name.removeprefix('bench-').removesuffix('.svg')}]({os.path.join(folder, name)})"
    yield ""


def section(found, abouts, folder):
    """The plots are in that folder, seen from the page."""
    lines = ["The number in brackets is the cost divided by hwheel's: below 1 the peer is "
             "cheaper.", "", *pictures(found, folder),
             *compared(found), *threads(found), *lateness(found),
             *hierarchical(found), *listed(found), *targeted(found),
             "Measured on:", "", *facts(abouts), ""]
    return "\n".join(lines) + "\n"


def split(text):
    """Returns the text before the section, the section, and the text behind it."""
    parts = re.split(f"({re.escape(BEGIN)}|{re.escape(END)})", text)
    if len(parts) != 5 or parts[1] != BEGIN or parts[3] != END:
        raise results.BadResults("the page does not have the two comments, once each")
    return parts[0] + BEGIN, parts[2], END + parts[4]


def render(text, new):
    before, _, behind = split(text)
    return before + new + behind
