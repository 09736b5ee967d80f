// SPDX-License-Identifier: LGPL-2.1-only OR MIT
package io.hwheel;

import io.netty.util.Timeout;
import io.netty.util.Timer;
import io.netty.util.TimerTask;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * A timeout. Its state alone decides how it ends, whatever the kernel has done with its record: a
 * timeout that is due but was not delivered can be cancelled.
 *
 * <p>The thread that cancels and the reaper may come upon one record at a time. The record must not
 * be used again before both are done with it, as the thread would cancel the next timeout of that
 * record. So the second one frees it: the states CANCELLED to LATE tell which.
 */
final class WheelTimeout implements Timeout, Runnable {
    private static final int PENDING = 0;
    private static final int EXPIRED = 1;
    /** The thread that cancelled has the record, or is done with it. */
    private static final int CANCELLED = 2;
    /** Cancelled, and the reaper has seen the event: the thread that cancelled frees the record. */
    private static final int REAPED = 3;
    /** Cancelled when the event was in the ring: the reaper frees the record. */
    private static final int LATE = 4;

    private static final VarHandle STATE;

    static {
        try {
            STATE = MethodHandles.lookup().findVarHandle(WheelTimeout.class, "state", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final Timer timer;
    private final TimerCore core;
    private final TimerTask task;
    /** Set before the timeout is published. */
    int record;
    private volatile int state;

    WheelTimeout(Timer timer, TimerCore core, TimerTask task) {
        this.timer = timer;
        this.core = core;
        this.task = task;
    }

    @Override
    public Timer timer() {
        return timer;
    }

    @Override
    public TimerTask task() {
        return task;
    }

    @Override
    public boolean isExpired() {
        return state == EXPIRED;
    }

    @Override
    public boolean isCancelled() {
        return state >= CANCELLED;
    }

    boolean isPending() {
        return state == PENDING;
    }

    @Override
    public boolean cancel() {
        if (!withdraw()) {
            return false;
        }
        CancelledCallback.call(this);
        return true;
    }

    /** Cancels without telling the task. */
    boolean withdraw() {
        if (!STATE.compareAndSet(this, PENDING, CANCELLED)) {
            return false;
        }
        core.release(this);
        return true;
    }

    /* For the reaper */

    /** Returns false if the timeout was cancelled. */
    boolean expire() {
        return STATE.compareAndSet(this, PENDING, EXPIRED);
    }

    /** Ends a timeout that stop() hands back. Returns false if it was cancelled before. */
    boolean handBack() {
        return STATE.compareAndSet(this, PENDING, LATE);
    }

    /** Of a cancelled timeout: returns whether the thread that cancelled it frees the record. */
    boolean leave() {
        return STATE.compareAndSet(this, CANCELLED, REAPED);
    }

    /** For the thread that cancels: returns whether the reaper frees the record. */
    boolean leaveToReaper() {
        return STATE.compareAndSet(this, CANCELLED, LATE);
    }

    /** Runs the task, in the thread of the executor. */
    @Override
    public void run() {
        try {
            task.run(this);
        } catch (Throwable e) {
            TimerLog.warn("An exception was thrown by TimerTask.", e);
        }
    }

    @Override
    public String toString() {
        String how = isPending() ? "pending" : isExpired() ? "expired" : "cancelled";
        return getClass().getSimpleName() + '(' + how + ", task: " + task + ')';
    }
}
