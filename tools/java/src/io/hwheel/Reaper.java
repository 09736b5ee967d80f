// SPDX-License-Identifier: LGPL-2.1-only OR MIT
package io.hwheel;

import io.netty.util.Timeout;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The thread of a timer: it sleeps in the kernel until there are events, and runs the tasks of
 * timeouts that have expired, or hands them to the executor. It refers to no timer, so that a timer
 * without timeouts can be collected.
 */
final class Reaper implements Runnable {
    /** How many events it takes at a time. */
    private static final int CHUNK = 256;

    private final TimerCore core;
    private final Executor executor;
    private final int[] entries = new int[CHUNK];
    private final AtomicBoolean begun = new AtomicBoolean();
    /** For who has joined the thread. */
    private final Set<Timeout> unprocessed = new HashSet<>();

    Reaper(TimerCore core, Executor executor) {
        this.core = core;
        this.executor = executor;
    }

    /** Returns the timeouts that were pending when the timer was stopped. */
    Set<Timeout> unprocessed() {
        return unprocessed;
    }

    /** Does nothing in a thread whose start() has failed, if it runs all the same. */
    @Override
    public void run() {
        if (!begun.compareAndSet(false, true)) {
            return;
        }
        try {
            do {
                reap();
            } while (await());
        } catch (Throwable e) {
            fail();
            TimerLog.error("The timer's thread ends; no timeout will expire any more.", e);
        } finally {
            core.close();
        }
    }

    /** In place of run(), in the thread that could not start it. */
    void failToStart() {
        if (begun.compareAndSet(false, true)) {
            try {
                fail();
            } finally {
                core.close();
            }
        }
    }

    /** stop() is to hand back what has not ended. */
    private void fail() {
        core.fail();
        core.table.forEach(this::handBack);
    }

    private void reap() {
        int count;
        do {
            count = core.mapping.claim(entries);
            for (int i = 0; i < count; i++) {
                take(entries[i] & ~Mapping.STOPPED);
            }
        } while (count > 0);
    }

    private boolean await() {
        Thread.interrupted();
        int ready = core.mapping.await();
        if (ready == -Device.EINTR || (ready & Device.POLLIN) != 0 && ready > 0) {
            return true;
        }
        if (ready != Device.POLLHUP) {
            throw new IllegalStateException(ready < 0 ? Device.describe(-ready)
                    : "the kernel has found the timer's memory damaged");
        }
        return false;
    }

    private void take(int record) {
        WheelTimeout timeout = core.table.get(record);
        core.mapping.idle(record);
        if (core.isStopped()) {
            handBack(record, timeout);
        } else if (timeout.expire()) {
            core.end(record);
            execute(timeout);
        } else {
            discard(record, timeout);
        }
    }

    private void handBack(int record, WheelTimeout timeout) {
        /* First, as this may want memory, and fail. */
        unprocessed.add(timeout);
        if (timeout.handBack()) {
            core.end(record);
        } else {
            unprocessed.remove(timeout);
            discard(record, timeout);
        }
    }

    /** The timeout was cancelled when it was due. It does not count as pending any more. */
    private void discard(int record, WheelTimeout timeout) {
        if (!timeout.leave()) {
            core.free(record);
        }
    }

    private void execute(WheelTimeout timeout) {
        try {
            executor.execute(timeout);
        } catch (Throwable e) {
            TimerLog.warn("An exception was thrown while the executor was given a timeout.", e);
        }
        /* An interrupt that a task has left concerns no later one. That of stop() comes again. */
        if (!core.isStopped()) {
            Thread.interrupted();
        }
    }
}
