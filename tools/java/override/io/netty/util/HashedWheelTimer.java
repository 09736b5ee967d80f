// SPDX-License-Identifier: LGPL-2.1-only OR MIT
package io.netty.util;

import java.util.concurrent.Executor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;

/**
 * Stands in the place of Netty's class of that name, for programs whose libraries construct it
 * themselves, such as Redisson and sofa-bolt: the jar hwheel-override.jar has it, and comes before
 * Netty's jar in the class path.
 *
 * <p>Any thread may call any method.
 */
public class HashedWheelTimer extends io.hwheel.HashedWheelTimer {
    /**
     * As the constructor of {@link io.hwheel.HashedWheelTimer} with these parameters.
     *
     * @throws io.hwheel.WheelUnavailableException if the kernel has no wheel for it
     */
    public HashedWheelTimer() {
        super();
    }

    /**
     * As the constructor of {@link io.hwheel.HashedWheelTimer} with these parameters.
     *
     * @param tickDuration       of the wheel; less than 1 ms is taken for 1 ms, and logged
     * @param unit               of the tick
     * @throws io.hwheel.WheelUnavailableException if the kernel has no wheel for it
     */
    public HashedWheelTimer(long tickDuration, TimeUnit unit) {
        super(tickDuration, unit);
    }

    /**
     * As the constructor of {@link io.hwheel.HashedWheelTimer} with these parameters.
     *
     * @param tickDuration       of the wheel; less than 1 ms is taken for 1 ms, and logged
     * @param unit               of the tick
     * @param ticksPerWheel      1 to 2^30; the kernel takes the next power of two, up to 2^20
     * @throws io.hwheel.WheelUnavailableException if the kernel has no wheel for it
     */
    public HashedWheelTimer(long tickDuration, TimeUnit unit, int ticksPerWheel) {
        super(tickDuration, unit, ticksPerWheel);
    }

    /**
     * As the constructor of {@link io.hwheel.HashedWheelTimer} with these parameters.
     *
     * @param threadFactory      makes the thread that takes events and runs tasks, and that the
     *                           first timeout starts
     * @throws io.hwheel.WheelUnavailableException if the kernel has no wheel for it
     */
    public HashedWheelTimer(ThreadFactory threadFactory) {
        super(threadFactory);
    }

    /**
     * As the constructor of {@link io.hwheel.HashedWheelTimer} with these parameters.
     *
     * @param threadFactory      makes the thread that takes events and runs tasks, and that the
     *                           first timeout starts
     * @param tickDuration       of the wheel; less than 1 ms is taken for 1 ms, and logged
     * @param unit               of the tick
     * @throws io.hwheel.WheelUnavailableException if the kernel has no wheel for it
     */
    public HashedWheelTimer(ThreadFactory threadFactory, long tickDuration, TimeUnit unit) {
        super(threadFactory, tickDuration, unit);
    }

    /**
     * As the constructor of {@link io.hwheel.HashedWheelTimer} with these parameters.
     *
     * @param threadFactory      makes the thread that takes events and runs tasks, and that the
     *                           first timeout starts
     * @param tickDuration       of the wheel; less than 1 ms is taken for 1 ms, and logged
     * @param unit               of the tick
     * @param ticksPerWheel      1 to 2^30; the kernel takes the next power of two, up to 2^20
     * @throws io.hwheel.WheelUnavailableException if the kernel has no wheel for it
     */
    public HashedWheelTimer(ThreadFactory threadFactory, long tickDuration, TimeUnit unit,
            int ticksPerWheel) {
        super(threadFactory, tickDuration, unit, ticksPerWheel);
    }

    /**
     * As the constructor of {@link io.hwheel.HashedWheelTimer} with these parameters.
     *
     * @param threadFactory      makes the thread that takes events and runs tasks, and that the
     *                           first timeout starts
     * @param tickDuration       of the wheel; less than 1 ms is taken for 1 ms, and logged
     * @param unit               of the tick
     * @param ticksPerWheel      1 to 2^30; the kernel takes the next power of two, up to 2^20
     * @param leakDetection      whether a timer that is dropped without stop() is reported; if its
     *                           thread is no daemon, it is in any case
     * @throws io.hwheel.WheelUnavailableException if the kernel has no wheel for it
     */
    public HashedWheelTimer(ThreadFactory threadFactory, long tickDuration, TimeUnit unit,
            int ticksPerWheel, boolean leakDetection) {
        super(threadFactory, tickDuration, unit, ticksPerWheel, leakDetection);
    }

    /**
     * As the constructor of {@link io.hwheel.HashedWheelTimer} with these parameters.
     *
     * @param threadFactory      makes the thread that takes events and runs tasks, and that the
     *                           first timeout starts
     * @param tickDuration       of the wheel; less than 1 ms is taken for 1 ms, and logged
     * @param unit               of the tick
     * @param ticksPerWheel      1 to 2^30; the kernel takes the next power of two, up to 2^20
     * @param leakDetection      whether a timer that is dropped without stop() is reported; if its
     *                           thread is no daemon, it is in any case
     * @param maxPendingTimeouts how many timeouts may be pending; 0 or less: as many as the device
     *                           gives
     * @throws io.hwheel.WheelUnavailableException if the kernel has no wheel for it
     */
    public HashedWheelTimer(ThreadFactory threadFactory, long tickDuration, TimeUnit unit,
            int ticksPerWheel, boolean leakDetection, long maxPendingTimeouts) {
        super(threadFactory, tickDuration, unit, ticksPerWheel, leakDetection, maxPendingTimeouts);
    }

    /**
     * As the constructor of {@link io.hwheel.HashedWheelTimer} with these parameters.
     *
     * @param threadFactory      makes the thread that takes events and runs tasks, and that the
     *                           first timeout starts
     * @param tickDuration       of the wheel; less than 1 ms is taken for 1 ms, and logged
     * @param unit               of the tick
     * @param ticksPerWheel      1 to 2^30; the kernel takes the next power of two, up to 2^20
     * @param leakDetection      whether a timer that is dropped without stop() is reported; if its
     *                           thread is no daemon, it is in any case
     * @param maxPendingTimeouts how many timeouts may be pending; 0 or less: as many as the device
     *                           gives
     * @param taskExecutor       runs the tasks; the caller shuts it down
     * @throws io.hwheel.WheelUnavailableException if the kernel has no wheel for it
     */
    public HashedWheelTimer(ThreadFactory threadFactory, long tickDuration, TimeUnit unit,
            int ticksPerWheel, boolean leakDetection, long maxPendingTimeouts,
            Executor taskExecutor) {
        super(threadFactory, tickDuration, unit, ticksPerWheel, leakDetection, maxPendingTimeouts,
                taskExecutor);
    }
}
