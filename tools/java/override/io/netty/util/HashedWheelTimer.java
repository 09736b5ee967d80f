// SPDX-License-Identifier: LGPL-2.1-only OR MIT
package io.netty.util;

import java.util.concurrent.Executor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;

/**
 * Stands in the place of Netty's class of that name, for programs whose libraries construct it
 * themselves, such as Redisson and sofa-bolt: the jar hwheel-override.jar comes before Netty's in
 * the class path. Each constructor is that of {@link io.hwheel.HashedWheelTimer}.
 */
public class HashedWheelTimer extends io.hwheel.HashedWheelTimer {
    public HashedWheelTimer() {
        super();
    }

    public HashedWheelTimer(long tickDuration, TimeUnit unit) {
        super(tickDuration, unit);
    }

    public HashedWheelTimer(long tickDuration, TimeUnit unit, int ticksPerWheel) {
        super(tickDuration, unit, ticksPerWheel);
    }

    public HashedWheelTimer(ThreadFactory threadFactory) {
        super(threadFactory);
    }

    public HashedWheelTimer(ThreadFactory threadFactory, long tickDuration, TimeUnit unit) {
        super(threadFactory, tickDuration, unit);
    }

    public HashedWheelTimer(ThreadFactory threadFactory, long tickDuration, TimeUnit unit,
            int ticksPerWheel) {
        super(threadFactory, tickDuration, unit, ticksPerWheel);
    }

    public HashedWheelTimer(ThreadFactory threadFactory, long tickDuration, TimeUnit unit,
            int ticksPerWheel, boolean leakDetection) {
        super(threadFactory, tickDuration, unit, ticksPerWheel, leakDetection);
    }

    public HashedWheelTimer(ThreadFactory threadFactory, long tickDuration, TimeUnit unit,
            int ticksPerWheel, boolean leakDetection, long maxPendingTimeouts) {
        super(threadFactory, tickDuration, unit, ticksPerWheel, leakDetection, maxPendingTimeouts);
    }

    public HashedWheelTimer(ThreadFactory threadFactory, long tickDuration, TimeUnit unit,
            int ticksPerWheel, boolean leakDetection, long maxPendingTimeouts,
            Executor taskExecutor) {
        super(threadFactory, tickDuration, unit, ticksPerWheel, leakDetection, maxPendingTimeouts,
                taskExecutor);
    }
}
