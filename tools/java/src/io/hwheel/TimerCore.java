// SPDX-License-Identifier: LGPL-2.1-only OR MIT
package io.hwheel;

import io.netty.util.Timeout;
import io.netty.util.Timer;
import io.netty.util.TimerTask;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Collections;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;

/**
 * The state of a timer. Programs construct HashedWheelTimer, which refers to this; the thread does
 * not refer to HashedWheelTimer, so that it can be collected.
 */
final class TimerCore {
    private static final int INIT = 0;
    private static final int STARTED = 1;
    private static final int STOPPED = 2;
    /** The thread has ended by itself, or did not start: stop() hands back what was pending. */
    private static final int FAILED = 3;

    private static final VarHandle STATE;

    static {
        try {
            STATE = MethodHandles.lookup().findVarHandle(TimerCore.class, "state", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    final Mapping mapping;
    final Table table;
    private final Records records;
    private final PendingLimit limit;
    private final Reaper reaper;
    private final Thread thread;
    private final CountDownLatch ended = new CountDownLatch(1);
    private volatile int state;

    /** Opens the device; the thread is made, and not started. */
    TimerCore(TimerConfig config) {
        WheelFile file = config.open();
        int lanes = Records.lanesFor(Runtime.getRuntime().availableProcessors(), file.max);
        mapping = Mapping.of(file, lanes);
        try {
            table = new Table(mapping.capacity());
            records = new Records(mapping, table, lanes);
            limit = config.maxPending > 0 ? new PendingLimit(config.maxPending) : null;
            reaper = new Reaper(this, config.taskExecutor);
            thread = Objects.requireNonNull(config.threadFactory.newThread(reaper), "thread");
        } catch (Throwable e) {
            mapping.close();
            throw e;
        }
    }

    boolean isDaemon() {
        return thread.isDaemon();
    }

    boolean isStopped() {
        return state == STOPPED;
    }

    /** Exactly, while no thread arms or ends a timeout. Without a limit there is no counter. */
    long pending() {
        return limit != null ? limit.count() : table.pending();
    }

    /* Start */

    void start() {
        if (state != STARTED) {
            startSlowly();
        }
    }

    private void startSlowly() {
        if (STATE.compareAndSet(this, INIT, STARTED)) {
            try {
                thread.start();
            } catch (Throwable e) {
                /* Other threads may have armed timeouts meanwhile. */
                reaper.failToStart();
                throw e;
            }
        } else if (state != STARTED) {
            throw stopped();
        }
    }

    /** Returns what a timer throws once it was stopped. */
    static IllegalStateException stopped() {
        return new IllegalStateException("cannot be started once stopped");
    }

    /* Timeouts */

    WheelTimeout newTimeout(Timer timer, TimerTask task, long delay, TimeUnit unit) {
        Objects.requireNonNull(task, "task");
        Objects.requireNonNull(unit, "unit");
        return arm(prepare(timer, task), unit.toNanos(delay));
    }

    /** A caller is told that the timer was stopped meanwhile rather than that it is full. */
    private WheelTimeout prepare(Timer timer, TimerTask task) {
        start();
        try {
            return enter(timer, task);
        } catch (RejectedExecutionException e) {
            throw state == STARTED ? e : stopped();
        }
    }

    private WheelTimeout enter(Timer timer, TimerTask task) {
        if (limit != null) {
            limit.enter();
        }
        try {
            WheelTimeout timeout = new WheelTimeout(timer, this, task);
            timeout.record = records.take();
            return timeout;
        } catch (Throwable e) {
            leave();
            throw e;
        }
    }

    private WheelTimeout arm(WheelTimeout timeout, long delay) {
        int record = timeout.record;
        table.set(record, timeout);
        boolean open = mapping.arm(record, deadline(delay));
        /*
         * Pairs with abandon(), which sets the state before the worker walks over the records:
         * either the worker sees the word, or this thread the state. Both are seq_cst.
         */
        return open && state == STARTED ? timeout : armClosed(timeout);
    }

    /** Returns a deadline on the worker's clock; a negative delay counts as 0. */
    private long deadline(long delay) {
        long now = mapping.now();
        if (delay <= 0) {
            return now;
        }
        long deadline = now + delay;
        return deadline < 0 || deadline > Mapping.NEVER ? Mapping.NEVER : deadline;
    }

    /** Either stop() has the timeout, or the thread takes it back. */
    private WheelTimeout armClosed(WheelTimeout timeout) {
        if (timeout.withdraw()) {
            throw stopped();
        }
        return timeout;
    }

    /** Of a timeout that a thread has cancelled: see {@link WheelTimeout}. */
    void release(WheelTimeout timeout) {
        int record = timeout.record;
        if (mapping.cancel(record)) {
            end(record);
        } else if (timeout.leaveToReaper()) {
            leave();
        } else {
            end(record);
        }
    }

    /** The timeout of a record has ended, and nobody else knows the record. */
    void end(int record) {
        leave();
        free(record);
    }

    /** A record whose timeout had ended before is free now. */
    void free(int record) {
        table.clear(record);
        records.give(record);
    }

    private void leave() {
        if (limit != null) {
            limit.leave();
        }
    }

    /* Stop */

    /** The first call returns the timeouts that were pending; others wait for it. */
    Set<Timeout> stop() {
        if (Thread.currentThread() == thread) {
            throw new IllegalStateException(HashedWheelTimer.class.getSimpleName()
                    + ".stop() cannot be called from " + TimerTask.class.getSimpleName());
        }
        if (!abandon()) {
            awaitEnd();
            return Collections.emptySet();
        }
        join();
        return reaper.unprocessed();
    }

    /** Begins to stop, and leaves the rest to the thread. Returns false if that was done before. */
    boolean abandon() {
        int before = (int) STATE.getAndSet(this, STOPPED);
        if (before == INIT) {
            close();
        } else if (before == STARTED) {
            mapping.stop();
        }
        return before != STOPPED;
    }

    /** By the reaper: no timeout will expire any more. */
    void fail() {
        STATE.compareAndSet(this, STARTED, FAILED);
        mapping.stop();
    }

    /**
     * A task that waits is interrupted, as with Netty's timer. The thread may not have begun, as
     * another one is about to start it.
     */
    private void join() {
        boolean interrupted = false;
        for (boolean done = false; !done;) {
            thread.interrupt();
            try {
                done = ended.await(100, TimeUnit.MILLISECONDS);
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        restore(interrupted);
    }

    private void awaitEnd() {
        boolean interrupted = false;
        for (boolean done = false; !done;) {
            try {
                ended.await();
                done = true;
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        restore(interrupted);
    }

    private static void restore(boolean interrupted) {
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** The thread ends, or never began. From now on the timer refuses timeouts, whatever came. */
    void close() {
        STATE.compareAndSet(this, STARTED, FAILED);
        try {
            mapping.close();
        } finally {
            ended.countDown();
        }
    }
}
