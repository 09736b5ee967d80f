# SPDX-License-Identifier: GPL-2.0-only
"""Is the time that nodes share right, by what each of them answered?

The time less this machine's clock is a constant while one node keeps the time. An answer bounds it:
the node read its clock between the question and the answer. A node that takes over starts at what
some node knew.
"""
import collections

NS = 1000000000
# How much a bound grows, as clocks differ: in a second
DRIFT = 500e-6

Range = collections.namedtuple("Range", "low high at")


def known_by(answer):
    """What the time less this machine's clock may be, in nanoseconds, for a node that answered"""
    return Range(answer.time - answer.bound - int(answer.end * NS),
                 answer.time + answer.bound - int(answer.begin * NS), answer.end)


def common(ranges):
    return Range(max(one.low for one in ranges), min(one.high for one in ranges), ranges[-1].at)


def is_continued(before, found):
    """before: what was known last of the epoch before, by node"""
    return any(one.low - grown <= found.high and found.low <= one.high + grown
               for one in before for grown in [max(found.at - one.at, 0) * DRIFT * NS])


class Clocks:
    def __init__(self, answers):
        self.answers = answers
        self.epochs = collections.defaultdict(list)
        for answer in answers:
            self.epochs[answer.epoch].append(answer)

    def found(self):
        """By epoch: what all answers agree on"""
        return {epoch: common([known_by(answer) for answer in answers])
                for epoch, answers in sorted(self.epochs.items())}

    def wrong(self):
        """Returns what is wrong, or None."""
        before = None
        for epoch, found in self.found().items():
            if found.low > found.high:
                return f"answers of epoch {epoch} exclude each other by {found.low - found.high} ns"
            first = found._replace(at=self.epochs[epoch][0].end)
            if before is not None and not is_continued(before, first):
                return f"the time of epoch {epoch} is none that a node knew before"
            before = {answer.node: known_by(answer) for answer in self.epochs[epoch]}.values()
        return None

    def report(self):
        found = list(self.found().values())
        middles = [(one.low + one.high) / 2 for one in found]
        bounds = sorted(answer.bound for answer in self.answers)
        return (f"{len(self.answers)} times from {len(found)} keepers; bound "
                f"{bounds[len(bounds) // 2] / 1e6:.3f} ms (p50), {bounds[-1] / 1e6:.3f} ms (max); "
                f"the time moved by {min(middles) / 1e6 - middles[0] / 1e6:.3f} to "
                f"{max(middles) / 1e6 - middles[0] / 1e6:.3f} ms in all")
