// SPDX-License-Identifier: LGPL-2.1-only OR MIT
package io.hwheel;

import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;

/**
 * A task that a timer runs once, unless it is cancelled before. Any thread may call any method.
 *
 * <p>The state alone decides how a timeout ends: each change of it is one exchange. The thread that
 * submits a timeout pushes it onto a stack of the wheel, and the worker files it. A thread that
 * cancels it before that leaves it there; one that cancels it later pushes it once more, and the
 * worker unlinks it.
 */
public abstract class Timeout extends Node implements Runnable {
    private static final int SUBMITTED = 0;
    private static final int FILED = 1;
    /** Final, as those below. */
    private static final int CANCELLED = 2;
    private static final int HANDED_BACK = 3;
    private static final int EXPIRED = 4;

    private static final AtomicIntegerFieldUpdater<Timeout> STATE =
            AtomicIntegerFieldUpdater.newUpdater(Timeout.class, "state");

    /** What keeps a timer alive that has timeouts; null in the bottom of a stack. */
    final WheelOwner owner;
    /** On a stack: how many timeouts were ever submitted to it, with this one; wraps around. */
    int depth;
    /** The next one of a stack, or of the list that stop() hands back. */
    Timeout link;

    /**
     * Nanoseconds since the wheel's origin until the worker files it, then the edge in ticks. The
     * worker's, as the node: a timeout that is filed is in the list of a slot, or due.
     */
    long when;

    private volatile int state;

    Timeout(WheelOwner owner) {
        this.owner = owner;
    }

    /**
     * Returns whether the task was or is being run.
     *
     * @return true also while the task runs
     */
    public boolean isExpired() {
        return state == EXPIRED;
    }

    /**
     * Returns whether the task was cancelled, by cancel() or by the timer's stop().
     *
     * @return true once the task will not run
     */
    public boolean isCancelled() {
        int now = state;
        return now == CANCELLED || now == HANDED_BACK;
    }

    /**
     * Cancels the task, unless it was or is being run.
     *
     * @return whether this call has cancelled it
     */
    public boolean cancel() {
        int before = withdraw(CANCELLED);
        if (before >= CANCELLED) {
            return false;
        }
        Wheel wheel = owner.wheel;
        if (before == FILED) {
            wheel.unlinkLater(this);
        }
        wheel.cancelled();
        return true;
    }

    /** Ends a timeout that is pending. Returns the state before. */
    private int withdraw(int end) {
        int now = state;
        while (now < CANCELLED && !STATE.compareAndSet(this, now, end)) {
            now = state;
        }
        return now;
    }

    /* For the worker */

    boolean isPending() {
        return state < CANCELLED;
    }

    /** Sets the edge. Returns false if the timeout was cancelled. */
    boolean file(long edge) {
        if (!STATE.compareAndSet(this, SUBMITTED, FILED)) {
            return false;
        }
        when = edge;
        return true;
    }

    /** Returns false if the timeout was cancelled. */
    boolean expire() {
        return STATE.compareAndSet(this, FILED, EXPIRED);
    }

    /** Ends a timeout that stop() returns. Returns false if it was cancelled before. */
    boolean handBack() {
        return withdraw(HANDED_BACK) < CANCELLED;
    }

    boolean isHandedBack() {
        return state == HANDED_BACK;
    }

    /** Runs the task. */
    abstract void call() throws Exception;

    /** Runs when the worker lets go of a timeout that a program has cancelled. */
    void afterCancel() throws Throwable {
    }

    /** For the timer's executor; programs have no reason to call it. */
    @Override
    public void run() {
        try {
            call();
        } catch (Throwable e) {
            owner.wheel.log.warn("An exception was thrown by a task.", e);
        }
    }

    abstract Object task();

    @Override
    public String toString() {
        int now = state;
        String how = now < CANCELLED ? "pending" : now == EXPIRED ? "expired" : "cancelled";
        return getClass().getSimpleName() + '(' + how + ", task: " + task() + ')';
    }
}
