// SPDX-License-Identifier: LGPL-2.1-only OR MIT
package io.hwheel;

import java.util.Objects;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;

/**
 * Runs tasks once, after a delay, unless they are cancelled before, as most timeouts are. It needs
 * nothing but a JDK; {@link HashedWheelTimer} is the same for programs that use Netty's interfaces.
 *
 * <p>A timer has one thread, which sleeps until the next edge (a multiple of the tick) that has a
 * timeout. No task runs early; it runs late by less than a tick and the time that the thread takes
 * to wake up. The tasks that one thread submits for one edge run in that order.
 *
 * <p>A timer that a program drops without timeouts and without stop() is stopped when it is
 * collected, and logged with the line that made it.
 *
 * <p>Any thread may call any method.
 */
public final class Timer extends WheelOwner {
    private static final class Task extends Timeout {
        private final Runnable task;

        Task(Timer timer, Runnable task) {
            super(timer);
            this.task = task;
        }

        @Override
        void call() {
            task.run();
        }

        @Override
        Object task() {
            return task;
        }
    }

    /** Creates a timer with a tick of 100 ms and no limit, whose thread runs the tasks. */
    public Timer() {
        this(100, TimeUnit.MILLISECONDS);
    }

    /**
     * Creates a timer without a limit, whose thread runs the tasks.
     *
     * @param tick of at least 1 ms; a shorter one is taken for 1 ms, and logged
     * @param unit of the tick
     * @throws NullPointerException     if the unit is null
     * @throws IllegalArgumentException if the tick is 0 or less, or above 208 days
     */
    public Timer(long tick, TimeUnit unit) {
        this(Executors.defaultThreadFactory(), tick, unit, 0, null);
    }

    /**
     * Creates a timer.
     *
     * @param threads  makes the thread of the timer, which the first timeout starts; virtual ones
     *                 are as good
     * @param tick     of at least 1 ms; a shorter one is taken for 1 ms, and logged
     * @param unit     of the tick
     * @param most     how many timeouts may be pending; 0 or less: any number
     * @param executor runs the tasks; null: the timer's thread does. The caller shuts it down. If
     *                 it takes no task, the timer's thread runs that one
     * @throws NullPointerException     if the factory, the thread that it makes or the unit is null
     * @throws IllegalArgumentException if the tick is 0 or less, or above 208 days
     */
    public Timer(ThreadFactory threads, long tick, TimeUnit unit, long most, Executor executor) {
        super(new Wheel(Objects.requireNonNull(threads, "threads"),
                Ticks.nanos(tick, unit, 512, JdkLog.INSTANCE), most, executor, JdkLog.INSTANCE,
                Clock.SYSTEM), true);
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
     * @return the timeout, to be cancelled
     * @throws NullPointerException       if the task or the unit is null
     * @throws RejectedExecutionException if as many timeouts are pending as the constructor allows
     * @throws IllegalStateException      if the timer was stopped
     */
    public Timeout newTimeout(Runnable task, long delay, TimeUnit unit) {
        Timeout timeout = new Task(this, Objects.requireNonNull(task, "task"));
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
    public Set<Timeout> stop() {
        return new HandedBack<>(Timeout.class, this, stopWheel());
    }
}
