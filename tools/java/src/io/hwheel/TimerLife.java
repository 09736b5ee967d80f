// SPDX-License-Identifier: LGPL-2.1-only OR MIT
package io.hwheel;

import io.netty.util.ResourceLeakDetector;
import io.netty.util.Timer;
import java.lang.ref.Cleaner;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Counts the timers of the process, and stops a timer that is collected before its program has
 * stopped it. That is a timer without timeouts, as these refer to it.
 *
 * <p>The report of such a timer is in place of that of Netty's leak detector, which would come only
 * when the program makes another timer. Netty's io.netty.leakDetection.level=disabled silences it.
 */
final class TimerLife implements Runnable {
    private static final int MANY = 64;
    private static final AtomicInteger count = new AtomicInteger();
    private static final AtomicBoolean warned = new AtomicBoolean();
    private static final Cleaner CLEANER = Cleaner.create();

    private final TimerCore core;
    private final boolean reports;

    private TimerLife(TimerCore core, boolean reports) {
        this.core = core;
        this.reports = reports;
    }

    /** Begins a life; its end is the call of clean(), or that the timer is collected. */
    static Cleaner.Cleanable begin(Timer timer, TimerCore core, boolean leakDetection) {
        if (count.incrementAndGet() > MANY && warned.compareAndSet(false, true)) {
            TimerLog.error("You are creating too many HashedWheelTimer instances. HashedWheelTimer "
                    + "is a shared resource that must be reused across the JVM, so that only a "
                    + "few instances are created.");
        }
        boolean reports = leakDetection || !core.isDaemon();
        return CLEANER.register(timer, new TimerLife(core, reports));
    }

    @Override
    public void run() {
        count.decrementAndGet();
        if (core.abandon() && reports && ResourceLeakDetector.isEnabled()) {
            TimerLog.error("LEAK: HashedWheelTimer.stop() was not called before the timer was "
                    + "garbage-collected.");
        }
    }
}
