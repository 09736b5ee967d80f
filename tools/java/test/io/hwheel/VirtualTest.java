// SPDX-License-Identifier: GPL-2.0-only
package io.hwheel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.netty.util.Timeout;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/**
 * Timers on virtual threads, which JDK 21 and later have. All of these share one carrier, by
 * jdk.virtualThreadScheduler.maxPoolSize=1: a thread that held it would stop all others.
 */
class VirtualTest {
    private static ThreadFactory factory() throws ReflectiveOperationException {
        Object builder;
        try {
            builder = Thread.class.getMethod("ofVirtual").invoke(null);
        } catch (NoSuchMethodException e) {
            assumeTrue(false, "this JDK has no virtual threads");
            throw e;
        }
        assertEquals("1", System.getProperty("jdk.virtualThreadScheduler.maxPoolSize"));
        return (ThreadFactory) Class.forName("java.lang.Thread$Builder").getMethod("factory")
                .invoke(builder);
    }

    private static HashedWheelTimer timer(ThreadFactory threads) {
        return new HashedWheelTimer(threads, 10, TimeUnit.MILLISECONDS);
    }

    @Test
    void aTimerThatSleepsHoldsNoCarrier() throws Exception {
        ThreadFactory threads = factory();
        HashedWheelTimer forEver = timer(threads);
        HashedWheelTimer forLong = timer(threads);
        forEver.start();
        Timeout far = forLong.newTimeout(Support.NOTHING, 1, TimeUnit.HOURS);
        for (int i = 0; i < 100; i++) {
            CountDownLatch ran = new CountDownLatch(1);
            threads.newThread(ran::countDown).start();
            Support.await(ran);
            Support.passTicks(forLong, 0);
        }
        assertEquals(Set.of(), forEver.stop());
        assertEquals(Set.of(far), forLong.stop());
    }

    /** Virtual threads arm, cancel and wait, beside the timer's thread, which is one, too. */
    @Test
    void manyThreadsUseOne() throws Exception {
        ThreadFactory threads = factory();
        HashedWheelTimer timer = timer(threads);
        int many = 1000;
        CountDownLatch done = new CountDownLatch(many);
        for (int i = 0; i < many; i++) {
            threads.newThread(() -> {
                CountDownLatch ran = new CountDownLatch(1);
                timer.newTimeout(Support.NOTHING, 1, TimeUnit.HOURS).cancel();
                timer.newTimeout(Support.counting(ran), 1, TimeUnit.MILLISECONDS);
                try {
                    Support.await(ran);
                    done.countDown();
                } catch (InterruptedException e) {
                    throw new AssertionError(e);
                }
            }).start();
        }
        Support.await(done);
        assertEquals(0, timer.stop().size());
    }
}
