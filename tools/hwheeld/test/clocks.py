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
    """away: faults during which all nodes were away, so that the time began anew"""

    def __init__(self, answers, away):
        self.answers = answers
        self.away = away
        self.epochs = collections.defaultdict(list)
        for answer in answers:
            self.epochs[answer.epoch].append(answer)

    def found(self):
        """By epoch: what all answers agree on"""
        return {epoch: common([known_by(answer) for answer in answers])
                for epoch, answers in sorted(self.epochs.items())}

    def changes(self):
        """Of one keeper to the next: what was known of the one, and is of the other"""
        before = None
        for epoch, found in self.found().items():
            first = found._replace(at=self.epochs[epoch][0].end)
            if before and not self.begins_anew(before, first):
                yield epoch, before, first
            before = [known_by(answer) for answer in
                      {answer.node: answer for answer in self.epochs[epoch]}.values()]

    def begins_anew(self, before, found):
        last = max(one.at for one in before)
        return any(fault.begin < found.at and fault.end > last for fault in self.away)

    def wrong(self):
        """Returns what is wrong, or None."""
        for epoch, found in self.found().items():
            if found.low > found.high:
                return f"answers of epoch {epoch} exclude each other by {found.low - found.high} ns"
        for epoch, before, found in self.changes():
            if not is_continued(before, found):
                return f"the time of epoch {epoch} is none that a node knew before"
        return None

    def report(self):
        bounds = sorted(answer.bound / 1e6 for answer in self.answers)
        steps = [(found.low + found.high - common(before).low - common(before).high) / 2e6
                 for _, before, found in self.changes()] or [0]
        return (f"{len(self.answers)} times from {len(self.epochs)} keepers; bound "
                f"{bounds[len(bounds) // 2]:.3f} ms (p50), {bounds[-1]:.3f} ms (max); the next "
                f"keeper moved the time by {min(steps):.3f} to {max(steps):.3f} ms")
