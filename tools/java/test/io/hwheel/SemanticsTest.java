// SPDX-License-Identifier: GPL-2.0-only
package io.hwheel;

import static io.hwheel.Support.NOTHING;
import static io.hwheel.Support.await;
import static io.hwheel.Support.counting;
import static io.hwheel.Support.limited;
import static io.hwheel.Support.passTicks;
import static io.hwheel.Support.timer;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.util.Timeout;
import io.netty.util.TimerTask;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** What programs know of Netty's timer. The first tests stand for the cases of Netty's own test. */
class SemanticsTest {
    private static final long HOUR = TimeUnit.HOURS.toMillis(1);

    @Test
    void doesNotRunBeforeItsTime() throws Exception {
        HashedWheelTimer timer = timer(10);
        AtomicInteger runs = new AtomicInteger();
        Timeout far = timer.newTimeout(t -> runs.incrementAndGet(), HOUR, TimeUnit.MILLISECONDS);
        passTicks(timer, 50);
        assertEquals(0, runs.get());
        assertFalse(far.isExpired());
        assertFalse(far.isCancelled());
        timer.stop();
    }

    @Test
    void runsAndIsExpired() throws Exception {
        HashedWheelTimer timer = new HashedWheelTimer();
        CountDownLatch ran = new CountDownLatch(1);
        AtomicLong seen = new AtomicLong(-1);
        Timeout timeout = timer.newTimeout(t -> {
            seen.set((t.isExpired() ? 1 : 0) + (t.cancel() ? 2 : 0));
            ran.countDown();
        }, 200, TimeUnit.MILLISECONDS);
        await(ran);
        assertTrue(timeout.isExpired());
        assertEquals(1, seen.get(), "expired, and not to be cancelled, while the task runs");
        assertSame(timer, timeout.timer());
        assertFalse(timeout.cancel());
        timer.stop();
    }

    @Test
    void stopHandsBackWhatIsPending() throws Exception {
        HashedWheelTimer done = timer(100);
        CountDownLatch ran = new CountDownLatch(3);
        for (int i = 0; i < 3; i++) {
            done.newTimeout(counting(ran), 1, TimeUnit.MILLISECONDS);
        }
        await(ran);
        assertEquals(0, done.stop().size());

        HashedWheelTimer pending = timer(100);
        Set<Timeout> armed = new HashSet<>();
        for (int i = 0; i < 5; i++) {
            armed.add(pending.newTimeout(NOTHING, HOUR, TimeUnit.MILLISECONDS));
        }
        assertEquals(armed, pending.stop());
        assertEquals(0, pending.pendingTimeouts());
    }

    @Test
    void refusesTimeoutsAfterStop() throws Exception {
        HashedWheelTimer timer = timer(100);
        passTicks(timer, 1);
        timer.stop();
        assertThrows(IllegalStateException.class,
                () -> timer.newTimeout(NOTHING, 1, TimeUnit.MILLISECONDS));
        assertThrows(IllegalStateException.class, timer::start);
        assertEquals(0, timer.pendingTimeouts());
    }

    @Test
    void armsItselfAgain() throws Exception {
        HashedWheelTimer timer = new HashedWheelTimer(Executors.defaultThreadFactory(), 10,
                TimeUnit.MILLISECONDS, 32);
        CountDownLatch runs = new CountDownLatch(3);
        TimerTask task = new TimerTask() {
            @Override
            public void run(Timeout timeout) {
                long delay = runs.getCount() == 1 ? HOUR : 10;
                timer.newTimeout(this, delay, TimeUnit.MILLISECONDS);
                runs.countDown();
            }
        };
        timer.newTimeout(task, 10, TimeUnit.MILLISECONDS);
        await(runs);
        assertEquals(1, timer.stop().size());
    }

    @Test
    void hundredThousandAreNotEarly() throws Exception {
        int many = 100_000;
        HashedWheelTimer timer = limited(200, many);
        CountDownLatch ran = new CountDownLatch(many);
        AtomicInteger early = new AtomicInteger();
        for (int i = 0; i < many; i++) {
            long due = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(125);
            timer.newTimeout(t -> {
                if (System.nanoTime() - due < 0) {
                    early.incrementAndGet();
                }
                ran.countDown();
            }, 125, TimeUnit.MILLISECONDS);
        }
        await(ran);
        assertEquals(0, early.get());
        assertEquals(0, timer.pendingTimeouts());
        timer.stop();
    }

    @Test
    void runsTasksOnTheExecutor() throws Exception {
        CountDownLatch given = new CountDownLatch(1);
        CountDownLatch ran = new CountDownLatch(1);
        Executor executor = command -> {
            command.run();
            given.countDown();
        };
        HashedWheelTimer timer = new HashedWheelTimer(Executors.defaultThreadFactory(), 100,
                TimeUnit.MILLISECONDS, 32, true, 2, executor);
        timer.newTimeout(counting(ran), 10, TimeUnit.MILLISECONDS);
        await(given);
        await(ran);
        timer.stop();
    }

    @Test
    void refusesOneMoreThanTheLimit() {
        HashedWheelTimer timer = limited(100, 2);
        timer.newTimeout(NOTHING, HOUR, TimeUnit.MILLISECONDS);
        timer.newTimeout(NOTHING, HOUR, TimeUnit.MILLISECONDS);
        for (int i = 0; i < 3; i++) {
            assertThrows(RejectedExecutionException.class,
                    () -> timer.newTimeout(NOTHING, 1, TimeUnit.MILLISECONDS));
        }
        assertEquals(2, timer.pendingTimeouts());
        assertEquals(2, timer.stop().size());
    }

    @Test
    void cancelMakesRoomAtOnce() throws Exception {
        HashedWheelTimer timer = limited(10, 2);
        timer.newTimeout(NOTHING, HOUR, TimeUnit.MILLISECONDS);
        for (int i = 0; i < 1000; i++) {
            assertTrue(timer.newTimeout(NOTHING, HOUR, TimeUnit.MILLISECONDS).cancel());
        }
        passTicks(timer, 9);
        timer.stop();
    }

    @Test
    void expiryMakesRoom() throws Exception {
        HashedWheelTimer timer = new HashedWheelTimer(Executors.defaultThreadFactory(), 25,
                TimeUnit.MILLISECONDS, 4, true, 2);
        timer.newTimeout(NOTHING, HOUR, TimeUnit.MILLISECONDS);
        for (int i = 0; i < 3; i++) {
            passTicks(timer, 90);
        }
        timer.stop();
    }

    @Test
    void countsWhatIsPending() throws Exception {
        HashedWheelTimer timer = timer(100);
        CountDownLatch ran = new CountDownLatch(1);
        Timeout first = timer.newTimeout(NOTHING, 100, TimeUnit.MINUTES);
        Timeout second = timer.newTimeout(NOTHING, 100, TimeUnit.MINUTES);
        timer.newTimeout(counting(ran), 90, TimeUnit.MILLISECONDS);
        cancelTwo(timer, first, second);
        await(ran);
        await(() -> timer.pendingTimeouts() == 0);
        timer.stop();
    }

    /** The third one may have expired by now. */
    private static void cancelTwo(HashedWheelTimer timer, Timeout first, Timeout second) {
        assertTrue(timer.pendingTimeouts() >= 2 && timer.pendingTimeouts() <= 3);
        assertTrue(first.cancel());
        assertTrue(second.cancel());
    }

    @Test
    void longestDelayIsNever() throws Exception {
        for (TimeUnit unit : TimeUnit.values()) {
            HashedWheelTimer timer = timer(10);
            Timeout never = timer.newTimeout(NOTHING, Long.MAX_VALUE, unit);
            passTicks(timer, 30);
            assertFalse(never.isExpired());
            assertTrue(never.cancel());
            timer.stop();
        }
    }

    @Test
    void stopCancels() {
        HashedWheelTimer timer = timer(100);
        List<Timeout> armed = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            armed.add(timer.newTimeout(NOTHING, HOUR, TimeUnit.MILLISECONDS));
        }
        timer.stop();
        for (Timeout timeout : armed) {
            assertTrue(timeout.isCancelled());
            assertFalse(timeout.cancel(), "cancel after stop");
        }
    }

    /** Ten are due in the same tick as the first one, which holds the thread up. */
    @Test
    void cancelOfWhatIsDueDiscardsIt() throws Exception {
        HashedWheelTimer timer = limited(100, 11);
        CountDownLatch began = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        AtomicInteger runs = new AtomicInteger();
        timer.newTimeout(t -> {
            began.countDown();
            goOn.await();
        }, 0, TimeUnit.MILLISECONDS);
        List<Timeout> due = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            due.add(timer.newTimeout(t -> runs.incrementAndGet(), 0, TimeUnit.MILLISECONDS));
        }
        await(began);
        passEdge();
        for (Timeout timeout : due) {
            assertTrue(timeout.cancel());
            assertFalse(timeout.cancel());
            assertTrue(timeout.isCancelled());
        }
        assertEquals(0, timer.pendingTimeouts());
        goOn.countDown();
        passTicks(timer, 0);
        assertEquals(0, runs.get());
        assertEquals(0, timer.stop().size());
    }

    /** Returns once two edges of each timer with a tick of 100 ms or less have passed. */
    private static void passEdge() throws InterruptedException {
        HashedWheelTimer other = timer(100);
        passTicks(other, 200);
        other.stop();
    }

    @Test
    void noDelayAndLessMeanTheNextTick() throws Exception {
        HashedWheelTimer timer = timer(10);
        for (long delay : new long[] {0, -1, -HOUR, Long.MIN_VALUE}) {
            passTicks(timer, delay);
        }
        timer.stop();
    }

    /** And not again and again in the same one. */
    @Test
    void aTaskThatComesAgainAtOnceWaitsForTheNextTick() throws Exception {
        long tick = TimeUnit.MILLISECONDS.toNanos(20);
        HashedWheelTimer timer = timer(20);
        List<Long> edges = new ArrayList<>();
        CountDownLatch runs = new CountDownLatch(10);
        TimerTask task = new TimerTask() {
            @Override
            public void run(Timeout timeout) {
                edges.add((System.nanoTime() - timer.wheel.origin) / tick);
                timer.newTimeout(this, 0, TimeUnit.MILLISECONDS);
                runs.countDown();
            }
        };
        timer.newTimeout(task, 0, TimeUnit.MILLISECONDS);
        await(runs);
        timer.stop();
        for (int i = 1; i < 10; i++) {
            assertTrue(edges.get(i) > edges.get(i - 1), edges::toString);
        }
    }

    @Test
    void aDelayOfWholeTurnsIsNotEarly() throws Exception {
        HashedWheelTimer timer = new HashedWheelTimer(1, TimeUnit.MILLISECONDS, 8);
        for (int turns = 1; turns <= 10; turns++) {
            long since = System.nanoTime();
            passTicks(timer, 8 * turns);
            assertTrue(System.nanoTime() - since >= TimeUnit.MILLISECONDS.toNanos(8 * turns));
        }
        timer.stop();
    }

    @Test
    void tasksOfOneTickRunInOrder() throws Exception {
        HashedWheelTimer timer = timer(100);
        List<Integer> order = new ArrayList<>();
        int many = 5000;
        CountDownLatch ran = new CountDownLatch(many);
        for (int i = 0; i < many; i++) {
            int number = i;
            timer.newTimeout(t -> {
                order.add(number);
                ran.countDown();
            }, 0, TimeUnit.MILLISECONDS);
        }
        await(ran);
        timer.stop();
        for (int i = 0; i < many; i++) {
            assertEquals(i, order.get(i));
        }
    }

    @Test
    void aTaskThatThrowsEndsNothing() throws Exception {
        HashedWheelTimer timer = timer(10);
        for (int i = 0; i < 3; i++) {
            timer.newTimeout(t -> {
                throw new AssertionError("on purpose");
            }, 0, TimeUnit.MILLISECONDS);
            passTicks(timer, 0);
        }
        assertEquals(0, timer.pendingTimeouts());
        timer.stop();
    }

    /** The factory's thread starts another one for what it was given, and ends. */
    @Test
    void anotherThreadThanTheFactorysMayRunTheTimer() throws Exception {
        HashedWheelTimer timer = new HashedWheelTimer(
                task -> new Thread(() -> new Thread(task).start()), 10, TimeUnit.MILLISECONDS);
        Timeout far = timer.newTimeout(NOTHING, HOUR, TimeUnit.MILLISECONDS);
        for (int i = 0; i < 3; i++) {
            passTicks(timer, 20);
        }
        AtomicReference<Throwable> refused = new AtomicReference<>();
        timer.newTimeout(t -> refused.set(assertThrows(IllegalStateException.class, timer::stop)),
                0, TimeUnit.MILLISECONDS);
        await(() -> refused.get() != null);
        assertEquals(Set.of(far), timer.stop());
    }

    @Test
    void whatTheExecutorRefusesRunsInTheTimersThread() throws Exception {
        AtomicInteger refused = new AtomicInteger();
        AtomicReference<Thread> thread = new AtomicReference<>();
        HashedWheelTimer timer = new HashedWheelTimer(task -> {
            thread.set(new Thread(task));
            return thread.get();
        }, 10, TimeUnit.MILLISECONDS, 32, true, -1, command -> {
            refused.incrementAndGet();
            throw new RejectedExecutionException("on purpose");
        });
        for (int i = 1; i <= 3; i++) {
            CountDownLatch ran = new CountDownLatch(1);
            AtomicReference<Thread> by = new AtomicReference<>();
            timer.newTimeout(t -> {
                by.set(Thread.currentThread());
                ran.countDown();
            }, 0, TimeUnit.MILLISECONDS);
            await(ran);
            assertEquals(i, refused.get());
            assertSame(thread.get(), by.get());
        }
        assertEquals(0, timer.pendingTimeouts());
        timer.stop();
    }

    /** It runs what it has kept, after the timer's thread has. */
    @Test
    void whatTheExecutorKeepsAndRefusesRunsOnce() throws Exception {
        List<Runnable> kept = new ArrayList<>();
        HashedWheelTimer timer = new HashedWheelTimer(Executors.defaultThreadFactory(), 10,
                TimeUnit.MILLISECONDS, 32, true, -1, command -> {
                    kept.add(command);
                    throw new IllegalStateException("on purpose");
                });
        AtomicInteger runs = new AtomicInteger();
        Timeout timeout = timer.newTimeout(t -> runs.incrementAndGet(), 0, TimeUnit.MILLISECONDS);
        passTicks(timer, 0);
        timer.stop();
        assertEquals(2, kept.size());
        kept.forEach(Runnable::run);
        assertEquals(1, runs.get());
        assertTrue(timeout.isExpired());
    }

    /** They are due in the same tick as the first one, which holds the thread up. */
    @Test
    void stopHandsBackWhatIsDueAndHasNotBegun() throws Exception {
        HashedWheelTimer timer = timer(10);
        CountDownLatch began = new CountDownLatch(1);
        AtomicInteger runs = new AtomicInteger();
        CountDownLatch held = new CountDownLatch(1);
        timer.newTimeout(t -> {
            began.countDown();
            held.await();
        }, 0, TimeUnit.MILLISECONDS);
        await(began);
        Set<Timeout> due = new HashSet<>();
        for (int i = 0; i < 10; i++) {
            due.add(timer.newTimeout(t -> runs.incrementAndGet(), 0, TimeUnit.MILLISECONDS));
        }
        passEdge();
        assertEquals(due, timer.stop());
        assertEquals(0, runs.get());
    }

    @Test
    void aTaskCannotStopTheTimer() throws Exception {
        HashedWheelTimer timer = timer(10);
        CountDownLatch refused = new CountDownLatch(1);
        timer.newTimeout(t -> {
            assertThrows(IllegalStateException.class, timer::stop);
            refused.countDown();
        }, 0, TimeUnit.MILLISECONDS);
        await(refused);
        passTicks(timer, 0);
        timer.stop();
    }

    @Test
    void aLongTaskDelaysAndLosesNothing() throws Exception {
        HashedWheelTimer timer = timer(1);
        CountDownLatch goOn = new CountDownLatch(1);
        CountDownLatch ran = new CountDownLatch(100);
        timer.newTimeout(t -> goOn.await(), 0, TimeUnit.MILLISECONDS);
        for (int i = 0; i < 100; i++) {
            timer.newTimeout(counting(ran), i, TimeUnit.MILLISECONDS);
        }
        passEdge();
        goOn.countDown();
        await(ran);
        assertEquals(0, timer.stop().size());
    }

    @Test
    void stopBeforeStart() {
        HashedWheelTimer timer = timer(10);
        assertEquals(0, timer.stop().size());
        assertEquals(0, timer.stop().size());
        assertThrows(IllegalStateException.class,
                () -> timer.newTimeout(NOTHING, 1, TimeUnit.MILLISECONDS));
    }

    @Test
    void interruptsLeaveTheThreadAlone() throws Exception {
        Thread[] made = new Thread[1];
        HashedWheelTimer timer = new HashedWheelTimer(task -> made[0] = new Thread(task), 10,
                TimeUnit.MILLISECONDS);
        AtomicInteger interrupted = new AtomicInteger();
        for (int i = 0; i < 20; i++) {
            passTicks(timer, 1);
            made[0].interrupt();
            timer.newTimeout(t -> Thread.currentThread().interrupt(), 0, TimeUnit.MILLISECONDS);
        }
        timer.newTimeout(t -> interrupted.set(Thread.currentThread() == made[0] ? 1 : 2), 0,
                TimeUnit.MILLISECONDS);
        passTicks(timer, 20);
        assertEquals(1, interrupted.get());
        timer.stop();
    }

    @Test
    void anInterruptOfATaskConcernsNoOther() throws Exception {
        HashedWheelTimer timer = timer(100);
        AtomicInteger interrupted = new AtomicInteger();
        CountDownLatch ran = new CountDownLatch(20);
        for (int i = 0; i < 20; i++) {
            timer.newTimeout(t -> {
                interrupted.addAndGet(Thread.interrupted() ? 1 : 0);
                Thread.currentThread().interrupt();
                ran.countDown();
            }, 0, TimeUnit.MILLISECONDS);
        }
        await(ran);
        timer.stop();
        assertEquals(0, interrupted.get());
    }

    @Test
    void stopInterruptsATaskAndKeepsTheCallersInterrupt() throws Exception {
        HashedWheelTimer timer = timer(10);
        CountDownLatch began = new CountDownLatch(1);
        CountDownLatch interrupted = new CountDownLatch(1);
        timer.newTimeout(t -> {
            began.countDown();
            try {
                Thread.sleep(HOUR);
            } catch (InterruptedException e) {
                interrupted.countDown();
            }
        }, 0, TimeUnit.MILLISECONDS);
        await(began);
        Thread.currentThread().interrupt();
        timer.stop();
        assertTrue(Thread.interrupted(), "the caller's own interrupt stays");
        assertEquals(0, interrupted.getCount());
    }

    @Test
    void checksItsParameters() {
        assertThrows(NullPointerException.class, () -> new HashedWheelTimer(null));
        assertThrows(NullPointerException.class, () -> new HashedWheelTimer(1, null));
        assertThrows(NullPointerException.class, () -> new HashedWheelTimer(task -> null));
        for (long tick : new long[] {0, -1, Long.MAX_VALUE}) {
            assertThrows(IllegalArgumentException.class,
                    () -> new HashedWheelTimer(tick, TimeUnit.NANOSECONDS));
        }
        for (int ticks : new int[] {0, -1, (1 << 30) + 1}) {
            assertThrows(IllegalArgumentException.class,
                    () -> new HashedWheelTimer(1, TimeUnit.SECONDS, ticks));
        }
        HashedWheelTimer timer = timer(10);
        assertThrows(NullPointerException.class,
                () -> timer.newTimeout(null, 1, TimeUnit.SECONDS));
        assertThrows(NullPointerException.class, () -> timer.newTimeout(NOTHING, 1, null));
        assertEquals(0, timer.pendingTimeouts());
        timer.stop();
    }

    @Test
    void takesTheExtremesOfItsParameters() throws Exception {
        new HashedWheelTimer(1, TimeUnit.NANOSECONDS, 1 << 30).stop();
        new HashedWheelTimer(10, TimeUnit.DAYS, 1).stop();
        HashedWheelTimer timer = new HashedWheelTimer(1, TimeUnit.NANOSECONDS, 1);
        passTicks(timer, 5);
        HashedWheelTimer slow = new HashedWheelTimer(100_000, TimeUnit.DAYS, 1);
        Timeout far = slow.newTimeout(NOTHING, 1, TimeUnit.HOURS);
        passTicks(timer, 30);
        assertFalse(far.isExpired());
        assertEquals(Set.of(far), slow.stop());
        timer.stop();
    }
}
