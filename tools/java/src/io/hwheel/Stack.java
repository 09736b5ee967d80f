// SPDX-License-Identifier: LGPL-2.1-only OR MIT
package io.hwheel;

import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;

/** Keeps what is before a stack in memory on other cache lines. */
abstract class StackFront {
    long p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11, p12, p13, p14;
}

/** The part that threads write. */
abstract class StackTop extends StackFront {
    volatile Timeout top = new Stack.Bottom(0);
}

/**
 * Timeouts that the worker is to look at. Any thread pushes; the worker takes all at once. What
 * stands in an empty stack is new after each take: a push that saw an earlier one fails.
 */
final class Stack extends StackTop {
    private static final AtomicReferenceFieldUpdater<StackTop, Timeout> TOP =
            AtomicReferenceFieldUpdater.newUpdater(StackTop.class, Timeout.class, "top");
    private static final Timeout CLOSED = new Bottom(0);

    long q0, q1, q2, q3, q4, q5, q6, q7, q8, q9, q10, q11, q12, q13, q14;

    /** The last one of each list, the only one without a link. */
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

    /** Pushes a timeout; @param counts 1 if it was never pushed before, else 0. False if closed. */
    boolean push(Timeout timeout, int counts) {
        for (;;) {
            Timeout seen = top;
            if (seen == CLOSED) {
                return false;
            }
            timeout.link = seen;
            timeout.depth = seen.depth + counts;
            if (TOP.compareAndSet(this, seen, timeout)) {
                return true;
            }
        }
    }

    boolean isEmpty() {
        return top.owner == null;
    }

    boolean isClosed() {
        return top == CLOSED;
    }

    /** Returns how many timeouts were ever submitted; wraps around. */
    int count() {
        return top.depth;
    }

    /** Empties the stack. Returns the timeouts by their links, as they were pushed, or null. */
    Timeout takeAll() {
        Timeout taken = top;
        if (taken.owner == null) {
            return null;
        }
        Bottom bottom = new Bottom(taken.depth);
        while (!TOP.compareAndSet(this, taken, bottom)) {
            taken = top;
            bottom.depth = taken.depth;
        }
        return inOrder(taken);
    }

    /** As takeAll(), and no push succeeds from now on. Needs no memory. */
    Timeout close() {
        return inOrder(TOP.getAndSet(this, CLOSED));
    }

    private static Timeout inOrder(Timeout last) {
        Timeout first = null;
        Timeout t = last;
        for (Timeout before = t.link; before != null; before = t.link) {
            t.link = first;
            first = t;
            t = before;
        }
        return first;
    }
}
