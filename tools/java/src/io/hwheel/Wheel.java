// SPDX-License-Identifier: LGPL-2.1-only OR MIT
package io.hwheel;

import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import java.util.concurrent.atomic.AtomicLongFieldUpdater;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;
import java.util.concurrent.locks.LockSupport;

/**
 * What the threads of a program and the worker of a timer share: the stacks of submitted timeouts,
 * how the worker sleeps, and the life of the timer.
 *
 * <p>A wheel has no ticks: the worker sleeps until the next edge, a multiple of the tick, that has
 * a timeout. Before it sleeps it writes until when, and then looks at the stacks once more; a
 * thread pushes first, and then reads until when the worker sleeps. So one of them sees the other.
 * A thread wakes the worker for a timeout that is due before that, and for a cancelled one when the
 * worker sleeps for more than a tick: no cancelled timeout is held for longer than that.
 */
final class Wheel {
    private static final int INIT = 0;
    private static final int STARTED = 1;
    private static final int STOPPED = 2;

    /** No timeout wakes the worker: it is about to look at the stacks. */
    private static final long AWAKE = Long.MIN_VALUE;
    private static final int MOST_STACKS = 64;

    /** Count as one less. */
    private static final int LEAVE = 1;
    /** Wake the worker. */
    private static final int WAKE = 2;

    private static final AtomicIntegerFieldUpdater<Wheel> LIFE =
            AtomicIntegerFieldUpdater.newUpdater(Wheel.class, "life");
    private static final AtomicReferenceFieldUpdater<Wheel, Timeout> PENDING =
            AtomicReferenceFieldUpdater.newUpdater(Wheel.class, Timeout.class, "pending");
    private static final AtomicLongFieldUpdater<Wheel> WAKE_BY =
            AtomicLongFieldUpdater.newUpdater(Wheel.class, "wakeBy");

    final Clock clock;
    /** Of the worker, and of the timeouts' tasks. */
    final WheelLog log;
    /** In nanoseconds. */
    final long tick;
    /**
     * The clock's time of edge 0: a multiple of the tick, so that the workers of all timers that
     * have one tick wake up together.
     */
    final long origin;
    /** The last edge, in nanoseconds since the origin: no program sees it. */
    private final long last;
    /** Runs the tasks; null: the worker does. */
    final Executor executor;
    private final Limit limit;
    final Stack[] stacks = newStacks();
    private final Worker worker;
    /** Of the factory. */
    private final Thread thread;
    /** The one that runs the worker: the factory's may have made another one for it. */
    private volatile Thread runner;
    private final CountDownLatch ended = new CountDownLatch(1);

    private volatile int life = INIT;
    /** A deadline of this or before wakes the worker; in nanoseconds since the origin. */
    private volatile long wakeBy = AWAKE;
    /** For the thread that cancels a timeout: LEAVE and WAKE. */
    private volatile int toDo;
    /** What stop() hands back, by the timeouts' links. Written before the end. */
    private volatile Timeout pending;

    /**
     * Makes a wheel, and its thread, which submit() starts.
     *
     * @param tick     of at least 1 ns, in nanoseconds
     * @param most     timeouts that may be pending; 0 or less: any number
     * @param executor runs the tasks; null: the thread does
     */
    Wheel(ThreadFactory threads, long tick, long most, Executor executor, WheelLog log,
            Clock clock) {
        this.tick = tick;
        this.executor = executor;
        this.log = log;
        this.clock = clock;
        origin = Math.floorDiv(clock.nanoTime(), tick) * tick;
        last = Long.MAX_VALUE / tick * tick;
        limit = most > 0 ? new Limit(most) : null;
        toDo = leaves();
        worker = new Worker(this);
        thread = Objects.requireNonNull(threads.newThread(worker), "thread");
    }

    /** Twice as many as there are processors: two threads rarely have one. */
    private static Stack[] newStacks() {
        int threads = 2 * Runtime.getRuntime().availableProcessors();
        Stack[] stacks = new Stack[Integer.highestOneBit(Math.min(threads, MOST_STACKS))];
        for (int i = 0; i < stacks.length; i++) {
            stacks[i] = new Stack();
        }
        return stacks;
    }

    boolean isDaemon() {
        return thread.isDaemon();
    }

    boolean isStarted() {
        return life == STARTED;
    }

    /** Nanoseconds since the origin. */
    long now() {
        return clock.nanoTime() - origin;
    }

    /** Exactly, if there is a limit; else also those that were cancelled within the last tick. */
    long pending() {
        if (stacks[0].isClosed()) {
            return 0;
        }
        if (limit != null) {
            return limit.count();
        }
        int count = -worker.gone();
        for (Stack stack : stacks) {
            count += stack.count();
        }
        return Math.max(count, 0);
    }

    /* Start */

    void start() {
        if (life != STARTED) {
            startSlowly();
        }
    }

    /** A thread that cannot be started may be later. */
    private void startSlowly() {
        if (LIFE.compareAndSet(this, INIT, STARTED)) {
            try {
                thread.start();
            } catch (Throwable e) {
                if (!LIFE.compareAndSet(this, STARTED, INIT)) {
                    end();
                }
                throw e;
            }
        } else if (life != STARTED) {
            throw stopped();
        }
    }

    /** By the worker, first. */
    void begin() {
        runner = Thread.currentThread();
    }

    private static IllegalStateException stopped() {
        return new IllegalStateException("cannot be started once stopped");
    }

    /* Timeouts */

    /**
     * Submits a timeout that is new.
     *
     * @param delay in nanoseconds; 0 and less: the next edge, also if the present one is now
     */
    void submit(Timeout t, long delay) {
        start();
        if (limit != null) {
            limit.enter();
        }
        long deadline = now() + Math.max(delay, 1);
        /* Also if it is beyond what a long holds, and so negative. */
        if (Long.compareUnsigned(deadline, last) > 0) {
            deadline = last;
        }
        t.when = deadline;
        if (!stack().submit(t)) {
            leave();
            throw stopped();
        }
        /* Pairs with sleep(): the push comes before this, and wakeBy there before a look. */
        if (deadline <= wakeBy) {
            wake();
        }
    }

    private Stack stack() {
        return stacks[(int) Thread.currentThread().getId() & stacks.length - 1];
    }

    /** A timeout was cancelled. */
    void cancelled(Timeout t) {
        /*
         * Pairs with taken(): the state comes before this, and the link after it; there the links
         * come before it, and the states after it.
         */
        int more = toDo;
        if (t.link() == Stack.TAKEN) {
            stack().cancel(t);
            /* Pairs with sleep(): the push comes before this, and toDo there before a look. */
            more = toDo;
        }
        if (more != 0) {
            leave();
            if ((more & WAKE) != 0) {
                wake();
            }
        }
    }

    private int leaves() {
        return limit != null ? LEAVE : 0;
    }

    /** A timeout is pending no more. */
    void leave() {
        if (limit != null) {
            limit.leave();
        }
    }

    /* Sleep */

    /** One of all threads wakes the worker, once. */
    private void wake() {
        long by = wakeBy;
        if (by != AWAKE && WAKE_BY.compareAndSet(this, by, AWAKE)) {
            LockSupport.unpark(runner);
        }
    }

    /**
     * By the worker: sleeps until an edge, which is never if that is NEVER, until a thread has work
     * for it, or for no reason.
     *
     * @param soon whether the edge is the next one
     */
    void sleep(long edge, boolean soon) {
        boolean never = edge == Slots.NEVER;
        toDo = leaves() | (soon ? 0 : WAKE);
        long by = never ? Long.MAX_VALUE : (edge - 1) * tick;
        wakeBy = by;
        if (!hasWork(by, soon) && life == STARTED && wakeBy != AWAKE) {
            if (never) {
                LockSupport.park(this);
            } else {
                LockSupport.parkNanos(this, edge * tick - now());
            }
            /* Another thread's interrupt would end each sleep at once. */
            Thread.interrupted();
        }
        wakeBy = AWAKE;
        toDo = leaves();
    }

    /** At the next edge the worker looks anyway: only what is due before that is work now. */
    private boolean hasWork(long by, boolean soon) {
        for (Stack stack : stacks) {
            if (soon ? stack.hasBy(by) : !stack.isEmpty()) {
                return true;
            }
        }
        return false;
    }

    /**
     * By the worker, after it has written the links of what it took: a thread that cancels one of
     * them from now on pushes it once more, and the worker sees those that were cancelled before.
     */
    void taken() {
        /* The same value, for its order: see cancelled(). */
        toDo = leaves();
    }

    /* Stop */

    /**
     * Stops the wheel, and waits until that has ended, whoever has begun it. One call, the first
     * unless others wait as well, gets the timeouts that were pending, by their links.
     */
    Timeout stop() {
        if (Thread.currentThread() == runner) {
            throw new IllegalStateException(log.name() + ".stop() cannot be called from a task");
        }
        boolean first = abandon();
        boolean interrupted = false;
        for (boolean over = false; !over;) {
            Thread busy = runner;
            if (first && busy != null) {
                /* A task may wait for something. */
                busy.interrupt();
            }
            try {
                over = ended.await(100, TimeUnit.MILLISECONDS);
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        return PENDING.getAndSet(this, null);
    }

    /** Begins to stop, and leaves the rest to the worker. Returns false if that was done before. */
    boolean abandon() {
        int before = LIFE.getAndSet(this, STOPPED);
        if (before == INIT) {
            end();
        } else if (before == STARTED) {
            wakeBy = AWAKE;
            LockSupport.unpark(runner);
        }
        return before != STOPPED;
    }

    /** By the worker, or in its place if it never ran: cancels what is pending. Needs no memory. */
    void end() {
        life = STOPPED;
        Timeout list = null;
        for (Stack stack : stacks) {
            list = worker.handBackStack(stack.close(), list);
        }
        list = worker.handBackTaken(list);
        pending = list;
        ended.countDown();
    }
}
