// SPDX-License-Identifier: GPL-2.0-only
package io.hwheel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.util.Timeout;
import io.netty.util.TimerTask;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;

/** A wheel on other clocks than the machine's. */
class WheelTest {
    private static final long TICK = TimeUnit.MILLISECONDS.toNanos(10);

    /** Runs with the machine's, from another time on. */
    private static Clock from(long start) {
        long offset = start - System.nanoTime();
        return new Clock() {
            @Override
            long nanoTime() {
                return System.nanoTime() + offset;
            }
        };
    }

    private Thread thread;
    private final AtomicInteger looks = new AtomicInteger();

    private HashedWheelTimer on(Clock clock) {
        return new HashedWheelTimer(new Wheel(task -> thread = new Thread(task), TICK, 0, null,
                NettyLog.INSTANCE, clock), true);
    }

    /** At its least and largest values, and from negative numbers to positive ones. */
    @Test
    void theClockWrapsAround() throws Exception {
        long soon = 5 * TICK;
        for (long start : new long[] {Long.MAX_VALUE - soon, Long.MIN_VALUE, -soon, 0}) {
            Clock clock = from(start);
            HashedWheelTimer timer = on(clock);
            AtomicInteger early = new AtomicInteger();
            CountDownLatch ran = new CountDownLatch(20);
            for (int i = 0; i < 20; i++) {
                long delay = i * TICK;
                long since = clock.nanoTime();
                timer.newTimeout(t -> {
                    early.addAndGet(clock.nanoTime() - since < delay ? 1 : 0);
                    ran.countDown();
                }, delay, TimeUnit.NANOSECONDS);
            }
            Timeout far = timer.newTimeout(Support.NOTHING, Long.MAX_VALUE, TimeUnit.DAYS);
            Support.await(ran);
            assertEquals(0, early.get());
            assertFalse(far.isExpired());
            assertEquals(Set.of(far), timer.stop());
        }
    }

    /** As after a machine that was suspended, with a clock that goes on meanwhile. */
    @Test
    void theClockJumps() throws Exception {
        AtomicLong offset = new AtomicLong();
        Clock clock = new Clock() {
            @Override
            long nanoTime() {
                return System.nanoTime() + offset.get();
            }
        };
        HashedWheelTimer timer = on(clock);
        CountDownLatch ran = new CountDownLatch(100);
        for (int i = 1; i <= 100; i++) {
            timer.newTimeout(Support.counting(ran), i, TimeUnit.HOURS);
        }
        Timeout far = timer.newTimeout(Support.NOTHING, 365, TimeUnit.DAYS);
        offset.set(TimeUnit.DAYS.toNanos(30));
        Support.await(() -> {
            LockSupport.unpark(thread);
            return ran.getCount() == 0;
        });
        assertFalse(far.isExpired());
        assertTrue(far.cancel());
        timer.stop();
    }

    /** A task that comes again at once, on an edge of a clock that stands: not in the same edge. */
    @Test
    void anEdgeIsNotTheNextOne() throws Exception {
        AtomicLong now = new AtomicLong(7 * TICK);
        HashedWheelTimer timer = on(new Clock() {
            @Override
            long nanoTime() {
                return now.get();
            }
        });
        List<Long> runs = Collections.synchronizedList(new ArrayList<>());
        TimerTask task = new TimerTask() {
            @Override
            public void run(Timeout timeout) {
                timer.newTimeout(this, 0, TimeUnit.MILLISECONDS);
                runs.add(now.get());
            }
        };
        timer.newTimeout(task, 0, TimeUnit.MILLISECONDS);
        List<Long> expected = new ArrayList<>();
        for (int i = 1; i <= 20; i++) {
            expected.add(now.addAndGet(TICK));
            int count = i;
            Support.await(() -> {
                LockSupport.unpark(thread);
                return runs.size() >= count;
            });
        }
        timer.stop();
        assertEquals(expected, runs);
    }

    /** Counts how often the worker reads it: in each pass, before and after it looks. */
    private final class Looks extends Clock {
        @Override
        long nanoTime() {
            looks.addAndGet(Thread.currentThread() == thread ? 1 : 0);
            return System.nanoTime();
        }
    }

    /** The worker sleeps again, and not in vain. */
    @Test
    void anInterruptEndsOneSleep() throws Exception {
        HashedWheelTimer timer = on(new Looks());
        Timeout far = timer.newTimeout(Support.NOTHING, 1, TimeUnit.HOURS);
        HashedWheelTimer clock = Support.timer(100);
        for (int i = 0; i < 2; i++) {
            int[] before = new int[1];
            Support.await(() -> {
                try {
                    before[0] = looks.get();
                    Support.passTicks(clock, 100);
                } catch (InterruptedException e) {
                    throw new AssertionError(e);
                }
                return looks.get() == before[0];
            });
            thread.interrupt();
        }
        clock.stop();
        assertEquals(Set.of(far), timer.stop());
    }

    /**
     * A thread reads the clock, the worker drains and comes to an edge, and the thread pushes a
     * timeout for that edge: the worker does not sleep until the next one.
     */
    @Test
    void whatIsPushedWhileTheWorkerLooksIsNotLate() throws Exception {
        long tick = TimeUnit.HOURS.toNanos(1);
        AtomicLong now = new AtomicLong(5 * tick - 10);
        AtomicReference<Thread> submitter = new AtomicReference<>();
        CountDownLatch read = new CountDownLatch(1);
        CountDownLatch drained = new CountDownLatch(1);
        CountDownLatch pushed = new CountDownLatch(1);
        Clock clock = new Clock() {
            @Override
            long nanoTime() {
                long time = now.get();
                try {
                    if (Thread.currentThread() == submitter.get()) {
                        read.countDown();
                        Support.await(drained);
                    } else if (Thread.currentThread() == thread && read.getCount() == 0
                            && drained.getCount() == 1) {
                        time = 5 * tick + 5;
                        now.set(time);
                        drained.countDown();
                        Support.await(pushed);
                    }
                } catch (InterruptedException e) {
                    throw new AssertionError(e);
                }
                return time;
            }
        };
        HashedWheelTimer timer = new HashedWheelTimer(new Wheel(task -> thread = new Thread(task),
                tick, 0, null, NettyLog.INSTANCE, clock), true);
        CountDownLatch ran = new CountDownLatch(1);
        timer.start();
        submitter.set(new Thread(() -> {
            timer.newTimeout(Support.counting(ran), 0, TimeUnit.HOURS);
            pushed.countDown();
        }));
        submitter.get().start();
        Support.await(read);
        /* So that the worker looks at the next edge anyway, and is not woken before. */
        Timeout far = timer.newTimeout(Support.NOTHING, 3, TimeUnit.HOURS);
        Support.await(ran);
        assertEquals(Set.of(far), timer.stop());
    }

    /** Another thread's timeouts are far, and no reason to look before the next edge. */
    @Test
    void theWorkerSleepsBesideAThreadThatSubmits() throws Exception {
        HashedWheelTimer timer = on(new Looks());
        long since = System.nanoTime();
        while (System.nanoTime() - since < 30 * TICK) {
            timer.newTimeout(Support.NOTHING, 1, TimeUnit.HOURS).cancel();
        }
        long edges = (System.nanoTime() - since) / TICK + 1;
        timer.stop();
        /* A sleep may end early. */
        assertTrue(looks.get() <= 4 * edges, () -> looks + " in " + edges + " ticks");
    }
}
