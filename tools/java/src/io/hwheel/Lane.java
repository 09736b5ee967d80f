// SPDX-License-Identifier: LGPL-2.1-only OR MIT
package io.hwheel;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Arrays;

/** Keeps what a lane has before it on other cache lines. */
abstract class LaneFront {
    long p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11, p12, p13, p14, p15;
}

/** What the threads of a lane write. */
abstract class LaneFields extends LaneFront {
    int lock;
    int top;
    /* How many timeouts were armed less those that ended; another lane may have counted either. */
    long pending;
    int[] free = new int[0];
}

/**
 * Free records of some threads, and the count of their timeouts. All is guarded by a lock that is
 * held for some ten instructions: a thread that finds it held goes on to another lane, as any
 * record serves any thread.
 */
final class Lane extends LaneFields {
    private static final VarHandle LOCK;

    static {
        try {
            LOCK = MethodHandles.lookup().findVarHandle(LaneFields.class, "lock", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    long q0, q1, q2, q3, q4, q5, q6, q7, q8, q9, q10, q11, q12, q13, q14, q15;

    /** Pairs with unlock(): the thread sees what the last owner has done. */
    boolean tryLock() {
        return (int) LOCK.getOpaque(this) == 0 && LOCK.weakCompareAndSetAcquire(this, 0, 1);
    }

    void lock() {
        for (int i = 1; !tryLock(); i++) {
            pause(i);
        }
    }

    /** The owner may not run: then the thread gives its CPU away. */
    static void pause(int i) {
        if (i % 64 == 0) {
            Thread.yield();
        } else {
            Thread.onSpinWait();
        }
    }

    /** Pairs with tryLock(). */
    void unlock() {
        LOCK.setRelease(this, 0);
    }

    /* With the lock held */

    boolean isEmpty() {
        return top == 0;
    }

    int pop() {
        return free[--top];
    }

    void push(int record) {
        if (top == free.length) {
            reserve(1);
        }
        free[top++] = record;
    }

    /** Has room for some more. It fails with no memory before it changes anything. */
    void reserve(int more) {
        if (free.length - top < more) {
            free = Arrays.copyOf(free, Math.max(2 * free.length, top + more));
        }
    }
}
