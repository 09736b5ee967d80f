// SPDX-License-Identifier: LGPL-2.1-only OR MIT
package io.hwheel;

import io.netty.util.Timer;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;

/**
 * Makes timers for programs that also run where the kernel module is not: a timer on the kernel's
 * wheel if that can be had, else Netty's own, with a line in the log that says why.
 *
 * <p>Any thread may call these methods.
 */
public final class Timers {
    private Timers() {
    }

    /**
     * Makes a timer with a tick of 100 ms and 512 ticks per wheel, without a limit.
     *
     * @return a {@link HashedWheelTimer}, or an {@code io.netty.util.HashedWheelTimer}
     */
    public static Timer newTimer() {
        return newTimer(Executors.defaultThreadFactory(), 100, TimeUnit.MILLISECONDS, 512, true,
                -1);
    }

    /**
     * Makes a timer; the parameters are those of both classes' constructors.
     *
     * @param threadFactory      makes the thread that runs tasks
     * @param tickDuration       at least 1 ms
     * @param unit               of the tick
     * @param ticksPerWheel      1 to 2^30
     * @param leakDetection      whether a timer that is dropped without stop() is reported
     * @param maxPendingTimeouts how many timeouts may be pending; 0 or less: no limit
     * @return a {@link HashedWheelTimer}, or an {@code io.netty.util.HashedWheelTimer}
     * @throws NullPointerException     if the factory or the unit is null
     * @throws IllegalArgumentException if the tick or the number of ticks is out of range
     */
    public static Timer newTimer(ThreadFactory threadFactory, long tickDuration, TimeUnit unit,
            int ticksPerWheel, boolean leakDetection, long maxPendingTimeouts) {
        try {
            return new HashedWheelTimer(threadFactory, tickDuration, unit, ticksPerWheel,
                    leakDetection, maxPendingTimeouts);
        } catch (WheelUnavailableException e) {
            TimerLog.warn("Using Netty's own HashedWheelTimer.", e);
            return new io.netty.util.HashedWheelTimer(threadFactory, tickDuration, unit,
                    ticksPerWheel, leakDetection, maxPendingTimeouts);
        }
    }
}
