// SPDX-License-Identifier: GPL-2.0-only
package io.hwheel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.util.Timeout;
import io.netty.util.TimerTask;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** A task of Netty 4.2 hears that its timeout was cancelled. */
class CancelledTest {
    private static final class Task implements TimerTask {
        private final List<Timeout> told = new ArrayList<>();
        private final CountDownLatch ran = new CountDownLatch(1);

        @Override
        public void run(Timeout timeout) {
            ran.countDown();
        }

        @Override
        public void cancelled(Timeout timeout) {
            told.add(timeout);
            assertTrue(timeout.isCancelled());
            throw new IllegalStateException("on purpose");
        }
    }

    @Test
    void isToldOnce() throws Exception {
        HashedWheelTimer timer = new HashedWheelTimer(10, TimeUnit.MILLISECONDS);
        Task cancelled = new Task();
        Task expired = new Task();
        Task stopped = new Task();
        Timeout timeout = timer.newTimeout(cancelled, 1, TimeUnit.HOURS);
        assertTrue(timeout.cancel());
        assertFalse(timeout.cancel());
        assertEquals(List.of(timeout), cancelled.told);
        Timeout other = timer.newTimeout(expired, 0, TimeUnit.HOURS);
        assertTrue(expired.ran.await(100, TimeUnit.SECONDS));
        assertFalse(other.cancel());
        timer.newTimeout(stopped, 1, TimeUnit.HOURS);
        assertEquals(1, timer.stop().size());
        assertEquals(List.of(), expired.told);
        assertEquals(List.of(), stopped.told);
    }
}
