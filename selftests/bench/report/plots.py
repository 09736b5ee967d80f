# SPDX-License-Identifier: GPL-2.0-only
"""Plots, drawn by gnuplot as SVG.

What a plot shows is text, which is left in its file as a comment: so it can be seen without
gnuplot whether the file shows what was measured.
"""

import collections
import re
import subprocess

import results
import table

IN_KERNEL = ("hwheel",) + table.IN_KERNEL
COLOURS = ("#1b6ca8", "#6fb1de", "#d1495b", "#edae49", "#66a182")
OWN, OTHERS = "0x1b6ca8", "0xa0a0a0"
SIZE = "800,440"

# Lives whose cost is shown against the number, one plot each
GROWING = (("life.arm_at_cancel_queued", "arm, cancel within a tick"),
           ("life.arm_at_cancel_filed", "arm, cancel later"),
           ("life.arm_at_expire", "arm, expire"))
# Ten refreshes would dwarf all else.
TENTHS = ("life.refresh10_cancel",)
PROGRAMS = (("user.life_arm_cancel", "arm + cancel"), ("user.refresh", "refresh"))
# hwheel's are those in batches
PROGRAMS_OWN = {"user.refresh": "user.submit_refresh",
                "user.life_arm_cancel": "user.life_arm_cancel"}

Plot = collections.namedtuple("Plot", "script data")


def quoted(text):
    return '"' + text + '"'


def block(name, rows):
    """Data of gnuplot's, in the script itself"""
    return f"${name} << EOD\n" + "\n".join(" ".join(row) for row in rows) + "\nEOD\n"


def cell(value, divisor=1):
    return "NaN" if value is None else f"{value / divisor:g}"


def head(title):
    return (f"set terminal svg noenhanced size {SIZE} dynamic font 'sans-serif,12' background 'white'\n"
            f"set title {quoted(title)}\nset key outside right top\nset grid ytics\n"
            "set yrange [0:*]\n")


def against_n(found, metric, title):
    """Lines: what a life takes, by how many there are"""
    impls = [impl for impl in IN_KERNEL if found.numbers(metric, impl)]
    numbers = sorted({n for impl in impls for n in found.numbers(metric, impl)})
    data = block("data", [[f"{n}"] + [cell(found.value(metric, impl, n)) for impl in impls]
                          for n in numbers])
    lines = ", ".join(f"$data using 1:{i + 2} title {quoted(impl)} with linespoints lw 2 pt 7 "
                      f"lc rgb '{COLOURS[i]}'" for i, impl in enumerate(impls))
    return Plot(data + head(f"{title}: instructions, by timeouts pending") +
                f"set logscale x\nset format x '%.0s%c'\nset xrange [{numbers[0] / 2}:"
                f"{numbers[-1] * 2}]\nplot {lines}\n", data)


def life_label(metric):
    name = metric.removeprefix("life.")
    return name + (", a tenth" if metric in TENTHS else "")


def lives(found):
    """Bars: what each life takes"""
    metrics = [metric for _, metric in table.LIVES if found.numbers(metric, "hwheel")]
    impls = [impl for impl in IN_KERNEL if found.metrics(impl, "life.")]
    data = block("data", [[quoted(life_label(metric))] +
                          [cell(found.value(metric, impl, table.N),
                                10 if metric in TENTHS else 1) for impl in impls]
                          for metric in metrics])
    bars = ", ".join(f"$data using {i + 2}{':xtic(1)' if not i else ''} title {quoted(impl)} "
                     f"lc rgb '{COLOURS[i]}'" for i, impl in enumerate(impls))
    return Plot(data + head(f"Lives: instructions, {table.N:,} timeouts") +
                "set style data histogram\nset style histogram clustered gap 1\n"
                f"set style fill solid\nset xtics rotate by -25\nplot {bars}\n", data)


def user_rows(found):
    """(what it is, how it is done, colour, value and number) of each way to do it"""
    for metric, title in PROGRAMS:
        yield (title, "hwheel, in batches", OWN,
               table.total(found, PROGRAMS_OWN[metric], "hwheel", table.N))
        for impl in table.IN_PROGRAMS:
            yield title, impl, OTHERS, table.total(found, metric, impl, table.N)


def programs(found):
    """Bars on a logarithmic axis: what programs and the kernel take"""
    rows = [(f"{title}: {name}", colour, total[0])
            for title, name, colour, total in user_rows(found) if total]
    data = block("data", [[f"{i}", cell(value), colour, quoted(title)]
                          for i, (title, colour, value) in enumerate(rows)])
    most = max(value for _, _, value in rows)
    return Plot(data + head(f"Programs: instructions, {table.N:,} timeouts or as near as was "
                            "measured") +
                f"unset key\nset logscale y\nset yrange [1:{3 * most:g}]\n"
                "set style fill solid\nset boxwidth 0.7\nset xtics rotate by -35\n"
                "plot $data using 1:2:3:xtic(4) with boxes lc rgb variable, "
                "$data using 1:2:(sprintf('%.0f', $2)) with labels offset 0,0.6\n", data)


def all_plots(found):
    """{file name: plot}, of what was measured"""
    plots = {}
    for metric, title in GROWING:
        if found.numbers(metric, "hwheel"):
            name = metric.replace("life.", "").replace("_", "-")
            plots[f"bench-{name}.svg"] = against_n(found, metric, title)
    if found.metrics("hwheel", "life."):
        plots["bench-lives.svg"] = lives(found)
    if any(total for *_, total in user_rows(found)):
        plots["bench-programs.svg"] = programs(found)
    return plots


def comment(data):
    return "<!--\n" + data.replace("--", "- -") + "-->\n"


def draw(plot):
    """Returns the SVG, the data in it."""
    try:
        done = subprocess.run(["gnuplot"], input=plot.script, capture_output=True, text=True,
                              check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise results.BadResults(f"gnuplot: {getattr(error, 'stderr', None) or error}") from None
    return re.sub(r"(<svg\b)", lambda found: comment(plot.data) + found[1], done.stdout, count=1)


def shows(svg, plot):
    """Was this file drawn from that data?"""
    return comment(plot.data) in svg
