// SPDX-License-Identifier: LGPL-2.1-only OR MIT
package io.hwheel;

import io.netty.util.Timeout;
import io.netty.util.Timer;
import io.netty.util.TimerTask;
import io.netty.util.concurrent.ImmediateExecutor;
import java.lang.ref.Cleaner;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;

/**
 * A timer with the constructors and the meaning of {@code io.netty.util.HashedWheelTimer}, on a
 * wheel of the Linux kernel: the module hwheel.
 *
 * <p>To arm and to cancel makes no system call, except to wake a wheel that was idle, and an idle
 * timer wakes no thread. No timeout is early. It is late by less than a tick and the time that two
 * threads take to wake up. The tasks of timeouts that one thread arms for one tick usually run in
 * that order, which is no promise.
 *
 * <p>Where it differs from Netty's timer:
 * <ul>
 * <li>The constructor opens the device, and so may throw {@link WheelUnavailableException}.
 * <li>A cancelled timeout does not count as pending from the moment in which cancel() returns.
 * <li>{@code TimerTask.cancelled()} of Netty 4.2 runs in the thread that cancels.
 * <li>A timer without a limit throws RejectedExecutionException when it has as many timeouts as the
 * device gives it: 65,536, unless an administrator has changed the module's parameter max_timeouts.
 * <li>A stop() that is not the first one waits until that has ended. Each timeout whose
 * newTimeout() returns while another thread stops the timer is handed back.
 * <li>A timer that a program drops without timeouts and without stop() is stopped when it is
 * collected, also if it was started.
 * </ul>
 *
 * <p>Any thread may call any method.
 */
public class HashedWheelTimer implements Timer {
    private final TimerCore core;
    private final Cleaner.Cleanable life;

    /**
     * Creates a timer with a tick of 100 ms, 512 ticks per wheel and no limit of its own.
     *
     * @throws WheelUnavailableException if the kernel has no wheel for it
     */
    public HashedWheelTimer() {
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
    public HashedWheelTimer(long tickDuration, TimeUnit unit) {
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
    public HashedWheelTimer(long tickDuration, TimeUnit unit, int ticksPerWheel) {
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
    public HashedWheelTimer(ThreadFactory threadFactory) {
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
    public HashedWheelTimer(ThreadFactory threadFactory, long tickDuration, TimeUnit unit) {
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
    public HashedWheelTimer(ThreadFactory threadFactory, long tickDuration, TimeUnit unit,
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
    public HashedWheelTimer(ThreadFactory threadFactory, long tickDuration, TimeUnit unit,
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
    public HashedWheelTimer(ThreadFactory threadFactory, long tickDuration, TimeUnit unit,
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
    public HashedWheelTimer(ThreadFactory threadFactory, long tickDuration, TimeUnit unit,
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
    public HashedWheelTimer(ThreadFactory threadFactory, long tickDuration, TimeUnit unit,
            int ticksPerWheel, boolean leakDetection, long maxPendingTimeouts,
            Executor taskExecutor, WheelChoice choice) {
        core = new TimerCore(new TimerConfig(threadFactory, tickDuration, unit, ticksPerWheel,
                maxPendingTimeouts, taskExecutor, choice));
        life = TimerLife.begin(this, core, leakDetection);
    }

    /**
     * Starts the thread, which the first timeout does as well.
     *
     * @throws IllegalStateException if the timer was stopped
     */
    public void start() {
        core.start();
    }

    /**
     * Stops the timer for good. The thread is interrupted if it runs a task, and ends after that.
     *
     * @return the timeouts that were pending, which are cancelled now; nothing, if the timer was
     *         stopped before: then the call waits until that has ended
     * @throws IllegalStateException if a task calls it in the timer's thread
     */
    @Override
    public Set<Timeout> stop() {
        Set<Timeout> unprocessed = core.stop();
        life.clean();
        return unprocessed;
    }

    /**
     * Runs a task once, after a delay.
     *
     * @param delay from now; 0 and less mean the next tick
     * @param unit  of the delay
     * @throws NullPointerException       if the task or the unit is null
     * @throws RejectedExecutionException if there are as many timeouts as the constructor, or the
     *                                    device, allows
     * @throws IllegalStateException      if the timer was stopped
     */
    @Override
    public Timeout newTimeout(TimerTask task, long delay, TimeUnit unit) {
        return core.newTimeout(this, task, delay, unit);
    }

    /**
     * Returns how many timeouts are pending. While other threads arm and cancel, it is about right.
     * A timer without a limit has no counter, and counts them one by one.
     *
     * @return 0 or more
     */
    public long pendingTimeouts() {
        return core.pending();
    }
}
