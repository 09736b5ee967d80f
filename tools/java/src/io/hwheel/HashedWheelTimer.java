// SPDX-License-Identifier: LGPL-2.1-only OR MIT
package io.hwheel;

import io.netty.util.Timeout;
import io.netty.util.TimerTask;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;

/**
 * A timer with the constructors and the meaning of {@code io.netty.util.HashedWheelTimer}, which
 * costs less and wakes up only for timeouts: an idle one sleeps, whatever its tick.
 *
 * <p>No timeout is early. It is late by less than a tick and the time that the thread takes to wake
 * up. The tasks that one thread submits for one edge run in that order.
 *
 * <p>Where it differs from Netty's timer:
 * <ul>
 * <li>A deadline on an edge runs at that edge, and not a tick later.
 * <li>With a limit, a cancelled timeout does not count from the moment in which cancel() returns.
 * <li>A task that the executor refuses runs in the timer's thread, and is not lost.
 * <li>Each timeout whose newTimeout() returns while another thread stops the timer is handed back.
 * <li>A stop() that is not the first one waits until that has ended. Tasks that are due and did not
 * begin are handed back.
 * <li>A timer that a program drops without timeouts and without stop() is stopped when it is
 * collected, also if it was started, and is logged at once.
 * <li>ticksPerWheel is checked, and has no other effect.
 * </ul>
 *
 * <p>Any thread may call any method.
 */
public class HashedWheelTimer extends WheelOwner implements io.netty.util.Timer {
    private static final int TICKS = 512;
    private static final int MOST_TICKS = 1 << 30;

    /** Creates a timer with a tick of 100 ms. */
    public HashedWheelTimer() {
        this(Executors.defaultThreadFactory());
    }

    /**
     * Creates a timer.
     *
     * @param tickDuration as below
     * @param unit         of the tick
     */
    public HashedWheelTimer(long tickDuration, TimeUnit unit) {
        this(Executors.defaultThreadFactory(), tickDuration, unit);
    }

    /**
     * Creates a timer.
     *
     * @param tickDuration  as below
     * @param unit          of the tick
     * @param ticksPerWheel as below
     */
    public HashedWheelTimer(long tickDuration, TimeUnit unit, int ticksPerWheel) {
        this(Executors.defaultThreadFactory(), tickDuration, unit, ticksPerWheel);
    }

    /**
     * Creates a timer with a tick of 100 ms.
     *
     * @param threadFactory as below
     */
    public HashedWheelTimer(ThreadFactory threadFactory) {
        this(threadFactory, 100, TimeUnit.MILLISECONDS);
    }

    /**
     * Creates a timer.
     *
     * @param threadFactory as below
     * @param tickDuration  as below
     * @param unit          of the tick
     */
    public HashedWheelTimer(ThreadFactory threadFactory, long tickDuration, TimeUnit unit) {
        this(threadFactory, tickDuration, unit, TICKS);
    }

    /**
     * Creates a timer.
     *
     * @param threadFactory as below
     * @param tickDuration  as below
     * @param unit          of the tick
     * @param ticksPerWheel as below
     */
    public HashedWheelTimer(ThreadFactory threadFactory, long tickDuration, TimeUnit unit,
            int ticksPerWheel) {
        this(threadFactory, tickDuration, unit, ticksPerWheel, true);
    }

    /**
     * Creates a timer.
     *
     * @param threadFactory as below
     * @param tickDuration  as below
     * @param unit          of the tick
     * @param ticksPerWheel as below
     * @param leakDetection as below
     */
    public HashedWheelTimer(ThreadFactory threadFactory, long tickDuration, TimeUnit unit,
            int ticksPerWheel, boolean leakDetection) {
        this(threadFactory, tickDuration, unit, ticksPerWheel, leakDetection, -1);
    }

    /**
     * Creates a timer.
     *
     * @param threadFactory      as below
     * @param tickDuration       as below
     * @param unit               of the tick
     * @param ticksPerWheel      as below
     * @param leakDetection      as below
     * @param maxPendingTimeouts as below
     */
    public HashedWheelTimer(ThreadFactory threadFactory, long tickDuration, TimeUnit unit,
            int ticksPerWheel, boolean leakDetection, long maxPendingTimeouts) {
        this(wheel(threadFactory, tickDuration, unit, ticksPerWheel, maxPendingTimeouts, null),
                leakDetection);
    }

    /**
     * Creates a timer.
     *
     * @param threadFactory      makes the thread of the timer, which the first timeout starts;
     *                           virtual ones are as good
     * @param tickDuration       above 0; less than 1 ms is taken for 1 ms, and logged
     * @param unit               of the tick
     * @param ticksPerWheel      1 to 2^30
     * @param leakDetection      whether a timer that is dropped without stop() is logged; if its
     *                           thread is no daemon, it is in any case
     * @param maxPendingTimeouts how many timeouts may be pending; 0 or less: any number
     * @param taskExecutor       runs the tasks, where the other constructors leave that to the
     *                           timer's thread; the caller shuts it down
     * @throws NullPointerException      if an object is null, or the thread
     * @throws IllegalArgumentException  if a number is out of range, or the product of the tick and
     *                                   the next power of two of ticksPerWheel above 292 years
     */
    public HashedWheelTimer(ThreadFactory threadFactory, long tickDuration, TimeUnit unit,
            int ticksPerWheel, boolean leakDetection, long maxPendingTimeouts,
            Executor taskExecutor) {
        this(wheel(threadFactory, tickDuration, unit, ticksPerWheel, maxPendingTimeouts,
                Objects.requireNonNull(taskExecutor, "taskExecutor")), leakDetection);
    }

    /** On a wheel whose log is NettyLog. */
    HashedWheelTimer(Wheel wheel, boolean leakDetection) {
        super(wheel, leakDetection);
    }

    private static Wheel wheel(ThreadFactory threads, long tick, TimeUnit unit, int perWheel,
            long most, Executor executor) {
        Objects.requireNonNull(threads, "threadFactory");
        Objects.requireNonNull(unit, "unit");
        Ticks.checkPositive(tick, "tickDuration");
        Ticks.checkPositive(perWheel, "ticksPerWheel");
        if (perWheel > MOST_TICKS) {
            throw new IllegalArgumentException("ticksPerWheel: " + perWheel
                    + " (expected: 1 to 2^30)");
        }
        int turn = perWheel == 1 ? 1 : Integer.highestOneBit(perWheel - 1) << 1;
        return new Wheel(threads, Ticks.nanos(tick, unit, turn, NettyLog.INSTANCE), most, executor,
                NettyLog.INSTANCE, Clock.SYSTEM);
    }

    /**
     * Starts the thread, which the first timeout does as well.
     *
     * @throws IllegalStateException if the timer was stopped
     */
    public void start() {
        wheel.start();
    }

    /**
     * Runs a task once, after a delay.
     *
     * @param task  what it throws is logged
     * @param delay from now; 0 and less mean the next edge
     * @param unit  of the delay
     * @throws NullPointerException       if the task or the unit is null
     * @throws RejectedExecutionException if as many timeouts are pending as the constructor allows
     * @throws IllegalStateException      if the timer was stopped
     */
    @Override
    public Timeout newTimeout(TimerTask task, long delay, TimeUnit unit) {
        NettyTimeout timeout = new NettyTimeout(this, Objects.requireNonNull(task, "task"));
        wheel.submit(timeout, unit.toNanos(delay));
        return timeout;
    }

    /**
     * Returns how many timeouts are pending. Without a limit, one that was cancelled counts for up
     * to a tick.
     *
     * @return 0 or more
     */
    public long pendingTimeouts() {
        return wheel.pending();
    }

    /**
     * Stops the timer for good. Its thread is interrupted if it runs a task, and ends after that.
     *
     * @return the timeouts that were pending, which are cancelled now; nothing, if the timer was
     *         stopped before: then the call waits until that has ended
     * @throws IllegalStateException if a task calls it in the timer's thread
     */
    @Override
    public Set<Timeout> stop() {
        return new HandedBack<>(Timeout.class, this, stopWheel());
    }
}
