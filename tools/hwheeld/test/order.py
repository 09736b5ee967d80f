# SPDX-License-Identifier: GPL-2.0-only
"""Is there an order of all requests about a key in which each answer is right?

Each request took effect at one moment between its beginning and its end; one without an answer may
have done so at any moment since it began, or never. The search is that of Wing and Gong, "Testing
and Verifying Concurrent Objects" (1993), which Lowe, "Testing for Linearizability" (2017), keeps
from coming to a state twice. Where there is a choice, the earliest moment is the best one: all that
hwheeld promises about time is that something does not happen before.
"""
import collections

from history import UNKNOWN, Ack, Cancel, Delivery, Put

# Two clocks may differ by so much
RATE = 500e-6

# Answers that say what has happened; with others nothing has.
ANSWERS = {Put: (200, 201, 409), Cancel: (204, 404, 409), Delivery: (200,), Ack: (204, 410)}

# What hwheeld promises. "lost": a timeout that is there stays, and comes until it is acknowledged:
# in the end nothing is there. "early": not before it is
# due. "leased": to nobody else before the lease has ended. "gone": what has ended, was replaced or
# never was does not come.
PROMISES = ("lost", "early", "leased", "gone")

# Of a key. due and free: not delivered, and not another's, before then; free is None without a
# lease. number: of deliveries. at: not before then did the last request take effect. used: writes
# without an answer that have happened.
State = collections.namedtuple("State", "version due number free at used")


class Order:
    """Of what is known of one key; unseen_since: from then on nobody may have seen a lease.

    resolution: seconds that reading a clock takes. broken: promises that need not be kept.
    """

    def __init__(self, events, unseen_since, resolution, broken=()):
        self.resolution = resolution
        self.broken = broken
        self.unseen_since = unseen_since
        self.known = sorted((event for event in events if event.status in ANSWERS[type(event)]),
                            key=lambda event: event.begin)
        unknown = sorted((event for event in events if event.status == UNKNOWN),
                         key=lambda event: event.begin)
        self.unknown = [event for event in unknown if not isinstance(event, Ack)]
        self.acks = {(ack.version, ack.number): ack
                     for ack in reversed(unknown) if isinstance(ack, Ack)}
        self.numbers = collections.defaultdict(int)
        for event in self.known:
            if isinstance(event, Delivery):
                self.numbers[event.version] = max(self.numbers[event.version], event.number)

    def find(self):
        """Returns None if there is an order, else the request to which none leads."""
        start = (0, frozenset(), State(None, 0, 0, None, 0, frozenset()))
        stack, seen, furthest = [start], {start}, 0
        while stack:
            first, ahead, state = stack.pop()
            furthest = max(furthest, first)
            if first == len(self.known) and state.version is None:
                return None
            for step in self.steps(first, ahead, state):
                if step not in seen:
                    seen.add(step)
                    stack.append(step)
        return self.known[min(furthest, len(self.known) - 1)]

    def steps(self, first, ahead, state):
        """The last one is tried first: what is known before what may be."""
        latest = float("inf")
        known = []
        for i in range(first, len(self.known)):
            event = self.known[i]
            if event.begin > latest:
                break
            if i not in ahead:
                latest = min(latest, event.end)
                known.append(i)
        for after in self.may_be(state):
            if after.at <= latest:
                yield first, ahead, after
        for i in reversed(known):
            event = self.known[i]
            after = self.apply(event, state._replace(at=max(state.at, event.begin)))
            if after and after.at <= latest:
                yield *self.done(first, ahead | {i}), after

    def done(self, first, ahead):
        while first in ahead:
            ahead -= {first}
            first += 1
        return first, ahead

    # What each request does: the state after it, or None, if its answer is wrong

    def apply(self, event, state):
        return {Put: self.write, Cancel: self.write, Delivery: self.deliver,
                Ack: self.acknowledge}[type(event)](event, state)

    def write(self, event, state):
        if event.status in (201, 404):
            return self.after_write(event, state) if state.version is None else None
        if state.version is None:
            return self.after_write(event, state) if "gone" in self.broken else None
        if event.status == 409:
            # Without a lease: a node leased it for another, which gave it back as nobody waited.
            return state if state.free else state._replace(at=max(state.at, state.due))
        return self.after_write(event, self.free(state))

    def after_write(self, event, state):
        if isinstance(event, Cancel):
            return State(None, 0, 0, None, state.at, state.used)
        due = event.begin + event.delay * (1 - RATE) - self.resolution
        return State(event.version, 0 if "early" in self.broken else due, 0, None, state.at,
                     state.used)

    def deliver(self, event, state):
        if state.version != event.version or state.number != event.number - 1:
            return state if "gone" in self.broken else None
        return self.lease(state, event.lease)

    def acknowledge(self, event, state):
        has_lease = (state.version, state.number) == (event.version, event.number) and \
            state.free is not None
        if event.status == 204:
            if has_lease:
                return State(None, 0, 0, None, state.at, state.used)
            return state if "gone" in self.broken else None
        return self.free(state) if has_lease else state

    def free(self, state):
        """The lease has ended, which nobody may have noticed."""
        if state.free is None:
            return state
        return state._replace(at=max(state.at, state.free), free=None)

    def lease(self, state, seconds):
        at = max(self.free(state).at, state.due)
        ends = at if "leased" in self.broken else at + seconds * (1 - RATE) - self.resolution
        return state._replace(number=state.number + 1, free=ends, at=at)

    # What may have happened besides

    def may_be(self, state):
        for event in self.unknown:
            if event not in state.used:
                at = max(state.at, event.begin)
                after = self.after_write(event, self.free(state._replace(at=at)))
                yield after._replace(used=state.used | {event})
        if state.version is None:
            return
        ack = self.acks.get((state.version, state.number))
        if ack and state.free is not None:
            yield State(None, 0, 0, None, max(state.at, ack.begin), state.used)
        if state.number <= self.numbers[state.version]:
            # A node gives back what it leased for nobody, or cannot, and the lease ends.
            at = max(self.free(state).at, state.due, self.unseen_since)
            yield state._replace(number=state.number + 1, free=None, at=at)
        if "lost" in self.broken:
            yield State(None, 0, 0, None, state.at, state.used)


def broken_promise(events, unseen_since, resolution):
    """Returns None, or (promise, request): there is an order if the promise need not be kept, and
    none without that leads to the request. Where it takes more than one: "several"."""
    wrong = Order(events, unseen_since, resolution).find()
    if not wrong:
        return None
    for promise in PROMISES:
        if not Order(events, unseen_since, resolution, {promise}).find():
            return promise, wrong
    return "several", wrong
