// SPDX-License-Identifier: LGPL-2.1-only OR MIT
package io.hwheel;

import io.netty.util.Timeout;
import io.netty.util.TimerTask;
import io.netty.util.concurrent.ImmediateExecutor;
import java.lang.ref.Cleaner;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;

/**
 * As {@link HashedWheelTimer}, for programs that want an {@code io.netty.util.HashedWheelTimer} and
 * nothing else. It is one by inheritance only: Netty's part of it has one empty bucket and a thread
 * that is never started.
 *
 * <p>Any thread may call any method.
 */
public class NettyHashedWheelTimer extends io.netty.util.HashedWheelTimer {
    private final TimerCore core;
    private final Cleaner.Cleanable life;

    /**
     * Creates a timer with a tick of 100 ms, 512 ticks per wheel and no limit of its own.
     *
     * @throws WheelUnavailableException if the kernel has no wheel for it
     */
    public NettyHashedWheelTimer() {
        this(Executors.defaultThreadFactory(), 100, TimeUnit.MILLISECONDS, 512, true, -1,
                ImmediateExecutor.INSTANCE, WheelChoice.ofProperty());
    }

    /**
     * Creates a timer with 512 ticks per wheel and no limit of its own.
     *
     * @param tickDuration       of the wheel; less than 1 ms is taken for 1 ms, and logged
     * @param unit               of the tick
     * @throws NullPointerException      if an object is null
     * @throws IllegalArgumentException  if a number is out of range
     * @throws WheelUnavailableException if the kernel has no wheel for it
     */
    public NettyHashedWheelTimer(long tickDuration, TimeUnit unit) {
        this(Executors.defaultThreadFactory(), tickDuration, unit, 512, true, -1,
                ImmediateExecutor.INSTANCE, WheelChoice.ofProperty());
    }

    /**
     * Creates a timer with no limit of its own.
     *
     * @param tickDuration       of the wheel; less than 1 ms is taken for 1 ms, and logged
     * @param unit               of the tick
     * @param ticksPerWheel      1 to 2^30; the kernel takes the next power of two, up to 2^20
     * @throws NullPointerException      if an object is null
     * @throws IllegalArgumentException  if a number is out of range
     * @throws WheelUnavailableException if the kernel has no wheel for it
     */
    public NettyHashedWheelTimer(long tickDuration, TimeUnit unit, int ticksPerWheel) {
        this(Executors.defaultThreadFactory(), tickDuration, unit, ticksPerWheel, true, -1,
                ImmediateExecutor.INSTANCE, WheelChoice.ofProperty());
    }

    /**
     * Creates a timer with a tick of 100 ms, 512 ticks per wheel and no limit of its own.
     *
     * @param threadFactory      makes the thread that takes events and runs tasks, and that the
     *                           first timeout starts
     * @throws NullPointerException      if an object is null
     * @throws WheelUnavailableException if the kernel has no wheel for it
     */
    public NettyHashedWheelTimer(ThreadFactory threadFactory) {
        this(threadFactory, 100, TimeUnit.MILLISECONDS, 512, true, -1, ImmediateExecutor.INSTANCE,
                WheelChoice.ofProperty());
    }

    /**
     * Creates a timer with 512 ticks per wheel and no limit of its own.
     *
     * @param threadFactory      makes the thread that takes events and runs tasks, and that the
     *                           first timeout starts
     * @param tickDuration       of the wheel; less than 1 ms is taken for 1 ms, and logged
     * @param unit               of the tick
     * @throws NullPointerException      if an object is null
     * @throws IllegalArgumentException  if a number is out of range
     * @throws WheelUnavailableException if the kernel has no wheel for it
     */
    public NettyHashedWheelTimer(ThreadFactory threadFactory, long tickDuration, TimeUnit unit) {
        this(threadFactory, tickDuration, unit, 512, true, -1, ImmediateExecutor.INSTANCE,
                WheelChoice.ofProperty());
    }

    /**
     * Creates a timer with no limit of its own.
     *
     * @param threadFactory      makes the thread that takes events and runs tasks, and that the
     *                           first timeout starts
     * @param tickDuration       of the wheel; less than 1 ms is taken for 1 ms, and logged
     * @param unit               of the tick
     * @param ticksPerWheel      1 to 2^30; the kernel takes the next power of two, up to 2^20
     * @throws NullPointerException      if an object is null
     * @throws IllegalArgumentException  if a number is out of range
     * @throws WheelUnavailableException if the kernel has no wheel for it
     */
    public NettyHashedWheelTimer(ThreadFactory threadFactory, long tickDuration, TimeUnit unit,
            int ticksPerWheel) {
        this(threadFactory, tickDuration, unit, ticksPerWheel, true, -1, ImmediateExecutor.INSTANCE,
                WheelChoice.ofProperty());
    }

    /**
     * Creates a timer with no limit of its own.
     *
     * @param threadFactory      makes the thread that takes events and runs tasks, and that the
     *                           first timeout starts
     * @param tickDuration       of the wheel; less than 1 ms is taken for 1 ms, and logged
     * @param unit               of the tick
     * @param ticksPerWheel      1 to 2^30; the kernel takes the next power of two, up to 2^20
     * @param leakDetection      whether a timer that is dropped without stop() is reported; if its
     *                           thread is no daemon, it is in any case
     * @throws NullPointerException      if an object is null
     * @throws IllegalArgumentException  if a number is out of range
     * @throws WheelUnavailableException if the kernel has no wheel for it
     */
    public NettyHashedWheelTimer(ThreadFactory threadFactory, long tickDuration, TimeUnit unit,
            int ticksPerWheel, boolean leakDetection) {
        this(threadFactory, tickDuration, unit, ticksPerWheel, leakDetection, -1,
                ImmediateExecutor.INSTANCE, WheelChoice.ofProperty());
    }

    /**
     * Creates a timer.
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
     * @throws NullPointerException      if an object is null
     * @throws IllegalArgumentException  if a number is out of range
     * @throws WheelUnavailableException if the kernel has no wheel for it
     */
    public NettyHashedWheelTimer(ThreadFactory threadFactory, long tickDuration, TimeUnit unit,
            int ticksPerWheel, boolean leakDetection, long maxPendingTimeouts) {
        this(threadFactory, tickDuration, unit, ticksPerWheel, leakDetection, maxPendingTimeouts,
                ImmediateExecutor.INSTANCE, WheelChoice.ofProperty());
    }

    /**
     * Creates a timer.
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
     * @throws NullPointerException      if an object is null
     * @throws IllegalArgumentException  if a number is out of range
     * @throws WheelUnavailableException if the kernel has no wheel for it
     */
    public NettyHashedWheelTimer(ThreadFactory threadFactory, long tickDuration, TimeUnit unit,
            int ticksPerWheel, boolean leakDetection, long maxPendingTimeouts,
            Executor taskExecutor) {
        this(threadFactory, tickDuration, unit, ticksPerWheel, leakDetection, maxPendingTimeouts,
                taskExecutor, WheelChoice.ofProperty());
    }

    /**
     * Creates a timer on the wheel that is chosen here, whatever the system property says.
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
     * @param choice             which wheel of the kernel it uses
     * @throws NullPointerException      if an object is null
     * @throws IllegalArgumentException  if a number is out of range
     * @throws WheelUnavailableException if the kernel has no wheel for it
     */
    public NettyHashedWheelTimer(ThreadFactory threadFactory, long tickDuration, TimeUnit unit,
            int ticksPerWheel, boolean leakDetection, long maxPendingTimeouts,
            Executor taskExecutor, WheelChoice choice) {
        this(new TimerCore(new TimerConfig(threadFactory, tickDuration, unit, ticksPerWheel,
                maxPendingTimeouts, taskExecutor, choice)), leakDetection);
    }

    /** Netty's part comes after the kernel's, which may fail. {@link TimerLife} detects leaks. */
    private NettyHashedWheelTimer(TimerCore core, boolean leakDetection) {
        super(NettyHashedWheelTimer::unused, 1, TimeUnit.HOURS, 1, false);
        this.core = core;
        life = TimerLife.begin(this, core, leakDetection);
    }

    /** Netty's constructor wants a thread, and would track the timer if that was no daemon. */
    private static Thread unused(Runnable worker) {
        Thread thread = new Thread(worker, "hwheel-unused");
        thread.setDaemon(true);
        return thread;
    }

    /**
     * As {@link HashedWheelTimer#start()}.
     *
     * @throws IllegalStateException if the timer was stopped
     */
    @Override
    public void start() {
        core.start();
    }

    /**
     * As {@link HashedWheelTimer#stop()}.
     *
     * @return the timeouts that were pending
     * @throws IllegalStateException if a task calls it in the timer's thread
     */
    @Override
    public Set<Timeout> stop() {
        Set<Timeout> unprocessed = core.stop();
        life.clean();
        super.stop();
        return unprocessed;
    }

    /**
     * As {@link HashedWheelTimer#newTimeout}.
     *
     * @param delay from now; 0 and less mean the next tick
     * @param unit  of the delay
     * @throws java.util.concurrent.RejectedExecutionException if there are too many
     * @throws IllegalStateException if the timer was stopped
     */
    @Override
    public Timeout newTimeout(TimerTask task, long delay, TimeUnit unit) {
        return core.newTimeout(this, task, delay, unit);
    }

    /**
     * As {@link HashedWheelTimer#pendingTimeouts()}.
     *
     * @return 0 or more
     */
    @Override
    public long pendingTimeouts() {
        return core.pending();
    }
}
