# SPDX-License-Identifier: LGPL-2.1-only OR MIT
"""A set of timeouts."""

from __future__ import annotations

import ctypes
import datetime
import enum
import errno
import math
import time
from types import TracebackType
from typing import NamedTuple, NewType, Union

from ._library import ConfigStruct, EventStruct, InfoStruct, check, fitting, library

Delay = Union[float, datetime.timedelta]
Timeout = NewType("Timeout", int)

NONBLOCK = 1
ANYWHERE = 2
FEATURE_LOCAL = 1 << 63
LONGEST_NS = 2 ** 63 - 1


class Kind(enum.IntEnum):
    """How a wheel keeps timeouts that are far away."""

    DEFAULT = 0
    HASHED = 1
    HIERARCHICAL = 2
    SIMPLE = 3


class Clock(enum.IntEnum):
    """The clock of deadlines. BOOTTIME goes on while the machine is suspended."""

    MONOTONIC = time.CLOCK_MONOTONIC
    BOOTTIME = time.CLOCK_BOOTTIME


class EventType(enum.IntEnum):
    """How a timeout has ended."""

    EXPIRED = 1
    STOPPED = 2


class State(enum.IntEnum):
    """What a timeout is that has not ended, or whose event was not taken yet."""

    PENDING = 1
    EXPIRED = 2
    STOPPED = 3


class Event(NamedTuple):
    """A timeout that has ended."""

    timeout: Timeout
    cookie: int
    deadline_ns: int
    fired_ns: int
    type: EventType

    @property
    def late_ns(self) -> int:
        """How long after its deadline it came. It is never below 0 for one that expired."""
        return self.fired_ns - self.deadline_ns


class Info(NamedTuple):
    """What a wheel is like. local: it is in this process, as the module is not there for it."""

    tick_ns: int
    slots: int
    levels: int
    kind: Kind
    clock: Clock
    max_timeouts: int
    max_pending: int
    max_user_bytes: int
    local: bool


def nanoseconds(time: Delay) -> int:
    """Returns a time in whole nanoseconds, rounded up, so that nothing comes early."""
    if isinstance(time, datetime.timedelta):
        return time // datetime.timedelta(microseconds=1) * 1000
    return -math.floor(-time * 1_000_000_000)


def delay_ns(delay: Delay) -> int:
    """Returns a delay in nanoseconds, if it is one."""
    delay = nanoseconds(delay)
    if not 0 <= delay <= LONGEST_NS:
        raise OverflowError(f"a delay of {delay} ns is out of range")
    return delay


class Wheel:
    """A private set of timeouts, of the hwheel kernel module or in this process.

    Where the device is missing, or not open to this user, the wheel is in this process: all works as
    on the module, but a wheel is of one kind, and its timeouts are not a forked child's. Any number
    of threads may use it. Close it with close() or a with statement.

    A delay is in seconds, from 0 to 292 years. A deadline, a cookie and a timeout are integers from
    0 to 2 ** 64 - 1. A number that is outside of its range, or infinite, raises OverflowError, NaN
    ValueError, and a float in place of an integer TypeError. In each case nothing was changed.
    """

    def __init__(self, *, tick: Delay = 0, slots: int = 0, levels: int = 0,
                 kind: Kind = Kind.DEFAULT, clock: Clock = Clock.MONOTONIC,
                 max_timeouts: int = 0, blocking: bool = True, room: int = 1024,
                 turn: Delay = 0) -> None:
        """Opens the device, or makes a wheel in this process where there is none.

        With a kind, the set gets a wheel of its own, which costs a kernel thread; tick, slots
        and levels say what it is like, and 0 stands for the default; turn, the longest usual
        delay, chooses slots and levels of a hashed or simple wheel. blocking: events() waits.
        room: for so many timeouts memory is shared with the kernel at first, so that they need
        no system call; with 0 each operation is one.
        """
        handle = ctypes.c_void_p()
        check(library.hwheel_open(ctypes.byref(handle), ANYWHERE | (0 if blocking else NONBLOCK)))
        self._handle: ctypes.c_void_p | None = handle
        try:
            self._configure(tick, slots, levels, kind, clock, max_timeouts, turn)
            self._map(room)
        except BaseException:
            self.close()
            raise

    def _configure(self, tick: Delay, slots: int, levels: int, kind: Kind, clock: Clock,
                   max_timeouts: int, turn: Delay) -> None:
        config = ConfigStruct(tick_ns=nanoseconds(tick), max_timeouts=max_timeouts, slots=slots,
                              levels=levels, kind=kind, clock=clock, turn_ns=nanoseconds(turn))
        if bytes(config) != bytes(ConfigStruct(clock=Clock.MONOTONIC)):
            check(library.hwheel_configure(self._open(), ctypes.byref(config)))

    def _map(self, room: int) -> None:
        """Simple wheels and some processors have no mapped timeouts: all works without."""
        if fitting(room, ctypes.c_size_t):
            result = library.hwheel_map(self._open(), min(room, self.info().max_timeouts))
            if result != -errno.EOPNOTSUPP:
                check(result)

    def _open(self) -> ctypes.c_void_p:
        if self._handle is None:
            raise ValueError("the wheel is closed")
        return self._handle

    def __enter__(self) -> Wheel:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            self.close()

    def close(self) -> None:
        """Ends all timeouts without an event. A second call does nothing."""
        handle, self._handle = self._handle, None
        if handle is not None:
            check(library.hwheel_close(handle))

    def fileno(self) -> int:
        """Returns the descriptor that is readable when an event waits."""
        return int(library.hwheel_fd(self._open()))

    def now_ns(self) -> int:
        """Returns the time on the clock of the wheel."""
        return int(library.hwheel_now(self._open()))

    def timer(self, cookie: int = 0) -> Timer:
        """Returns a timer, which is not armed yet. Its events have the cookie."""
        return Timer(self, cookie)

    def set(self, timeout: Timeout, delay: Delay, cookie: int = 0) -> Timeout:
        """Moves the timeout if it is pending, else arms one. Returns which one is pending now.

        If the timeout has expired, and its event was not taken, it does not come. A timeout that
        is moved keeps its cookie. Timeout(0) is none.
        """
        variable = ctypes.c_uint64(fitting(timeout, ctypes.c_uint64))
        check(library.hwheel_set(self._open(), ctypes.byref(variable), delay_ns(delay), cookie))
        return Timeout(variable.value)

    def set_at(self, timeout: Timeout, deadline_ns: int, cookie: int = 0) -> Timeout:
        """As set(), for a point in time."""
        variable = ctypes.c_uint64(fitting(timeout, ctypes.c_uint64))
        check(library.hwheel_set_at(self._open(), ctypes.byref(variable), deadline_ns, cookie))
        return Timeout(variable.value)

    def again(self, timeout: Timeout, deadline_ns: int, interval: Delay,
              cookie: int = 0) -> tuple[Timeout, int, int]:
        """Sets a timeout that was due at a deadline for the next time, without drift.

        Returns the timeout, the new deadline, which is a whole number of intervals later and lies
        ahead, and how many times were passed over, as they are past.
        """
        variable = ctypes.c_uint64(fitting(timeout, ctypes.c_uint64))
        deadline = ctypes.c_uint64(fitting(deadline_ns, ctypes.c_uint64))
        missed = ctypes.c_uint64()
        check(library.hwheel_again(self._open(), ctypes.byref(variable), ctypes.byref(deadline),
                                   delay_ns(interval), cookie, ctypes.byref(missed)))
        return Timeout(variable.value), deadline.value, missed.value

    def withdraw(self, timeout: Timeout) -> bool:
        """Ends a timeout: no event comes. False: it was taken, or has ended otherwise."""
        return self._found(library.hwheel_withdraw(self._open(), timeout))

    def arm(self, delay: Delay, cookie: int = 0) -> Timeout:
        """Arms a timeout that expires after delay seconds. Its event has the cookie."""
        timeout = ctypes.c_uint64()
        check(library.hwheel_arm(self._open(), delay_ns(delay), cookie,
                                 ctypes.byref(timeout)))
        return Timeout(timeout.value)

    def arm_at(self, deadline_ns: int, cookie: int = 0) -> Timeout:
        """Arms a timeout that expires at a point in time."""
        timeout = ctypes.c_uint64()
        check(library.hwheel_arm_at(self._open(), deadline_ns, cookie, ctypes.byref(timeout)))
        return Timeout(timeout.value)

    @staticmethod
    def _found(result: int) -> bool:
        if result == -errno.ENOENT:
            return False
        check(result)
        return True

    def refresh(self, timeout: Timeout, delay: Delay) -> bool:
        """Gives a pending timeout another delay, from now. False: it has ended."""
        return self._found(library.hwheel_refresh(self._open(), timeout, delay_ns(delay)))

    def refresh_at(self, timeout: Timeout, deadline_ns: int) -> bool:
        """Gives a pending timeout another deadline. False: it has ended."""
        return self._found(library.hwheel_refresh_at(self._open(), timeout, deadline_ns))

    def cancel(self, timeout: Timeout) -> bool:
        """Ends a pending timeout: no event comes. False: it has ended, and its event comes."""
        return self._found(library.hwheel_cancel(self._open(), timeout))

    def query(self, timeout: Timeout) -> tuple[State, float, int] | None:
        """Returns the state, the seconds left and the cookie; None: it has ended."""
        left, cookie = ctypes.c_uint64(), ctypes.c_uint64()
        state = library.hwheel_query(self._open(), timeout, ctypes.byref(left),
                                     ctypes.byref(cookie))
        if not self._found(state):
            return None
        return State(state), left.value / 1e9, cookie.value

    def events(self, most: int = 256) -> list[Event]:
        """Takes events, up to so many. Waits for the first one, if the wheel is blocking.

        An empty list: none waits, or, if the wheel is blocking or was stopped, none comes any
        more.
        """
        buffer = (EventStruct * fitting(most, ctypes.c_size_t))()
        count = library.hwheel_next_events(self._open(), buffer, most)
        while count == -errno.EINTR:
            count = library.hwheel_next_events(self._open(), buffer, most)
        if count == -errno.EAGAIN:
            return []
        return [Event(Timeout(event.id), event.cookie, event.deadline_ns, event.fired_ns,
                      EventType(event.type)) for event in buffer[:check(count)]]

    def stop(self) -> int:
        """Ends all timeouts, each with an event of type STOPPED. Returns how many there were."""
        return check(library.hwheel_stop(self._open()))

    def info(self) -> Info:
        """Tells what the wheel is like."""
        info = InfoStruct()
        check(library.hwheel_info(self._open(), ctypes.byref(info)))
        return Info(info.tick_ns, info.slots, info.levels, Kind(info.kind), Clock(info.clock),
                    info.max_timeouts, info.max_pending, info.max_user_bytes,
                    bool(info.features & FEATURE_LOCAL))


class Timer:
    """A timeout that is set again and again, such as that of a connection.

    One thread at a time uses it. An event is the timer's if event.timeout is timer.timeout: else it
    was taken before the timer was set again, and is over.
    """

    def __init__(self, wheel: Wheel, cookie: int = 0) -> None:
        """Makes a timer that is not armed; Wheel.timer() does that, too."""
        self._wheel = wheel
        self._cookie = fitting(cookie, ctypes.c_uint64)
        self._timeout = Timeout(0)

    @property
    def timeout(self) -> Timeout:
        """The last timeout that was armed; 0: none yet."""
        return self._timeout

    def set(self, delay: Delay) -> None:
        """Has it expire after delay seconds, whether it is pending or not."""
        self._timeout = self._wheel.set(self._timeout, delay, self._cookie)

    def set_at(self, deadline_ns: int) -> None:
        """Has it expire at a point in time, whether it is pending or not."""
        self._timeout = self._wheel.set_at(self._timeout, deadline_ns, self._cookie)

    def withdraw(self) -> bool:
        """Ends it: no event comes. False: it is not armed, or its event was taken."""
        return self._wheel.withdraw(self._timeout)
