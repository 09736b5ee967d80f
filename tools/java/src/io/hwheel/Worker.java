// SPDX-License-Identifier: LGPL-2.1-only OR MIT
package io.hwheel;

import java.util.concurrent.Executor;
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
    private final Slots slots;
    private final long tick;
    /** Taken and not filed yet, each the next of the one before: some, if there was no memory. */
    private Timeout ordered;
    /** How many timeouts have ended, of those that were submitted; wraps around. */
    private volatile int gone;

    Worker(Wheel wheel) {
        this.wheel = wheel;
        tick = wheel.tick;
        slots = new Slots(tick);
    }

    int gone() {
        return gone;
    }

    @Override
    public void run() {
        try {
            wheel.begin();
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
            pause();
        }
    }

    private void pause() {
        Thread.interrupted();
        try {
            LockSupport.parkNanos(Math.min(tick, PAUSE));
        } catch (OutOfMemoryError e) {
            /* A virtual thread's sleep takes some. */
        }
    }

    /** Returns whether there was anything. */
    private boolean drain() {
        boolean any = file();
        for (Stack stack : wheel.stacks) {
            any |= unlink(stack.takeCancelled());
            any |= order(stack.takeSubmitted()) | file();
        }
        return any;
    }

    /** Puts what a stack had into the order in which it came. Most that ends soon ends here. */
    private boolean order(Timeout top) {
        if (top == null) {
            return false;
        }
        Timeout t = top;
        for (Timeout below = t.link(); below != null; below = t.link()) {
            t.setLink(Stack.TAKEN);
            if (t.isPending()) {
                t.next = ordered;
                ordered = t;
            } else {
                drop(t);
            }
            t = below;
        }
        return true;
    }

    private boolean file() {
        Timeout t = ordered;
        if (t == null) {
            return false;
        }
        wheel.taken();
        Timeout after = null;
        try {
            while (t != null) {
                after = (Timeout) t.next;
                t.next = null;
                if (t.isPending()) {
                    slots.file(t);
                } else {
                    drop(t);
                }
                t = after;
            }
        } finally {
            ordered = t;
            if (t != null) {
                t.next = after;
            }
        }
        return true;
    }

    /** Takes timeouts out of their lists, unless their states showed earlier that they ended. */
    private boolean unlink(Timeout first) {
        Timeout t = first;
        while (t != null) {
            Timeout after = t.link();
            t.setLink(null);
            if (t.unlink()) {
                drop(t);
            }
            t = after;
        }
        return first != null;
    }

    /** The end of a timeout that a program has cancelled, when it is in no list. */
    private void drop(Timeout t) {
        GONE.lazySet(this, gone + 1);
        try {
            t.afterCancel();
        } catch (Throwable e) {
            wheel.log.warn("An exception was thrown by a task's cancelled().", e);
        }
    }

    private void expire() {
        Executor executor = wheel.executor;
        Node due = slots.due();
        Node next = due.next;
        try {
            while (next != due && wheel.isStarted()) {
                Timeout t = (Timeout) next;
                next = t.next;
                t.next = null;
                t.previous = null;
                if (t.expire(executor != null)) {
                    GONE.lazySet(this, gone + 1);
                    wheel.leave();
                    if (executor == null) {
                        t.runTask();
                    } else {
                        execute(executor, t);
                    }
                    /* An interrupt concerned that task. */
                    Thread.interrupted();
                } else {
                    drop(t);
                }
            }
        } finally {
            due.next = next;
            next.previous = due;
        }
    }

    /** A task that the executor does not take runs here: it would be lost. */
    private void execute(Executor executor, Timeout t) {
        try {
            executor.execute(t);
        } catch (Throwable e) {
            t.run();
            wheel.log.warn("The executor threw: the timer's thread has run the task.", e);
        }
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

    /* Stop: each step puts before a list, by the links, the pending timeouts that it finds. */

    /** For what a closed stack had. */
    Timeout handBackStack(Timeout top, Timeout list) {
        Timeout t = top;
        for (Timeout below = t.link(); below != null; below = t.link()) {
            list = handBack(t, list);
            t = below;
        }
        return list;
    }

    /** For all that was taken from the stacks. */
    Timeout handBackTaken(Timeout list) {
        list = handBackChain(ordered, list);
        slots.makeAllDue();
        Node due = slots.due();
        due.previous.next = null;
        return handBackChain(due.next, list);
    }

    private Timeout handBackChain(Node first, Timeout list) {
        Node node = first;
        while (node != null) {
            Node after = node.next;
            node.next = null;
            node.previous = null;
            list = handBack((Timeout) node, list);
            node = after;
        }
        return list;
    }

    private Timeout handBack(Timeout t, Timeout list) {
        if (t.handBack()) {
            t.setLink(list);
            return t;
        }
        /* Else it keeps others, if a program keeps it. */
        t.setLink(null);
        drop(t);
        return list;
    }
}
