// SPDX-License-Identifier: GPL-2.0-only
package io.hwheel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.util.Timeout;
import io.netty.util.TimerTask;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** A task of Netty 4.2 is called when its timeout was cancelled, by the timer's thread. */
class CancelledTest {
    private static final class Task implements TimerTask {
        private final List<Timeout> cancelled = new ArrayList<>();
        private final CountDownLatch called = new CountDownLatch(1);
        private final CountDownLatch ran = new CountDownLatch(1);
        private volatile Thread thread;

        @Override
        public void run(Timeout timeout) {
            ran.countDown();
        }

        @Override
        public void cancelled(Timeout timeout) {
            cancelled.add(timeout);
            assertTrue(timeout.isCancelled());
            thread = Thread.currentThread();
            called.countDown();
            throw new IllegalStateException("on purpose");
        }
    }

    private final Thread[] made = new Thread[1];
    private final HashedWheelTimer timer = new HashedWheelTimer(
            task -> made[0] = new Thread(task), 10, TimeUnit.MILLISECONDS);

    private static void await(CountDownLatch latch) throws InterruptedException {
        assertTrue(latch.await(100, TimeUnit.SECONDS));
    }

    private void pass() throws InterruptedException {
        Task task = new Task();
        timer.newTimeout(task, 0, TimeUnit.HOURS);
        await(task.ran);
    }

    /** Before and after the thread has filed the timeout. */
    @Test
    void isCalledOnce() throws Exception {
        for (boolean filed : new boolean[] {false, true}) {
            Task task = new Task();
            Timeout timeout = timer.newTimeout(task, 1, TimeUnit.HOURS);
            if (filed) {
                pass();
            }
            assertTrue(timeout.cancel());
            assertFalse(timeout.cancel());
            await(task.called);
            assertSame(made[0], task.thread);
            pass();
            assertEquals(List.of(timeout), task.cancelled);
        }
        timer.stop();
    }

    /** The thread stops before it has looked at a cancelled timeout again. */
    @Test
    void isCalledOnceBesideStop() throws Exception {
        List<Task> tasks = new ArrayList<>();
        List<Timeout> timeouts = new ArrayList<>();
        CountDownLatch began = new CountDownLatch(1);
        for (int i = 0; i < 2; i++) {
            tasks.add(new Task());
            timeouts.add(timer.newTimeout(tasks.get(i), 1, TimeUnit.HOURS));
            if (i == 0) {
                pass();
                timer.newTimeout(t -> {
                    began.countDown();
                    new CountDownLatch(1).await();
                }, 0, TimeUnit.HOURS);
                await(began);
            }
            assertTrue(timeouts.get(i).cancel());
        }
        assertEquals(0, timer.stop().size());
        for (int i = 0; i < 2; i++) {
            assertEquals(List.of(timeouts.get(i)), tasks.get(i).cancelled);
        }
    }

    @Test
    void isNotCalledForOthers() throws Exception {
        Task expired = new Task();
        Task stopped = new Task();
        Timeout timeout = timer.newTimeout(expired, 0, TimeUnit.HOURS);
        await(expired.ran);
        assertFalse(timeout.cancel());
        timer.newTimeout(stopped, 1, TimeUnit.HOURS);
        assertEquals(1, timer.stop().size());
        assertEquals(List.of(), expired.cancelled);
        assertEquals(List.of(), stopped.cancelled);
    }
}
