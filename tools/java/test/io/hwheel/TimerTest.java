// SPDX-License-Identifier: GPL-2.0-only
package io.hwheel;

import static io.hwheel.Support.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** The timer without Netty; what it shares with the other one is tested with that. */
class TimerTest {
    @Test
    void runsCancelsAndHandsBack() throws Exception {
        Timer timer = new Timer(10, TimeUnit.MILLISECONDS);
        CountDownLatch ran = new CountDownLatch(1);
        Timeout soon = timer.newTimeout(ran::countDown, 0, TimeUnit.SECONDS);
        Timeout far = timer.newTimeout(ran::countDown, 1, TimeUnit.HOURS);
        Timeout other = timer.newTimeout(ran::countDown, 1, TimeUnit.HOURS);
        await(ran);
        assertTrue(soon.isExpired() && !soon.isCancelled() && !soon.cancel());
        assertTrue(far.cancel() && far.isCancelled() && !far.isExpired() && !far.cancel());
        assertTrue(other.toString().startsWith("Task(pending"), other::toString);
        assertEquals(Set.of(other), timer.stop());
        assertTrue(other.isCancelled());
        assertEquals(0, timer.pendingTimeouts());
        assertThrows(IllegalStateException.class,
                () -> timer.newTimeout(ran::countDown, 0, TimeUnit.SECONDS));
    }

    @Test
    void hasAFactoryALimitAndAnExecutor() throws Exception {
        CountDownLatch taken = new CountDownLatch(1);
        CountDownLatch ran = new CountDownLatch(1);
        Timer timer = new Timer(task -> new Thread(task, "mine"), 10, TimeUnit.MILLISECONDS, 1,
                command -> {
                    assertEquals("mine", Thread.currentThread().getName());
                    taken.countDown();
                    new Thread(command).start();
                });
        timer.newTimeout(() -> {
            assertFalse(Thread.currentThread().getName().equals("mine"));
            ran.countDown();
        }, 1, TimeUnit.MILLISECONDS);
        await(taken);
        await(ran);
        Timeout far = timer.newTimeout(ran::countDown, 1, TimeUnit.HOURS);
        assertThrows(RejectedExecutionException.class,
                () -> timer.newTimeout(ran::countDown, 1, TimeUnit.HOURS));
        assertEquals(1, timer.pendingTimeouts());
        assertEquals(Set.of(far), timer.stop());
    }

    @Test
    void checksItsParameters() {
        assertThrows(NullPointerException.class, () -> new Timer(1, null));
        assertThrows(NullPointerException.class, () -> new Timer(null, 1, TimeUnit.DAYS, 0, null));
        assertThrows(NullPointerException.class,
                () -> new Timer(task -> null, 1, TimeUnit.DAYS, 0, null));
        for (long tick : new long[] {0, -1, 209, Long.MAX_VALUE}) {
            assertThrows(IllegalArgumentException.class, () -> new Timer(tick, TimeUnit.DAYS));
        }
        new Timer(208, TimeUnit.DAYS).stop();
        Timer timer = new Timer(Executors.defaultThreadFactory(), 1, TimeUnit.NANOSECONDS, 0, null);
        assertThrows(NullPointerException.class,
                () -> timer.newTimeout(null, 1, TimeUnit.SECONDS));
        assertThrows(NullPointerException.class, () -> timer.newTimeout(() -> { }, 1, null));
        timer.stop();
    }
}
