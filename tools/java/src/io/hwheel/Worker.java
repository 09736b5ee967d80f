// SPDX-License-Identifier: LGPL-2.1-only OR MIT
package io.hwheel;

import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import java.util.concurrent.locks.LockSupport;

/**
 * The thread of a timer. It alone writes slots. A pass files and unlinks what is on the stacks,
 * runs what is due, and sleeps. It holds no lock while it sleeps, so that a virtual thread holds no
 * carrier.
 */
final class Worker implements Runnable {
    private static final AtomicIntegerFieldUpdater<Worker> GONE =
            AtomicIntegerFieldUpdater.newUpdater(Worker.class, "gone");

    /** After an error, in nanoseconds, at most. */
    private static final long PAUSE = 100_000_000;

    private final Wheel wheel;
    private final Slots slots = new Slots();
    private final long tick;
    /** Taken from a stack, and not looked at yet: still there if a pass fails. */
    private Timeout taken;
    /** How many timeouts have ended, of those that were submitted; wraps around. */
    private volatile int gone;

    Worker(Wheel wheel) {
        this.wheel = wheel;
        tick = wheel.tick;
    }

    int gone() {
        return gone;
    }

    @Override
    public void run() {
        try {
            while (wheel.isStarted()) {
                pass();
            }
        } finally {
            wheel.end();
        }
    }

    private void pass() {
        try {
            boolean any = drain();
            slots.advance(wheel.now() / tick);
            expire();
            sleep(any);
        } catch (Throwable e) {
            /* There may be no memory for the moment. */
            wheel.log.warn("A timer's thread goes on after an error.", e);
            Thread.interrupted();
            LockSupport.parkNanos(Math.min(tick, PAUSE));
        }
    }

    /** Returns whether there was anything. */
    private boolean drain() {
        boolean any = act();
        for (int i = 0; i < wheel.stackCount(); i++) {
            taken = wheel.takeAll(i);
            any |= act();
        }
        return any;
    }

    /** Acts on the states of what was taken. Returns whether there was anything. */
    private boolean act() {
        if (taken == null) {
            return false;
        }
        Timeout t = taken;
        Timeout after = null;
        int ended = 0;
        try {
            while (t != null) {
                /* Once it is filed, a thread may push it again. */
                after = t.link;
                t.link = null;
                /* The first edge at the deadline or after it. */
                if (!t.isPending() || !slots.file(t, (t.when - 1) / tick + 1)) {
                    ended++;
                    drop(t);
                }
                t = after;
            }
        } finally {
            taken = t;
            if (t != null) {
                t.link = after;
            }
            GONE.lazySet(this, gone + ended);
        }
        return true;
    }

    /** The end of a timeout that a program has cancelled. */
    private void drop(Timeout t) {
        t.unlink();
        try {
            t.afterCancel();
        } catch (Throwable e) {
            wheel.log.warn("An exception was thrown by a task's cancelled().", e);
        }
    }

    private void expire() {
        while (wheel.isStarted()) {
            Timeout t = slots.takeDue();
            if (t == null) {
                return;
            }
            /* One that was cancelled is on a stack. */
            if (t.expire()) {
                GONE.lazySet(this, gone + 1);
                wheel.leave();
                execute(t);
                /* An interrupt concerned that task. */
                Thread.interrupted();
            }
        }
    }

    /** A task that the executor does not take runs here: it would be lost. */
    private void execute(Timeout t) {
        if (wheel.executor != null) {
            try {
                wheel.executor.execute(t);
                return;
            } catch (Throwable e) {
                wheel.log.warn("The executor took no task: the timer's thread runs it.", e);
            }
        }
        t.run();
    }

    /**
     * While threads submit timeouts, each edge is worth a look: so they need not wake the worker
     * for what they cancel.
     */
    private void sleep(boolean busy) {
        long soon = slots.edge() + 1;
        long edge = busy ? soon : slots.next();
        wheel.sleep(edge, edge == soon);
    }

    /* Stop */

    /** Puts before a list, by the links, what is pending and was taken. Returns the list. */
    Timeout handBackFiled(Timeout before) {
        Timeout list = handBack(taken, before);
        slots.makeAllDue();
        for (Timeout t = slots.takeDue(); t != null; t = slots.takeDue()) {
            if (t.handBack()) {
                t.link = list;
                list = t;
            } else {
                /* Cancelled meanwhile: its stack is closed, and nothing else ends it. */
                drop(t);
            }
        }
        return list;
    }

    /** As handBackFiled(), of what was on a stack. */
    Timeout handBack(Timeout first, Timeout list) {
        for (Timeout t = first; t != null;) {
            Timeout after = t.link;
            if (t.handBack()) {
                t.link = list;
                list = t;
            } else {
                t.link = null;
                drop(t);
            }
            t = after;
        }
        return list;
    }
}
