#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Tests of python3-hwheel: needs libhwheel.so.0 in LD_LIBRARY_PATH. They run with and without
/dev/hwheel."""

import asyncio
import datetime
import errno
import gc
import inspect
import os
import select
import threading
import unittest
import unittest.mock

import hwheel
import hwheel._wheel
import idle_server
from hwheel import Clock, EventType, Kind, State, Wheel
from hwheel.aio import Timers

SOON = 0.001
LATER = 3600
NO_DELAYS = ((float("nan"), ValueError), (float("inf"), OverflowError),
             (float("-inf"), OverflowError), (-1e-9, OverflowError), (-1, OverflowError),
             (1e10, OverflowError), (1e300, OverflowError), (2 ** 64, OverflowError),
             (datetime.timedelta(microseconds=-1), OverflowError),
             (datetime.timedelta.max, OverflowError), ("1", TypeError), (None, TypeError))
# Is the wheel in this process? Then there is one kind, and its tick is a power of two.
with Wheel() as any_wheel:
    LOCAL = any_wheel.info().local
CUT = (-1, -2 ** 63, 2 ** 64, 2 ** 64 + 5)


class WheelTest(unittest.TestCase):
    """Each test is done with mapped timeouts and by system calls."""

    room = 1024

    def setUp(self):
        self.wheel = Wheel(room=self.room)
        self.addCleanup(self.wheel.close)

    def test_event_has_the_cookie_and_is_not_early(self):
        before = self.wheel.now_ns()
        timeout = self.wheel.arm(SOON, 2 ** 64 - 1)
        (event,) = self.wheel.events()
        self.assertEqual((event.timeout, event.cookie), (timeout, 2 ** 64 - 1))
        self.assertEqual(event.type, EventType.EXPIRED)
        self.assertGreaterEqual(event.deadline_ns, before + 1_000_000)
        self.assertGreaterEqual(event.late_ns, 0)

    def test_deadlines_are_on_the_clock(self):
        deadline = self.wheel.now_ns() + 1_000_000
        self.wheel.arm_at(deadline, 1)
        (event,) = self.wheel.events()
        self.assertLess(event.deadline_ns - deadline, 1024)

    def test_cancel_tells_whether_it_was_pending(self):
        timeout = self.wheel.arm(LATER)
        self.assertTrue(self.wheel.cancel(timeout))
        self.assertFalse(self.wheel.cancel(timeout))
        self.assertFalse(self.wheel.cancel(12345))

    def test_refresh_moves_the_deadline(self):
        timeout = self.wheel.arm(LATER, 1)
        self.assertTrue(self.wheel.refresh(timeout, 2 * LATER))
        state, left, cookie = self.wheel.query(timeout)
        self.assertEqual((state, cookie), (State.PENDING, 1))
        self.assertTrue(LATER < left <= 2 * LATER + 0.001, left)
        self.assertTrue(self.wheel.refresh(timeout, SOON))
        self.assertEqual(self.wheel.events()[0].timeout, timeout)
        self.assertFalse(self.wheel.refresh(timeout, SOON))
        self.assertFalse(self.wheel.refresh_at(timeout, self.wheel.now_ns()))
        self.assertIsNone(self.wheel.query(timeout))

    def test_set_arms_or_moves(self):
        timer = self.wheel.timer(7)
        self.assertEqual(timer.timeout, 0)
        timer.set(LATER)
        first = timer.timeout
        timer.set(2 * LATER)
        timer.set_at(self.wheel.now_ns() + 10 ** 6)
        self.assertEqual(timer.timeout, first)
        (event,) = self.wheel.events()
        self.assertEqual((event.timeout, event.cookie), (first, 7))
        self.assertFalse(timer.withdraw())
        timer.set(LATER)
        self.assertNotEqual(timer.timeout, first)
        self.assertTrue(timer.withdraw())
        self.assertFalse(timer.withdraw())

    def test_set_takes_the_event_back(self):
        timer, other = self.wheel.timer(1), self.wheel.timer(2)
        timer.set(0)
        select.select([self.wheel], [], [])
        timer.set(LATER)
        other.set(0)
        self.assertEqual([event.cookie for event in self.wheel.events()], [2])
        other.set(0)
        select.select([self.wheel], [], [])
        self.assertTrue(other.withdraw())
        timer.set(0)
        self.assertEqual([event.cookie for event in self.wheel.events()], [1])

    def test_again_does_not_drift(self):
        begin = deadline = self.wheel.now_ns()
        timeout, passed = hwheel.Timeout(0), 0
        for _ in range(20):
            timeout, deadline, missed = self.wheel.again(timeout, deadline, 0.001000003)
            passed += 1 + missed
            self.assertEqual(deadline, begin + passed * 1_000_003)
            (event,) = self.wheel.events()
            self.assertEqual(event.timeout, timeout)
            self.assertIn(event.deadline_ns - deadline, range(1024))
        with self.assertRaises(OSError) as caught:
            self.wheel.again(timeout, deadline, 0)
        self.assertEqual(caught.exception.errno, errno.EINVAL)

    def test_events_come_in_the_order_of_deadlines(self):
        now = self.wheel.now_ns()
        for cookie in (3, 1, 2):
            self.wheel.arm_at(now + cookie * 50_000_000, cookie)
        found = []
        while len(found) < 3:
            found += [event.cookie for event in self.wheel.events()]
        self.assertEqual(found, [1, 2, 3])

    def test_integers_out_of_range_change_nothing(self):
        deadline = self.wheel.now_ns() + 3600 * 10 ** 9
        timeout = self.wheel.arm_at(deadline, 5)
        for number in CUT:
            for call in (lambda: self.wheel.arm(LATER, number),
                         lambda: self.wheel.arm_at(number),
                         lambda: self.wheel.arm_at(deadline, number),
                         lambda: self.wheel.refresh_at(timeout, number),
                         lambda: self.wheel.refresh(number, SOON),
                         lambda: self.wheel.refresh_at(number, deadline),
                         lambda: self.wheel.set(number, SOON),
                         lambda: self.wheel.set(timeout, SOON, number),
                         lambda: self.wheel.set_at(timeout, number),
                         lambda: self.wheel.again(timeout, number, SOON),
                         lambda: self.wheel.timer(number),
                         lambda: self.wheel.withdraw(number),
                         lambda: self.wheel.cancel(number),
                         lambda: self.wheel.query(number),
                         lambda: self.wheel.events(number)):
                self.assertRaises(OverflowError, call)
        for call in (self.wheel.refresh, self.wheel.refresh_at):
            self.assertRaises(OverflowError, call, timeout + 2 ** 64, 1)
        for call in (self.wheel.cancel, self.wheel.query):
            self.assertRaises(OverflowError, call, timeout + 2 ** 64)
        self.assert_alone(timeout, deadline)

    def test_delays_that_are_none_change_nothing(self):
        deadline = self.wheel.now_ns() + 3600 * 10 ** 9
        timeout = self.wheel.arm_at(deadline, 5)
        for delay, error in NO_DELAYS:
            self.assertRaises(error, self.wheel.arm, delay)
            self.assertRaises(error, self.wheel.refresh, timeout, delay)
            self.assertRaises(error, self.wheel.set, timeout, delay)
            self.assertRaises(error, self.wheel.timer().set, delay)
            self.assertRaises(error, self.wheel.again, timeout, deadline, delay)
        self.assert_alone(timeout, deadline)

    def test_numbers_are_integers(self):
        deadline = self.wheel.now_ns() + 3600 * 10 ** 9
        timeout = self.wheel.arm_at(deadline, 5)
        for number in (1.0, "1", None):
            for call in (lambda: self.wheel.arm(LATER, number),
                         lambda: self.wheel.arm_at(number),
                         lambda: self.wheel.refresh_at(timeout, number),
                         lambda: self.wheel.cancel(number),
                         lambda: self.wheel.query(number),
                         lambda: self.wheel.events(number)):
                self.assertRaises(TypeError, call)
        self.assert_alone(timeout, deadline)

    def test_ends_of_the_ranges(self):
        first = self.wheel.arm_at(2 ** 64 - 1, 2 ** 64 - 1)
        second = self.wheel.arm((2 ** 63 - 1) // 10 ** 9)
        self.assertFalse(self.wheel.cancel(2 ** 64 - 1))
        self.assertFalse(self.wheel.cancel(0))
        self.assertEqual(self.wheel.query(first)[::2], (State.PENDING, 2 ** 64 - 1))
        self.assertTrue(self.wheel.refresh_at(second, 0))
        self.assertEqual(self.wheel.events()[0].timeout, second)

    def assert_alone(self, timeout, deadline_ns):
        """The timeout is as it was armed, and the only one."""
        self.assertEqual(self.wheel.stop(), 1)
        (event,) = self.wheel.events()
        self.assertEqual((event.timeout, event.cookie), (timeout, 5))
        self.assertIn(event.deadline_ns - deadline_ns, range(1024))

    def test_stop_ends_all(self):
        timeouts = {self.wheel.arm(LATER, cookie) for cookie in range(300)}
        self.assertEqual(self.wheel.stop(), 300)
        events = self.wheel.events(200) + self.wheel.events(200)
        self.assertEqual({event.timeout for event in events}, timeouts)
        self.assertEqual({event.type for event in events}, {EventType.STOPPED})
        self.assertEqual(self.wheel.events(), [])
        with self.assertRaises(OSError) as caught:
            self.wheel.arm(1)
        self.assertEqual(caught.exception.errno, errno.ESHUTDOWN)

    def test_descriptor_is_readable_when_an_event_waits(self):
        self.assertEqual(select.select([self.wheel], [], [], 0)[0], [])
        self.wheel.arm(SOON)
        self.assertEqual(select.select([self.wheel], [], [])[0], [self.wheel])

    def test_threads_may_wait(self):
        found = []
        thread = threading.Thread(target=lambda: found.extend(self.wheel.events()))
        thread.start()
        self.wheel.arm(SOON, 7)
        thread.join()
        self.assertEqual(found[0].cookie, 7)


class CallsTest(WheelTest):
    room = 0


class ConfigTest(unittest.TestCase):
    def test_default_wheel(self):
        with Wheel() as wheel:
            info = wheel.info()
        self.assertEqual((info.kind, info.clock),
                         (Kind.HIERARCHICAL if LOCAL else Kind.HASHED, Clock.MONOTONIC))
        self.assertEqual(info.local, not os.access("/dev/hwheel", os.R_OK | os.W_OK))
        self.assertGreaterEqual(info.tick_ns, 50_000)

    def test_wheel_of_its_own(self):
        with Wheel(kind=Kind.HIERARCHICAL, tick=0.002, slots=64, levels=4,
                   clock=Clock.BOOTTIME, max_timeouts=100) as wheel:
            info = wheel.info()
        self.assertEqual(info[:3], (2 ** 20, 256, 7) if LOCAL else (2_000_000, 64, 4))
        self.assertEqual(info[3:6], (Kind.HIERARCHICAL, Clock.BOOTTIME, 100))

    @unittest.skipIf(LOCAL, "no wheel in a process refuses them")
    def test_simple_wheel_refuses_long_delays(self):
        with Wheel(kind=Kind.SIMPLE, tick=0.01, slots=16) as wheel:
            with self.assertRaises(OSError) as caught:
                wheel.arm(10)
        self.assertEqual(caught.exception.errno, errno.ERANGE)

    def test_wrong_tick_leaves_no_file_open(self):
        before = os.listdir("/proc/self/fd")
        with self.assertRaises(OSError) as caught:
            Wheel(kind=Kind.HASHED, tick=1e-9)
        self.assertEqual(caught.exception.errno, errno.EINVAL)
        self.assertEqual(os.listdir("/proc/self/fd"), before)

    def test_parameters_out_of_range(self):
        before = os.listdir("/proc/self/fd")
        for name, bits in (("slots", 32), ("levels", 32), ("kind", 32), ("clock", 31),
                           ("max_timeouts", 64), ("room", 64)):
            for number in (-2 ** bits - 1, 2 ** bits, 2 ** bits + 1, 2 ** 64 + 1):
                with self.assertRaises(OverflowError, msg=(name, number)):
                    Wheel(**{name: number})
            self.assertRaises(TypeError, lambda: Wheel(**{name: 0.5}))
        for tick, error in ((-1, OverflowError), (float("inf"), OverflowError),
                            (2 ** 64 / 1e9, OverflowError), (float("nan"), ValueError)):
            self.assertRaises(error, lambda: Wheel(kind=Kind.HASHED, tick=tick))
        self.assertEqual(os.listdir("/proc/self/fd"), before)

    def test_limit(self):
        with Wheel(kind=Kind.HASHED, max_timeouts=2, room=0) as wheel:
            wheel.arm(LATER)
            wheel.arm(LATER)
            with self.assertRaises(OSError) as caught:
                wheel.arm(LATER)
        self.assertEqual(caught.exception.errno, errno.ENOSPC)

    def test_wheel_without_blocking_has_no_events(self):
        with Wheel(blocking=False) as wheel:
            self.assertEqual(wheel.events(), [])

    def test_closed_wheel(self):
        wheel = Wheel()
        wheel.close()
        wheel.close()
        for use in (wheel.fileno, wheel.now_ns, wheel.events, wheel.stop, wheel.info):
            self.assertRaises(ValueError, use)
        self.assertRaises(ValueError, wheel.arm, 1)

    def test_forgotten_wheel_is_closed(self):
        before = os.listdir("/proc/self/fd")
        Wheel()
        gc.collect()
        self.assertEqual(os.listdir("/proc/self/fd"), before)


class DelayTest(unittest.TestCase):
    def test_delays_are_rounded_up(self):
        for delay, ns in ((0, 0), (1, 10 ** 9), (1e-9, 1), (1e-10, 1), (0.25, 250_000_000),
                          (datetime.timedelta(days=2, microseconds=1), 172_800_000_001_000)):
            self.assertEqual(hwheel._wheel.delay_ns(delay), ns, delay)


class AsyncioTest(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.timers = Timers()
        self.addCleanup(self.timers.close)

    async def test_callbacks_come_in_order_with_arguments(self):
        found, done = [], asyncio.Event()
        self.timers.call_later(0.1, done.set)
        for delay in (0.06, 0.02, 0.04):
            self.timers.call_later(delay, found.append, delay)
        await done.wait()
        self.assertEqual(found, [0.02, 0.04, 0.06])
        self.assertEqual(len(self.timers), 0)

    async def test_cancelled_callback_is_not_called(self):
        found = []
        handle = self.timers.call_later(SOON, found.append, 1)
        self.assertTrue(handle.cancel())
        self.assertFalse(handle.cancel())
        self.assertFalse(handle.refresh(1))
        await self.timers.sleep(0.05)
        self.assertEqual((found, len(self.timers)), ([], 0))

    async def test_cancel_after_it_has_expired(self):
        """The event waits, as the loop does not run, but the callback was not called yet."""
        found = []
        handle = self.timers.call_later(SOON, found.append, 1)
        select.select([self.timers._wheel], [], [])
        self.assertTrue(handle.cancel())
        await self.timers.sleep(0)
        self.assertEqual((found, self.timers._handles), ([], {}))

    async def test_refresh_after_it_has_expired(self):
        found = []
        handle = self.timers.call_later(SOON, found.append, 1)
        select.select([self.timers._wheel], [], [])
        self.assertTrue(handle.refresh(LATER))
        await self.timers.sleep(0)
        self.assertEqual((found, len(self.timers)), ([], 1))
        self.assertTrue(handle.cancel())

    async def take(self, timers):
        """Takes the events that wait, and lets the loop call their callbacks."""
        timers._take()
        await asyncio.sleep(0)

    async def refused_refresh(self, timers, handle, found):
        """The timer is full, so a handle that has expired cannot be armed anew."""
        with self.assertRaises(OSError) as caught:
            handle.refresh(LATER)
        self.assertEqual(caught.exception.errno, errno.ENOSPC)
        self.assertTrue(handle.pending)
        await self.take(timers)
        self.assertEqual((found, handle.pending), ([1], False))

    def full_timers(self):
        timers = Timers(kind=Kind.HASHED, max_timeouts=1, room=0)
        self.addCleanup(timers.close)
        return timers

    async def test_set_takes_the_place_of_the_event(self):
        found, timers = [], self.full_timers()
        handle = timers.call_later(SOON, found.append, 1)
        select.select([timers._wheel], [], [])
        handle.set(LATER)
        await self.take(timers)
        self.assertEqual((found, handle.pending), ([], True))

    async def test_set_calls_again(self):
        """Before it was armed, while it is pending, and after it was called or cancelled."""
        found = []
        handle = self.timers.timer(found.append, 1)
        self.assertEqual((handle.pending, len(self.timers)), (False, 0))
        for count in (1, 2):
            handle.set(LATER)
            handle.set(SOON)
            self.assertEqual(len(self.timers), 1)
            while handle.pending:
                await self.timers.sleep(SOON)
            self.assertEqual(found, [1] * count)
        handle.set(LATER)
        self.assertTrue(handle.cancel())
        handle.set(SOON)
        while handle.pending:
            await self.timers.sleep(SOON)
        self.assertEqual((found, self.timers._handles), ([1] * 3, {}))

    async def test_set_after_the_event_was_taken(self):
        found = []
        handle = self.timers.call_later(SOON, found.append, 1)
        select.select([self.timers._wheel], [], [])
        self.timers._take()
        handle.set(LATER)
        await asyncio.sleep(0)
        self.assertEqual((found, handle.pending), ([], True))

    async def test_refresh_that_fails_keeps_the_call(self):
        """The event was taken, and another timeout has its place."""
        found, timers = [], self.full_timers()
        handle = timers.call_later(SOON, found.append, 1)
        select.select([timers._wheel], [], [])
        timers._take()
        timers.call_later(LATER, found.append, 2)
        await self.refused_refresh(timers, handle, found)

    async def test_refresh_by_no_delay_keeps_the_callback(self):
        found = []
        handle = self.timers.call_later(SOON, found.append, 1)
        for delay, error in NO_DELAYS:
            self.assertRaises(error, handle.refresh, delay)
            self.assertRaises(error, handle.set, delay)
            self.assertRaises(error, self.timers.call_later, delay, found.append, 2)
        self.assertEqual(len(self.timers), 1)
        select.select([self.timers._wheel], [], [])
        await self.take(self.timers)
        self.assertEqual((found, len(self.timers)), ([1], 0))

    async def test_cancel_that_fails_keeps_the_callback(self):
        """The wheel refuses, as it does where a child process has it after fork()."""
        found = []
        handle = self.timers.call_later(SOON, found.append, 1)
        with unittest.mock.patch.object(Wheel, "withdraw", side_effect=OSError(errno.EBADF, "")):
            self.assertRaises(OSError, handle.cancel)
        self.assertTrue(handle.pending)
        select.select([self.timers._wheel], [], [])
        await self.take(self.timers)
        self.assertEqual((found, len(self.timers)), ([1], 0))

    async def test_refresh_puts_off(self):
        handle = self.timers.call_later(LATER, lambda: None)
        self.assertTrue(handle.refresh(0))
        while handle.pending:
            await asyncio.sleep(0)
        self.assertFalse(handle.refresh(1))

    async def test_cancel_after_the_event_was_taken(self):
        """The one that was armed first is called first, and cancels the other."""
        found = []
        first = self.timers.call_later(0, lambda: found.append(other.cancel()))
        other = self.timers.call_later(0, found.append, "called")
        while first.pending:
            await asyncio.sleep(0)
        await self.timers.sleep(SOON)
        self.assertEqual(found, [True])

    async def test_timeout_ends_a_block(self):
        with self.assertRaises(TimeoutError):
            async with self.timers.timeout(SOON):
                await asyncio.Event().wait()
        self.assertEqual(len(self.timers), 0)

    async def test_timeout_lets_a_block_end(self):
        async with self.timers.timeout(LATER) as handle:
            self.assertTrue(handle.pending)
            await self.timers.sleep(SOON)
        self.assertFalse(handle.pending)
        self.assertEqual(len(self.timers), 0)

    async def test_very_many(self):
        """Nine of ten are cancelled; each of the others is called once."""
        found = []
        handles = [self.timers.call_later(0.05, found.append, n) for n in range(10_000)]
        for n, handle in enumerate(handles):
            if n % 10:
                handle.cancel()
        expected = [n for n in range(10_000) if not n % 10]
        while len(self.timers):
            await self.timers.sleep(SOON)
        self.assertEqual(sorted(found), expected)

    async def test_exception_of_a_callback_is_the_loops(self):
        """The loop's handler logs it, by default, and the others are called."""
        caught, found = [], []
        asyncio.get_running_loop().set_exception_handler(
            lambda loop, context: caught.append(context["exception"]))
        for _ in range(2):
            self.timers.call_later(0, lambda: 1 // 0)
            self.timers.call_later(0, found.append, 1)
        while len(caught) + len(found) < 4:
            await self.timers.sleep(SOON)
        self.assertEqual([type(error) for error in caught], [ZeroDivisionError] * 2)
        self.assertEqual(found, [1, 1])

    async def test_close_calls_nothing(self):
        found = []
        handle = self.timers.call_later(SOON, found.append, 1)
        self.timers.close()
        await asyncio.sleep(0.05)
        self.assertEqual((found, handle.pending), ([], False))


class ExampleTest(unittest.IsolatedAsyncioTestCase):
    """A client that speaks stays longer than one that is silent, and both are closed."""

    async def client(self, port, lines):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        echoes = []
        for line in lines:
            writer.write(line)
            echoes.append(await reader.readline())
            await asyncio.sleep(0.1)
        echoes.append(await reader.read())
        writer.close()
        return echoes

    async def test_idle_server(self):
        async with Timers() as timers:
            idle = idle_server.IdleServer(timers, 1)
            server = await asyncio.start_server(idle.serve, "127.0.0.1", 0)
            port = server.sockets[0].getsockname()[1]
            silent, speaker = await asyncio.gather(self.client(port, []),
                                                   self.client(port, [b"a\n", b"b\n"]))
            self.assertEqual((silent, speaker), ([b""], [b"a\n", b"b\n", b""]))
            self.assertEqual((idle.timed_out, len(timers)), (2, 0))
            server.close()
            await server.wait_closed()


class DocumentationTest(unittest.TestCase):
    def test_all_that_is_public_is_described_and_typed(self):
        for thing in (Wheel, hwheel.Timer, Timers, hwheel.aio.Handle):
            for name, member in inspect.getmembers(thing, inspect.isfunction):
                if name.startswith("_") and name != "__init__":
                    continue
                if thing is not hwheel.aio.Handle or name != "__init__":
                    self.assertTrue(member.__doc__, name)
                self.assertIn("return", member.__annotations__, name)
                typed = set(member.__annotations__) - {"return"}
                self.assertEqual(typed, set(inspect.signature(member).parameters) - {"self"})


class TapResult(unittest.TestResult):
    """Prints a test point for each test."""

    def point(self, test, word, why=""):
        print(*(f"# {line}" for line in why.splitlines()), sep="\n", end="\n" if why else "")
        print(f"{word} {self.testsRun} - {test.id().split('.', 1)[1]}", flush=True)

    def addSuccess(self, test):
        self.point(test, "ok")

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.point(test, "not ok", self.failures[-1][1])

    def addSkip(self, test, reason):
        print(f"ok {self.testsRun} - {test.id().split('.', 1)[1]} # SKIP {reason}", flush=True)

    def addError(self, test, err):
        super().addError(test, err)
        self.point(test, "not ok", self.errors[-1][1])


def main():
    suite = unittest.defaultTestLoader.loadTestsFromModule(__import__("__main__"))
    print("TAP version 13", f"1..{suite.countTestCases()}", sep="\n", flush=True)
    result = suite.run(TapResult())
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    raise SystemExit(main())
