# SPDX-License-Identifier: LGPL-2.1-only OR MIT
"""Timeouts of libhwheel in an asyncio loop.

    async with Timers() as timers:
        handle = timers.call_later(30, connection.close)
        handle.set(30)
        async with timers.timeout(2.5):
            await reader.read()

The loop keeps its own timers in a heap, where one that is cancelled stays until its time has come.
Here a timeout that is cancelled is gone, and setting one is an exchange in memory that is shared
with the kernel, or takes a lock where the wheel is in the process. The loop waits for one descriptor, however many timeouts there are.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any

from ._wheel import Delay, EventType, Timeout, Wheel


class Handle:
    """A callback that is to be called, unless it is cancelled before."""

    def __init__(self, timers: Timers, callback: Callable[..., object],
                 args: tuple[Any, ...]) -> None:
        self._timers = timers
        self._callback = callback
        self._args = args
        self._timeout = Timeout(0)
        self._ended = True

    @property
    def pending(self) -> bool:
        """Is it still to be called?"""
        return not self._ended

    def cancel(self) -> bool:
        """The callback is not called any more. False: it was, or this is not the first call."""
        if self._ended:
            return False
        self._timers._wheel.withdraw(self._timeout)
        self._timers._forget(self)
        self._ended = True
        return True

    def set(self, delay: Delay) -> None:
        """Has the callback called delay seconds from now, whether it is pending or not.

        An exception, such as OSError where no more may be pending, leaves the call as it was.
        """
        self._timers._set(self, delay)
        self._ended = False

    def refresh(self, delay: Delay) -> bool:
        """As set(), if it is pending. False: it was called, or cancelled."""
        if self._ended:
            return False
        self.set(delay)
        return True

    def _run(self, timeout: Timeout) -> None:
        """Calls the callback, unless it was cancelled or set since the event was taken."""
        if not self._ended and timeout == self._timeout:
            self._timers._forget(self)
            self._ended = True
            self._callback(*self._args)


class Timers:
    """Timeouts in the loop that runs. Its methods are for the thread of the loop.

    Delays have the range that help(Wheel) describes. The loop calls each callback by itself: if one
    raises an exception, the loop logs it and calls the others.
    """

    def __init__(self, **options: Any) -> None:
        """Makes a set of timeouts. The options are those of Wheel, but for blocking."""
        self._loop = asyncio.get_running_loop()
        self._wheel = Wheel(blocking=False, **options)
        self._handles: dict[Timeout, Handle] = {}
        self._closed = False
        self._loop.add_reader(self._wheel.fileno(), self._take)

    async def __aenter__(self) -> Timers:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None,
                        traceback: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Ends all timeouts; no callback is called any more."""
        if self._closed:
            return
        self._closed = True
        self._loop.remove_reader(self._wheel.fileno())
        for handle in self._handles.values():
            handle._ended = True
        self._handles.clear()
        self._wheel.close()

    def __len__(self) -> int:
        """How many callbacks are to be called"""
        return sum(handle.pending for handle in self._handles.values())

    def _set(self, handle: Handle, delay: Delay) -> None:
        """The event of an older timeout that was taken finds no handle then."""
        timeout = self._wheel.set(handle._timeout, delay)
        self._forget(handle)
        handle._timeout = timeout
        self._handles[timeout] = handle

    def _forget(self, handle: Handle) -> None:
        self._handles.pop(handle._timeout, None)

    def _take(self) -> None:
        """Takes the events that wait; the loop calls again if there are more."""
        for event in self._wheel.events():
            handle = self._handles.get(event.timeout)
            if handle is not None and event.type == EventType.EXPIRED:
                self._loop.call_soon(handle._run, event.timeout)

    def timer(self, callback: Callable[..., object], *args: Any) -> Handle:
        """Returns a handle that is not armed yet: set() has the loop call callback(*args)."""
        return Handle(self, callback, args)

    def call_later(self, delay: Delay, callback: Callable[..., object], *args: Any) -> Handle:
        """Has the loop call callback(*args) after delay seconds, and never before."""
        handle = self.timer(callback, *args)
        handle.set(delay)
        return handle

    async def sleep(self, delay: Delay) -> None:
        """Returns after delay seconds."""
        done = asyncio.Event()
        handle = self.call_later(delay, done.set)
        try:
            await done.wait()
        finally:
            handle.cancel()

    @asynccontextmanager
    async def timeout(self, delay: Delay) -> AsyncIterator[Handle]:
        """Raises TimeoutError if the block takes longer. Its handle can be refreshed."""
        async with asyncio.timeout(None) as limit:
            handle = self.call_later(delay, lambda: limit.reschedule(self._loop.time()))
            try:
                yield handle
            finally:
                handle.cancel()
