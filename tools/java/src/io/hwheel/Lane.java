// SPDX-License-Identifier: LGPL-2.1-only OR MIT
package io.hwheel;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/** Keeps what a lane has before it on other cache lines. */
abstract class LaneFront {
    long p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11, p12, p13, p14, p15;
}

/**
 * A stack of free records, for any number of threads. A thread that takes one reads the link of the
 * top first. The count lets its exchange fail if the stack has changed meanwhile, even if the top
 * is the same again.
 */
final class Lane extends LaneFront {
    private static final VarHandle HEAD;
    private static final long CHANGE = 1L << 32;

    static {
        try {
            HEAD = MethodHandles.lookup().findVarHandle(Lane.class, "head", long.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    /** The record on top, + 1, in the lower half; above it a count of the changes. */
    private volatile long head;
    long q0, q1, q2, q3, q4, q5, q6, q7, q8, q9, q10, q11, q12, q13, q14, q15;

    /** Returns -1 if there is none. Pairs with push(): the link is there. */
    int pop(Table table) {
        for (;;) {
            long old = (long) HEAD.getAcquire(this);
            int record = (int) old - 1;
            if (record < 0) {
                return -1;
            }
            if (HEAD.compareAndSet(this, old, changed(old, table.link(record)))) {
                return record;
            }
        }
    }

    /** Pairs with pop(). */
    void push(Table table, int record) {
        long old;
        do {
            old = (long) HEAD.getOpaque(this);
            table.setLink(record, (int) old);
        } while (!HEAD.compareAndSet(this, old, changed(old, record + 1)));
    }

    private static long changed(long old, int top) {
        return (old & -CHANGE) + CHANGE | top;
    }
}
