// SPDX-License-Identifier: GPL-2.0-only
package io.hwheel;

import static io.hwheel.Support.NOTHING;
import static io.hwheel.Support.await;
import static io.hwheel.Support.limited;
import static io.hwheel.Support.timer;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.util.Timeout;
import io.netty.util.TimerTask;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** Each timeout ends once, whatever races: it runs, or is cancelled, or is handed back. */
class RaceTest {
    private static final int THREADS = 3;
    private static final int STOPS = 30;
    private static final int MILLION = 1_000_000;

    /** A timeout with the count of its ends. */
    private static final class Life implements TimerTask {
        private final AtomicInteger runs = new AtomicInteger();
        private volatile long ran;
        private Timeout timeout;
        private long due;
        private boolean cancelled;
        /** Of a test that cancels only some, once. */
        private boolean tried;

        @Override
        public void run(Timeout ignored) {
            ran = System.nanoTime();
            runs.incrementAndGet();
        }

        void check(boolean handedBack) {
            int ends = runs.get() + (cancelled ? 1 : 0) + (handedBack ? 1 : 0);
            assertEquals(1, ends, () -> timeout + ", runs: " + runs + ", cancelled: " + cancelled
                    + ", handed back: " + handedBack);
            assertEquals(runs.get() == 1, timeout.isExpired());
            assertEquals(runs.get() == 0, timeout.isCancelled());
            assertTrue(runs.get() == 0 || ran - due >= 0, "early");
        }
    }

    /** Threads that do something until the timer is stopped, and the first error. */
    private static final class Crew {
        private final List<Thread> threads = new ArrayList<>();
        private final AtomicReference<Throwable> error = new AtomicReference<>();

        void add(Work work) {
            Thread thread = new Thread(() -> {
                try {
                    work.run();
                } catch (Throwable e) {
                    error.compareAndSet(null, e);
                }
            });
            threads.add(thread);
            thread.start();
        }

        /** Reports an error before it reports threads that wait for the one that had it. */
        void join() throws InterruptedException {
            for (Thread thread : threads) {
                thread.join(TimeUnit.SECONDS.toMillis(Support.SOON));
                check();
            }
            for (Thread thread : threads) {
                assertFalse(thread.isAlive());
            }
        }

        void check() {
            assertNull(error.get());
        }
    }

    private interface Work {
        void run() throws Exception;
    }

    private static Life arm(HashedWheelTimer timer, long micros) {
        Life life = new Life();
        life.due = System.nanoTime() + TimeUnit.MICROSECONDS.toNanos(micros);
        life.timeout = timer.newTimeout(life, micros, TimeUnit.MICROSECONDS);
        return life;
    }

    /** Arms and cancels until the timer is stopped. */
    private static void churn(HashedWheelTimer timer, List<Life> lives, CountDownLatch begun) {
        ThreadLocalRandom random = ThreadLocalRandom.current();
        try {
            for (int i = 0;; i++) {
                if (i == 100) {
                    begun.countDown();
                }
                armOne(timer, lives, random);
                if (random.nextBoolean()) {
                    cancelOne(lives, random);
                }
            }
        } catch (IllegalStateException e) {
            /* It was stopped. */
            cancelOne(lives, random);
        } finally {
            begun.countDown();
        }
    }

    /** If the timer's thread gets no time, there may be as many timeouts as a limit allows. */
    private static void armOne(HashedWheelTimer timer, List<Life> lives, ThreadLocalRandom random) {
        try {
            lives.add(arm(timer, random.nextInt(3000)));
        } catch (RejectedExecutionException e) {
            Thread.yield();
        }
    }

    private static void cancelOne(List<Life> lives, ThreadLocalRandom random) {
        if (lives.isEmpty()) {
            return;
        }
        Life life = lives.get(random.nextInt(lives.size()));
        if (life.timeout.cancel()) {
            assertFalse(life.cancelled);
            life.cancelled = true;
        }
    }

    @Test
    void stopAgainstNewTimeoutAndCancel() throws Exception {
        long all = 0;
        for (int round = 0; round < STOPS; round++) {
            all += stopRound(round % 2 == 0 ? timer(1) : limited(1, 10_000_000));
        }
        System.out.println("# stopped " + STOPS + " timers, accounted for " + all + " timeouts");
    }

    private static int stopRound(HashedWheelTimer timer) throws Exception {
        List<List<Life>> lives = new ArrayList<>();
        CountDownLatch begun = new CountDownLatch(THREADS);
        Crew crew = new Crew();
        for (int i = 0; i < THREADS; i++) {
            List<Life> mine = new ArrayList<>();
            lives.add(mine);
            crew.add(() -> churn(timer, mine, begun));
        }
        await(begun);
        crew.check();
        Set<Timeout> unprocessed = timer.stop();
        crew.join();
        int count = 0;
        for (List<Life> some : lives) {
            for (Life life : some) {
                life.check(unprocessed.contains(life.timeout));
                count++;
            }
        }
        assertEquals(0, timer.pendingTimeouts());
        return count;
    }

    /** Until a cancel came first, and an expiry. */
    @Test
    void cancelAgainstExpiry() throws Exception {
        boolean won = false;
        boolean lost = false;
        for (int round = 0; round < 1000 && !(won && lost); round++) {
            for (Life life : cancelRound()) {
                won |= life.tried && life.cancelled;
                lost |= life.tried && !life.cancelled;
            }
        }
        assertTrue(won, "no cancel came before the expiry");
        assertTrue(lost, "no expiry came before the cancel");
    }

    private static List<Life> cancelRound() throws Exception {
        HashedWheelTimer timer = timer(1);
        List<List<Life>> lives = new ArrayList<>();
        Crew crew = new Crew();
        for (int i = 0; i < THREADS; i++) {
            List<Life> mine = new ArrayList<>();
            lives.add(mine);
            crew.add(() -> cancelWhenDue(timer, mine));
        }
        crew.join();
        await(() -> timer.pendingTimeouts() == 0);
        Support.passTicks(timer, 10);
        assertEquals(0, timer.stop().size());
        List<Life> all = new ArrayList<>();
        for (List<Life> some : lives) {
            for (Life life : some) {
                life.check(false);
                all.add(life);
            }
        }
        return all;
    }

    /** A window of timeouts, each of which is cancelled about when it is due. */
    private static void cancelWhenDue(HashedWheelTimer timer, List<Life> lives) {
        for (int i = 0; i < 10_000; i++) {
            lives.add(arm(timer, 0));
            if (i >= 50) {
                Life life = lives.get(i - 50);
                life.cancelled = life.timeout.cancel();
                life.tried = true;
            }
        }
    }

    /** Two threads cancel one timeout. */
    @Test
    void oneOfTwoCancels() throws Exception {
        HashedWheelTimer timer = timer(1);
        for (int round = 0; round < 50; round++) {
            Life[] lives = new Life[100];
            for (int i = 0; i < lives.length; i++) {
                lives[i] = arm(timer, 500);
            }
            AtomicInteger wins = new AtomicInteger();
            Crew crew = new Crew();
            for (int i = 0; i < 2; i++) {
                crew.add(() -> {
                    for (Life life : lives) {
                        wins.addAndGet(life.timeout.cancel() ? 1 : 0);
                    }
                });
            }
            crew.join();
            Support.passTicks(timer, 0);
            int runs = 0;
            for (Life life : lives) {
                runs += life.runs.get();
            }
            assertEquals(lives.length, wins.get() + runs);
        }
        assertEquals(0, timer.stop().size());
    }

    /**
     * A thread cancels a timeout that the worker has just taken: the worker sees that, or has the
     * timeout on a stack of cancelled ones. This test is the worker.
     */
    @Test
    void aCancelOfWhatIsTakenIsSeen() throws Exception {
        HashedWheelTimer timer = timer(10);
        NettyTimeout[] timeouts = new NettyTimeout[400_000];
        for (int i = 0; i < timeouts.length; i++) {
            timeouts[i] = new NettyTimeout(timer, NOTHING);
            timeouts[i].setLink(new Stack.Bottom(0));
        }
        boolean[] pending = new boolean[timeouts.length];
        AtomicInteger here = new AtomicInteger();
        AtomicInteger there = new AtomicInteger();
        Crew crew = new Crew();
        crew.add(() -> {
            for (int i = 0; i < timeouts.length; i++) {
                meet(there, here, i);
                timeouts[i].cancel();
            }
        });
        for (int i = 0; i < timeouts.length; i++) {
            meet(here, there, i);
            timeouts[i].setLink(Stack.TAKEN);
            timer.wheel.taken();
            pending[i] = timeouts[i].isPending();
        }
        crew.join();
        Set<Object> pushed = new HashSet<>();
        for (Stack stack : timer.wheel.stacks) {
            for (Object t = stack.takeCancelled(); t != null; t = ((NettyTimeout) t).link()) {
                pushed.add(t);
            }
        }
        int lost = 0;
        for (int i = 0; i < timeouts.length; i++) {
            lost += pending[i] && !pushed.contains(timeouts[i]) ? 1 : 0;
        }
        assertEquals(0, lost);
        timer.stop();
    }

    private static void meet(AtomicInteger mine, AtomicInteger other, int round) {
        mine.set(round + 1);
        for (int i = 0; other.get() <= round; i++) {
            if (i > 1000) {
                Thread.yield();
            }
        }
    }

    /** The worker is about to sleep, or sleeps, for an hour. */
    @Test
    void noWakeUpIsLost() throws Exception {
        HashedWheelTimer timer = timer(1);
        ThreadLocalRandom random = ThreadLocalRandom.current();
        timer.newTimeout(NOTHING, 1, TimeUnit.HOURS);
        for (int round = 0; round < 1000; round++) {
            CountDownLatch ran = new CountDownLatch(1);
            Timeout far = timer.newTimeout(NOTHING, 2, TimeUnit.HOURS);
            timer.newTimeout(Support.counting(ran), random.nextInt(2000), TimeUnit.MICROSECONDS);
            await(ran);
            long then = System.nanoTime() + random.nextInt(60_000);
            while (System.nanoTime() < then) {
                Thread.onSpinWait();
            }
            assertTrue(far.cancel());
            long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(Support.SOON);
            while (timer.pendingTimeouts() != 1) {
                assertTrue(System.nanoTime() < end, "a cancelled timeout is held");
                Thread.yield();
            }
        }
        assertEquals(1, timer.stop().size());
    }

    /** Some are taken and come back as cancelled ones while others are pushed. */
    @Test
    void whatStaysIsCounted() throws Exception {
        HashedWheelTimer timer = timer(1);
        Crew crew = new Crew();
        for (int i = 0; i < THREADS; i++) {
            crew.add(() -> {
                Timeout[] window = new Timeout[1000];
                for (int k = 0; k < 300_000; k++) {
                    Timeout old = window[k % window.length];
                    window[k % window.length] = timer.newTimeout(NOTHING, 1, TimeUnit.HOURS);
                    assertTrue(old == null || old.cancel());
                }
            });
        }
        crew.join();
        await(() -> timer.pendingTimeouts() == 1000 * THREADS);
        assertEquals(1000 * THREADS, timer.stop().size());
    }

    @Test
    void manyStopsReturnAfterTheFirst() throws Exception {
        for (int round = 0; round < 20; round++) {
            HashedWheelTimer timer = timer(1);
            CountDownLatch began = new CountDownLatch(1);
            AtomicInteger done = new AtomicInteger();
            AtomicInteger handedBack = new AtomicInteger();
            timer.newTimeout(t -> {
                began.countDown();
                Thread.yield();
                done.incrementAndGet();
            }, 0, TimeUnit.MILLISECONDS);
            await(began);
            timer.newTimeout(NOTHING, 1, TimeUnit.HOURS);
            Crew crew = new Crew();
            for (int i = 0; i < THREADS; i++) {
                crew.add(() -> {
                    handedBack.addAndGet(timer.stop().size());
                    assertEquals(1, done.get(), "the task has ended when any stop() returns");
                    assertEquals(0, timer.pendingTimeouts());
                });
            }
            crew.join();
            assertEquals(1, handedBack.get());
        }
    }

    /** The thread may not have begun when the timer is stopped. */
    @Test
    void stopAgainstTheFirstTimeout() throws Exception {
        for (int round = 0; round < 60; round++) {
            HashedWheelTimer timer = timer(1);
            AtomicReference<Timeout> armed = new AtomicReference<>();
            Crew crew = new Crew();
            crew.add(() -> {
                try {
                    armed.set(timer.newTimeout(NOTHING, 1, TimeUnit.HOURS));
                } catch (IllegalStateException e) {
                    assertTrue(timer.stop().isEmpty());
                }
            });
            Set<Timeout> unprocessed = timer.stop();
            crew.join();
            assertEquals(armed.get() == null ? Set.of() : Set.of(armed.get()), unprocessed);
        }
    }

    /** The thread still has a task, so the timer is full and stopped. */
    @Test
    void aFullTimerThatIsStoppedSaysSo() throws Exception {
        HashedWheelTimer timer = limited(10, 1);
        CountDownLatch began = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        timer.newTimeout(t -> {
            timer.newTimeout(NOTHING, 1, TimeUnit.HOURS);
            began.countDown();
            awaitUninterruptibly(goOn);
        }, 0, TimeUnit.MILLISECONDS);
        await(began);
        assertThrows(RejectedExecutionException.class,
                () -> timer.newTimeout(NOTHING, 1, TimeUnit.HOURS));
        Crew crew = new Crew();
        crew.add(() -> assertEquals(1, timer.stop().size()));
        await(() -> isStopped(timer));
        assertEquals(1, timer.pendingTimeouts());
        assertThrows(IllegalStateException.class,
                () -> timer.newTimeout(NOTHING, 1, TimeUnit.HOURS));
        goOn.countDown();
        crew.join();
    }

    private static boolean isStopped(HashedWheelTimer timer) {
        try {
            timer.start();
            return false;
        } catch (IllegalStateException e) {
            return true;
        }
    }

    private static void awaitUninterruptibly(CountDownLatch latch) {
        for (;;) {
            try {
                latch.await();
                return;
            } catch (InterruptedException e) {
                /* stop() interrupts the task. */
            }
        }
    }

    /** The first start fails, while another thread arms. */
    private static HashedWheelTimer failsToStart(CountDownLatch starts, CountDownLatch goOn) {
        return new HashedWheelTimer(task -> new Thread(task) {
            @Override
            public void start() {
                if (starts.getCount() == 0) {
                    super.start();
                    return;
                }
                starts.countDown();
                awaitUninterruptibly(goOn);
                throw new OutOfMemoryError("on purpose");
            }
        }, 10, TimeUnit.MILLISECONDS);
    }

    @Test
    void aThreadThatCannotStartStartsLater() throws Exception {
        CountDownLatch starts = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        CountDownLatch ran = new CountDownLatch(2);
        HashedWheelTimer timer = failsToStart(starts, goOn);
        Crew crew = new Crew();
        crew.add(() -> assertThrows(OutOfMemoryError.class, timer::start));
        await(starts);
        timer.newTimeout(Support.counting(ran), 0, TimeUnit.MILLISECONDS);
        goOn.countDown();
        crew.join();
        timer.newTimeout(Support.counting(ran), 0, TimeUnit.MILLISECONDS);
        await(ran);
        assertEquals(0, timer.stop().size());
    }

    /** Before and after the start has failed. */
    @Test
    void stopOfATimerThatCannotStartLosesNothing() throws Exception {
        for (boolean before : new boolean[] {true, false}) {
            CountDownLatch starts = new CountDownLatch(1);
            CountDownLatch goOn = new CountDownLatch(1);
            HashedWheelTimer timer = failsToStart(starts, goOn);
            Crew starter = new Crew();
            starter.add(() -> assertThrows(OutOfMemoryError.class, timer::start));
            await(starts);
            Timeout armed = timer.newTimeout(NOTHING, 0, TimeUnit.MILLISECONDS);
            Timeout cancelled = timer.newTimeout(NOTHING, 1, TimeUnit.HOURS);
            assertTrue(cancelled.cancel());
            AtomicReference<Set<Timeout>> unprocessed = new AtomicReference<>();
            Crew stopper = new Crew();
            if (before) {
                stopper.add(() -> unprocessed.set(timer.stop()));
                await(() -> isStopped(timer));
            }
            goOn.countDown();
            starter.join();
            if (!before) {
                unprocessed.set(timer.stop());
            }
            stopper.join();
            assertEquals(Set.of(armed), unprocessed.get());
            assertFalse(armed.cancel());
            assertEquals(0, timer.pendingTimeouts());
            assertEquals(Set.of(), timer.stop());
        }
    }

    /** Two threads arm them, cancel three of four, and the others expire. */
    @Test
    void aMillion() throws Exception {
        HashedWheelTimer timer = limited(10, MILLION);
        AtomicInteger runs = new AtomicInteger();
        AtomicInteger cancelled = new AtomicInteger();
        CountDownLatch armed = new CountDownLatch(2);
        Crew crew = new Crew();
        for (int i = 0; i < 2; i++) {
            crew.add(() -> {
                cancelled.addAndGet(half(timer, runs, armed));
            });
        }
        crew.join();
        await(() -> timer.pendingTimeouts() == 0);
        Support.passTicks(timer, 10);
        assertEquals(MILLION / 4 * 3, cancelled.get());
        assertEquals(MILLION / 4, runs.get());
        assertEquals(0, timer.stop().size());
    }

    private static int half(HashedWheelTimer timer, AtomicInteger runs, CountDownLatch armed)
            throws InterruptedException {
        TimerTask task = t -> runs.incrementAndGet();
        Timeout[] far = new Timeout[MILLION / 8 * 3];
        for (int i = 0; i < far.length; i++) {
            far[i] = timer.newTimeout(task, 1 + i % 1000, TimeUnit.HOURS);
        }
        for (int i = 0; i < MILLION / 8; i++) {
            timer.newTimeout(task, 1 + i % 100, TimeUnit.MILLISECONDS);
        }
        armed.countDown();
        await(armed);
        int count = 0;
        for (Timeout timeout : far) {
            count += timeout.cancel() ? 1 : 0;
        }
        return count;
    }
}
