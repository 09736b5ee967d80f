# SPDX-License-Identifier: LGPL-2.1-only OR MIT
"""Timeouts from the hwheel kernel module, or in the process where the module is not there.

A Wheel is a private set of timeouts, on libhwheel(3). Delays are seconds, points in time are
nanoseconds on the clock of the wheel:

    with hwheel.Wheel() as wheel:
        timer = wheel.timer(cookie=42)
        timer.set(0.25)
        timer.set(1.5)
        for event in wheel.events():
            print(event.cookie, event.late_ns)

The module hwheel.aio puts timeouts into an asyncio loop. An error of the library is an OSError
with its errno, as everywhere in Python. A number that is outside of its range (see help(Wheel))
raises OverflowError, and changes nothing.
"""

from ._wheel import Clock, Event, EventType, Info, Kind, State, Timeout, Timer, Wheel

__all__ = ["Clock", "Event", "EventType", "Info", "Kind", "State", "Timeout", "Timer", "Wheel"]
__version__ = "0.1.0"
