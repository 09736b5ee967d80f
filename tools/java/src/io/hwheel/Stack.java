// SPDX-License-Identifier: LGPL-2.1-only OR MIT
package io.hwheel;

import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;

/**
 * Keeps what is before a stack in memory on other cache lines. A JVM since 15 puts a field of a
 * subclass into the hole of 4 bytes before the longs, so there is none.
 */
abstract class StackFront {
    int p;
    long p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11, p12, p13, p14;
}

/** The part that threads write. */
abstract class StackTops extends StackFront {
    volatile Timeout submitted = new Stack.Bottom(0);
    volatile Timeout cancelled;
}

/**
 * Timeouts that the worker is to look at: new ones, and cancelled ones that it had taken. Any
 * thread pushes; the worker takes all at once. A timeout is pushed once as either, and what stands
 * in an empty stack is new after each take: so a push that saw an earlier top fails, and the depth
 * of the top is right.
 */
final class Stack extends StackTops {
    private static final AtomicReferenceFieldUpdater<StackTops, Timeout> SUBMITTED =
            AtomicReferenceFieldUpdater.newUpdater(StackTops.class, Timeout.class, "submitted");
    private static final AtomicReferenceFieldUpdater<StackTops, Timeout> CANCELLED =
            AtomicReferenceFieldUpdater.newUpdater(StackTops.class, Timeout.class, "cancelled");
    private static final Timeout CLOSED = new Bottom(0);
    /** The link of a timeout that the worker has taken. */
    static final Timeout TAKEN = new Bottom(0);

    long q0, q1, q2, q3, q4, q5, q6, q7, q8, q9, q10, q11, q12, q13, q14;

    /** Below what was submitted, so that each timeout there has a link. */
    static final class Bottom extends Timeout {
        Bottom(int depth) {
            super(null);
            this.depth = depth;
        }

        @Override
        void call() {
            throw new IllegalStateException();
        }

        @Override
        Object task() {
            return null;
        }
    }

    /** Pushes a new timeout. Returns false if the stack is closed. */
    boolean submit(Timeout t) {
        for (;;) {
            Timeout seen = submitted;
            if (seen == CLOSED) {
                return false;
            }
            t.setLink(seen);
            t.depth = seen.depth + 1;
            if (SUBMITTED.compareAndSet(this, seen, t)) {
                return true;
            }
        }
    }

    /** Pushes a timeout that was cancelled, unless the stack is closed: then the worker sees it. */
    void cancel(Timeout t) {
        for (;;) {
            Timeout seen = cancelled;
            if (seen == CLOSED) {
                return;
            }
            t.setLink(seen);
            if (CANCELLED.compareAndSet(this, seen, t)) {
                return;
            }
        }
    }

    /** For the worker, until it has closed the stack. */
    boolean isEmpty() {
        return submitted.owner == null && cancelled == null;
    }

    /** For the worker: whether a timeout was submitted with a deadline of this or before. */
    boolean hasBy(long deadline) {
        for (Timeout t = submitted; t.owner != null; t = t.link()) {
            if (t.when <= deadline) {
                return true;
            }
        }
        return false;
    }

    boolean isClosed() {
        return submitted == CLOSED;
    }

    /** Returns how many timeouts were ever submitted; wraps around. */
    int count() {
        return submitted.depth;
    }

    /** Returns what was submitted, by the links, and last a bottom without one; or null. */
    Timeout takeSubmitted() {
        Timeout taken = submitted;
        if (taken.owner == null) {
            return null;
        }
        Bottom bottom = new Bottom(taken.depth);
        while (!SUBMITTED.compareAndSet(this, taken, bottom)) {
            taken = submitted;
            bottom.depth = taken.depth;
        }
        return taken;
    }

    /** Returns what was cancelled, by the links, or null. */
    Timeout takeCancelled() {
        return cancelled == null ? null : CANCELLED.getAndSet(this, null);
    }

    /** As takeSubmitted(), and no push succeeds from now on. Needs no memory. */
    Timeout close() {
        cancelled = CLOSED;
        return SUBMITTED.getAndSet(this, CLOSED);
    }
}
