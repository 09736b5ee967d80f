// SPDX-License-Identifier: GPL-2.0-only
package io.hwheel;

import static io.hwheel.Support.NOTHING;
import static io.hwheel.Support.await;
import static io.hwheel.Support.passTicks;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.util.ResourceLeakDetector;
import io.netty.util.Timeout;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.ref.WeakReference;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;

/** Timers that are dropped, and what outlives them. */
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class LifeTest {
    private static final int TIMERS = 10_000;
    private static final int MANY = 5_000_000;
    /** The report begins with the line that made the timer. */
    private static final String LEAK = "LEAK: HashedWheelTimer.stop() was not called before the "
            + "timer was garbage-collected. It was made" + System.lineSeparator() + "\tat "
            + LifeTest.class.getName() + ".drop(LifeTest.java:";

    /** Returns the thread of a timer that was dropped. */
    private static Thread drop(WeakReference<?>[] reference, boolean daemon, boolean detection)
            throws Exception {
        Thread[] made = new Thread[1];
        HashedWheelTimer timer = new HashedWheelTimer(task -> {
            made[0] = new Thread(task);
            made[0].setDaemon(daemon);
            return made[0];
        }, 10, TimeUnit.MILLISECONDS, 32, detection);
        passTicks(timer, 0);
        reference[0] = new WeakReference<>(timer);
        return made[0];
    }

    /** Nothing else keeps its thread alive. */
    private static void awaitEndOfDropped(boolean daemon, boolean detection) throws Exception {
        WeakReference<?>[] reference = new WeakReference<?>[1];
        Thread thread = drop(reference, daemon, detection);
        Support.awaitCollection(() -> reference[0].get() == null);
        thread.join(TimeUnit.SECONDS.toMillis(Support.SOON));
        assertTrue(!thread.isAlive());
    }

    /** There is no other one now, so the thread that reports it has to end. */
    @Test
    @Order(0)
    void theReportOfTheLastTimerIsNotInterrupted() throws Exception {
        try (Log log = new Log()) {
            awaitEndOfDropped(true, true);
            await(() -> log.has(LEAK));
            assertFalse(log.wasInterrupted());
        }
    }

    @Test
    void aStartedTimerThatIsDroppedEnds() throws Exception {
        try (Log log = new Log()) {
            awaitEndOfDropped(true, true);
            await(() -> log.has(LEAK));
        }
        try (Log log = new Log()) {
            awaitEndOfDropped(false, false);
            await(() -> log.has(LEAK));
        }
    }

    @Test
    void aTimerWithoutNettyIsReportedAndEnds() throws Exception {
        try (Log log = new Log(Timer.class)) {
            Thread[] made = new Thread[1];
            new Timer(task -> made[0] = new Thread(task), 10, TimeUnit.MILLISECONDS, 0, null)
                    .start();
            Support.awaitCollection(() -> log.has("LEAK: Timer.stop()"));
            made[0].join(TimeUnit.SECONDS.toMillis(Support.SOON));
            assertTrue(!made[0].isAlive());
            assertTrue(log.has("It was made" + System.lineSeparator() + "\tat "
                    + LifeTest.class.getName() + ".aTimerWithoutNettyIsReportedAndEnds("));
        }
    }

    @Test
    void theLevelOfNettySilencesTheReport() throws Exception {
        ResourceLeakDetector.Level before = ResourceLeakDetector.getLevel();
        ResourceLeakDetector.setLevel(ResourceLeakDetector.Level.DISABLED);
        try (Log log = new Log()) {
            awaitEndOfDropped(true, true);
            awaitEndOfDropped(true, true);
            assertTrue(!log.has("LEAK"));
        } finally {
            ResourceLeakDetector.setLevel(before);
        }
    }

    /** The first test, as the timers of others may be reported at any time. */
    @Test
    @Order(1)
    void withoutLeakDetectionADaemonsTimerIsNotReported() throws Exception {
        try (Log log = new Log()) {
            awaitEndOfDropped(true, false);
            /* The thread that stops dropped timers was done with that one before this one. */
            awaitEndOfDropped(true, false);
            assertTrue(!log.has("LEAK"));
        }
    }

    private static CountDownLatch dropWithTimeout() throws InterruptedException {
        CountDownLatch ran = new CountDownLatch(1);
        newTimer().newTimeout(Support.counting(ran), 200, TimeUnit.MILLISECONDS);
        return ran;
    }

    @Test
    void aTimeoutKeepsItsTimer() throws Exception {
        List<CountDownLatch> all = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            all.add(dropWithTimeout());
        }
        for (int i = 0; i < 5; i++) {
            System.gc();
        }
        for (CountDownLatch ran : all) {
            await(ran);
        }
    }

    /** As a log that cannot be written. */
    private static final class Broken extends Handler {
        private final Logger logger = Logger.getLogger(HashedWheelTimer.class.getName());
        private final AtomicInteger calls = new AtomicInteger();

        @Override
        public void publish(LogRecord line) {
            calls.incrementAndGet();
            throw new IllegalStateException("on purpose");
        }

        @Override
        public void flush() {
            /* Nothing is kept back. */
        }

        @Override
        public void close() {
            logger.removeHandler(this);
        }

        void open() {
            logger.addHandler(this);
        }
    }

    @Test
    void aLoggerThatThrowsEndsNothing() throws Exception {
        HashedWheelTimer timer = newTimer();
        Timeout far = timer.newTimeout(NOTHING, 1, TimeUnit.HOURS);
        Broken log = new Broken();
        log.open();
        try {
            for (int i = 1; i <= 3; i++) {
                timer.newTimeout(t -> {
                    throw new AssertionError("on purpose");
                }, 0, TimeUnit.MILLISECONDS);
                passTicks(timer, 0);
                int calls = i;
                await(() -> log.calls.get() >= calls);
            }
        } finally {
            log.close();
        }
        assertEquals(Set.of(far), timer.stop());
    }

    /** The error is one of the timer's own thread. */
    @Test
    void anExecutorAndALoggerThatThrowEndNothing() throws Exception {
        CountDownLatch ran = new CountDownLatch(2);
        HashedWheelTimer timer = new HashedWheelTimer(Executors.defaultThreadFactory(), 10,
                TimeUnit.MILLISECONDS, 32, true, -1, command -> {
                    throw new IllegalStateException("on purpose");
                });
        Timeout far = timer.newTimeout(NOTHING, 1, TimeUnit.HOURS);
        Broken log = new Broken();
        log.open();
        try {
            timer.newTimeout(Support.counting(ran), 0, TimeUnit.MILLISECONDS);
            timer.newTimeout(Support.counting(ran), 0, TimeUnit.MILLISECONDS);
            await(ran);
        } finally {
            log.close();
        }
        assertEquals(Set.of(far), timer.stop());
    }

    private static HashedWheelTimer newTimer() {
        return new HashedWheelTimer(10, TimeUnit.MILLISECONDS);
    }

    /** Context switches of the thread with a name */
    private static long switches(String name) {
        try (Stream<Path> tasks = Files.list(Path.of("/proc/self/task"))) {
            for (Path task : tasks.collect(Collectors.toList())) {
                if (Files.readString(task.resolve("comm")).trim().equals(name)) {
                    return Files.readAllLines(task.resolve("status")).stream()
                            .filter(line -> line.contains("ctxt_switches"))
                            .mapToLong(line -> Long.parseLong(line.replaceAll("[^0-9]", "")))
                            .sum();
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        throw new AssertionError("no thread " + name);
    }

    /** Returns the switches of a thread once it sleeps, or fails, as they go on. */
    private static long settled(HashedWheelTimer clock) throws InterruptedException {
        for (int i = 0; i < 100; i++) {
            long before = switches("idle-timer");
            passTicks(clock, 100);
            if (before == switches("idle-timer")) {
                return before;
            }
        }
        throw new AssertionError("the thread of an idle timer does not sleep");
    }

    /** Another timer is the clock. */
    @Test
    void anIdleTimerWakesNoThread() throws Exception {
        HashedWheelTimer idle = new HashedWheelTimer(task -> new Thread(task, "idle-timer"), 1,
                TimeUnit.MILLISECONDS);
        HashedWheelTimer clock = newTimer();
        Timeout far = idle.newTimeout(NOTHING, 1, TimeUnit.HOURS);
        long before = settled(clock);
        passTicks(clock, 500);
        assertEquals(before, switches("idle-timer"));
        assertTrue(far.cancel());
        before = settled(clock);
        passTicks(clock, 500);
        assertEquals(before, switches("idle-timer"));
        idle.stop();
        clock.stop();
    }

    /** What it refers to is let go of, though the timer sleeps for an hour. */
    @Test
    void aCancelledTimeoutIsCollected() throws Exception {
        HashedWheelTimer timer = new HashedWheelTimer(task -> new Thread(task, "idle-timer"), 10,
                TimeUnit.MILLISECONDS);
        HashedWheelTimer clock = newTimer();
        timer.newTimeout(NOTHING, 1, TimeUnit.HOURS);
        for (boolean filed : new boolean[] {false, true}) {
            WeakReference<?> task = cancelOne(timer, filed ? clock : null);
            Support.awaitCollection(() -> task.get() == null);
            await(() -> timer.pendingTimeouts() == 1);
        }
        timer.stop();
        clock.stop();
    }

    private static WeakReference<?> cancelOne(HashedWheelTimer timer, HashedWheelTimer clock)
            throws InterruptedException {
        Timeout timeout = big(timer);
        if (clock != null) {
            settled(clock);
        }
        assertTrue(timeout.cancel());
        return new WeakReference<>(timeout.task());
    }

    /** A timeout for whose task one would like to have the memory back. */
    private static Timeout big(HashedWheelTimer timer) {
        byte[] memory = new byte[1 << 20];
        return timer.newTimeout(t -> assertNotNull(memory), 2, TimeUnit.HOURS);
    }

    /** The thread unlinks both at once, after the task that cancels them. */
    @Test
    void aCancelledTimeoutKeepsNoOther() throws Exception {
        HashedWheelTimer timer = newTimer();
        List<WeakReference<?>> tasks = new ArrayList<>();
        Timeout kept = cancelTwo(timer, tasks);
        Support.awaitCollection(() -> tasks.get(0).get() == null);
        assertTrue(kept.isCancelled());
        timer.stop();
    }

    private static Timeout cancelTwo(HashedWheelTimer timer, List<WeakReference<?>> tasks)
            throws InterruptedException {
        Timeout first = big(timer);
        Timeout second = big(timer);
        tasks.add(new WeakReference<>(first.task()));
        CountDownLatch cancelled = new CountDownLatch(2);
        passTicks(timer, 0);
        timer.newTimeout(t -> {
            if (first.cancel() && second.cancel()) {
                cancelled.countDown();
            }
        }, 0, TimeUnit.MILLISECONDS);
        timer.newTimeout(Support.counting(cancelled), 10, TimeUnit.MILLISECONDS);
        await(cancelled);
        return second;
    }

    @Test
    void timersThatNeverStartAreCollected() throws Exception {
        List<WeakReference<?>> all = new ArrayList<>();
        for (int i = 0; i < 70; i++) {
            all.add(new WeakReference<>(newTimer()));
        }
        Support.awaitCollection(() -> all.stream().allMatch(one -> one.get() == null));
    }

    @Test
    void tenThousandTimers() throws Exception {
        List<HashedWheelTimer> timers = new ArrayList<>();
        CountDownLatch ran = new CountDownLatch(TIMERS);
        for (int i = 0; i < TIMERS; i++) {
            HashedWheelTimer timer = new HashedWheelTimer(
                    task -> new Thread(null, task, "small", 128 << 10), 100, TimeUnit.MILLISECONDS);
            timers.add(timer);
            timer.newTimeout(Support.counting(ran), 1, TimeUnit.MILLISECONDS);
            timer.newTimeout(NOTHING, 1, TimeUnit.HOURS);
        }
        await(ran);
        for (HashedWheelTimer timer : timers) {
            assertEquals(1, timer.stop().size());
        }
    }

    @Test
    void fiveMillionTimeouts() {
        HashedWheelTimer timer = newTimer();
        for (int i = 0; i < MANY; i++) {
            timer.newTimeout(NOTHING, 1 + i % 100_000, TimeUnit.HOURS);
        }
        assertEquals(MANY, timer.pendingTimeouts());
        assertEquals(MANY, timer.stop().size());
        assertEquals(0, timer.pendingTimeouts());
    }

    @Test
    void timeoutsOutliveTheirTimer() throws Exception {
        List<Timeout> all = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            HashedWheelTimer timer = newTimer();
            for (int j = 0; j < 1000; j++) {
                all.add(timer.newTimeout(NOTHING, j % 3, TimeUnit.HOURS));
            }
            timer.stop();
            assertThrows(IllegalStateException.class,
                    () -> timer.newTimeout(NOTHING, 1, TimeUnit.HOURS));
        }
        System.gc();
        for (Timeout timeout : all) {
            assertTrue(!timeout.cancel() && timeout.timer() != null);
            assertNotNull(timeout.toString());
        }
    }

    /** Before others make as many: it is reported once. */
    @Test
    @Order(2)
    void tooManyTimersAreReported() throws Exception {
        try (Log log = new Log()) {
            List<HashedWheelTimer> timers = new ArrayList<>();
            for (int i = 0; i < 65; i++) {
                timers.add(newTimer());
            }
            assertTrue(log.has("too many"));
            for (HashedWheelTimer timer : timers) {
                assertEquals(0, timer.stop().size());
            }
        }
    }
}
