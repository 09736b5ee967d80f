// SPDX-License-Identifier: GPL-2.0-only
package io.hwheel;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.util.TimerTask;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/** What the tests share. */
final class Support {
    /** Seconds after which a test fails that waits for something which has to come. */
    static final int SOON = 100;

    /** A task that does nothing. */
    static final TimerTask NOTHING = timeout -> { };

    private Support() {
    }

    /** A timer with a tick of so many milliseconds. */
    static HashedWheelTimer timer(int tick) {
        return new HashedWheelTimer(tick, TimeUnit.MILLISECONDS);
    }

    /** A timer that takes no more than so many timeouts. */
    static HashedWheelTimer limited(int tick, long limit) {
        return new HashedWheelTimer(Executors.defaultThreadFactory(), tick, TimeUnit.MILLISECONDS,
                32, true, limit);
    }

    /** A task that counts a latch down. */
    static TimerTask counting(CountDownLatch latch) {
        return timeout -> latch.countDown();
    }

    static void await(CountDownLatch latch) throws InterruptedException {
        assertTrue(latch.await(SOON, TimeUnit.SECONDS), "what has to come did not come");
    }

    /** For what no latch is. */
    static void await(BooleanSupplier condition) throws InterruptedException {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(SOON);
        while (!condition.getAsBoolean()) {
            assertTrue(System.nanoTime() < end, "what has to come did not come");
            Thread.sleep(1);
        }
    }

    /** Of what comes once nothing refers to an object. */
    static void awaitCollection(BooleanSupplier condition) throws InterruptedException {
        await(() -> {
            System.gc();
            return condition.getAsBoolean();
        });
    }

    /** Returns once all that the timer has for an earlier time was delivered. */
    static void passTicks(HashedWheelTimer timer, long millis) throws InterruptedException {
        CountDownLatch latch = new CountDownLatch(1);
        timer.newTimeout(counting(latch), millis, TimeUnit.MILLISECONDS);
        await(latch);
    }
}
