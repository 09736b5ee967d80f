// SPDX-License-Identifier: LGPL-2.1-only OR MIT
package io.hwheel;

import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;

/**
 * A task that a timer runs once, unless it is cancelled before. Any thread may call any method.
 *
 * <p>The state alone decides how a timeout ends: each change of it is one exchange. The thread that
 * submits a timeout pushes it onto a stack of the wheel. The worker takes it, gives it the link
 * TAKEN, and then files it if it is pending. A thread that cancels it changes the state, and then
 * looks at the link: if that is TAKEN, it pushes the timeout once more, for the worker to unlink.
 * So at least one of the two sees what the other did: Wheel.taken() and Wheel.cancelled() order it.
 * If both do, the worker finds a cancelled timeout that it has not filed, and has nothing to do. A
 * thread that gets the timeout through a data race may see no link: that is no worse than an old
 * one.
 */
public abstract class Timeout extends Node implements Runnable {
    private static final int PENDING = 0;
    private static final int CANCELLED = 1;
    private static final int HANDED_BACK = 2;
    /** The executor has the task, and has not begun it. */
    private static final int EXPIRED = 3;
    private static final int RUN = 4;

    private static final AtomicIntegerFieldUpdater<Timeout> STATE =
            AtomicIntegerFieldUpdater.newUpdater(Timeout.class, "state");
    private static final AtomicReferenceFieldUpdater<Timeout, Timeout> LINK =
            AtomicReferenceFieldUpdater.newUpdater(Timeout.class, Timeout.class, "link");

    /** What keeps a timer alive that has timeouts; null in the bottom of a stack. */
    final WheelOwner owner;
    /** How many timeouts were ever submitted to its stack, with this one; wraps around. */
    int depth;

    /**
     * Nanoseconds since the wheel's origin until the worker files it, then the edge in ticks. The
     * worker's, as the node: a timeout that is filed is in the list of a slot, or due.
     */
    long when;

    /** The next one of a stack, or of the list that stop() hands back. */
    private volatile Timeout link;
    private volatile int state;

    Timeout(WheelOwner owner) {
        this.owner = owner;
    }

    /**
     * Returns whether the timeout has expired.
     *
     * @return true also while the task runs, and before it if the timer's executor has it
     */
    public boolean isExpired() {
        return state >= EXPIRED;
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
     * Cancels the task, unless the timeout has expired.
     *
     * @return whether this call has cancelled it
     */
    public boolean cancel() {
        if (!STATE.compareAndSet(this, PENDING, CANCELLED)) {
            return false;
        }
        owner.wheel.cancelled(this);
        return true;
    }

    Timeout link() {
        return link;
    }

    /** What was written to the timeout before is seen by a thread that sees the link. */
    void setLink(Timeout to) {
        LINK.lazySet(this, to);
    }

    /* For the worker */

    boolean isPending() {
        return state == PENDING;
    }

    /** Returns false if it was cancelled. Else the executor calls run() or the worker runTask(). */
    boolean expire(boolean forExecutor) {
        return STATE.compareAndSet(this, PENDING, forExecutor ? EXPIRED : RUN);
    }

    /** Ends a timeout that stop() returns. Returns false if it was cancelled before. */
    boolean handBack() {
        return STATE.compareAndSet(this, PENDING, HANDED_BACK);
    }

    boolean isHandedBack() {
        return state == HANDED_BACK;
    }

    /** Runs the task. */
    abstract void call() throws Exception;

    /** Runs when the worker lets go of a timeout that a program has cancelled. */
    void afterCancel() throws Throwable {
    }

    /**
     * Runs the task, unless it was run. For the timer's executor, which may call it twice; programs
     * have no reason to call it.
     */
    @Override
    public void run() {
        if (STATE.compareAndSet(this, EXPIRED, RUN)) {
            runTask();
        }
    }

    void runTask() {
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
        String how = now == PENDING ? "pending" : now >= EXPIRED ? "expired" : "cancelled";
        return getClass().getSimpleName() + '(' + how + ", task: " + task() + ')';
    }
}
