# SPDX-License-Identifier: GPL-2.0-only
"""Which requests clients made of a service, what it answered, and which faults there were.

Times are of this machine's monotonic clock. A status is that of HTTP, or UNKNOWN: the connection
was lost, or the answer was 503, which does not say that nothing has changed; or REFUSED: it does.
Each put has a version of its own, which is the payload. A key has one client that puts and cancels
it; after an unknown answer that client leaves the key alone, as the request may still happen.
"""
import dataclasses
import json
import threading

UNKNOWN = 0
REFUSED = 1


@dataclasses.dataclass(frozen=True)
class Put:
    begin: float
    end: float
    key: str
    version: str
    delay: float
    status: int


@dataclasses.dataclass(frozen=True)
class Cancel:
    begin: float
    end: float
    key: str
    status: int


@dataclasses.dataclass(frozen=True)
class Delivery:
    """One timeout of the answer to a take; number: the service counts deliveries of a timeout"""
    begin: float
    end: float
    key: str
    version: str
    lease: float
    number: int
    node: str
    status: int = 200


@dataclasses.dataclass(frozen=True)
class LostTake:
    """A take without an answer: it may have leased something."""
    begin: float
    end: float


@dataclasses.dataclass(frozen=True)
class Ack:
    begin: float
    end: float
    key: str
    version: str
    number: int
    status: int


@dataclasses.dataclass(frozen=True)
class Fault:
    """takes_over: another node has to deliver meanwhile; all_away: no node has the time meanwhile"""
    begin: float
    end: float
    name: str
    takes_over: bool
    all_away: bool = False


@dataclasses.dataclass(frozen=True)
class Clock:
    """
    What a node answered that asks for the time: nanoseconds, and by how much they may be wrong;
    epoch: of the node that keeps the time
    """
    begin: float
    end: float
    node: str
    epoch: int
    time: int
    bound: int


KINDS = {kind.__name__: kind for kind in (Put, Cancel, Delivery, LostTake, Ack, Fault, Clock)}


class History:
    """Many threads add to it; a file keeps it, a line for each."""

    def __init__(self, path=None):
        self.events = []
        self.lock = threading.Lock()
        self.stream = path and open(path, "w", encoding="utf-8")

    def add(self, event):
        with self.lock:
            self.events.append(event)
            if self.stream:
                line = {"kind": type(event).__name__} | dataclasses.asdict(event)
                print(json.dumps(line), file=self.stream)

    def of(self, kind):
        with self.lock:
            return [event for event in self.events if isinstance(event, kind)]

    def close(self):
        if self.stream:
            self.stream.close()


def read(path):
    history = History()
    with open(path, encoding="utf-8") as stream:
        for line in stream:
            fields = json.loads(line)
            history.add(KINDS[fields.pop("kind")](**fields))
    return history
