// SPDX-License-Identifier: LGPL-2.1-only OR MIT
package io.hwheel;

import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicLong;

/** Counts the pending timeouts of a timer that takes only so many. */
final class Limit {
    private final AtomicLong count = new AtomicLong();
    private final long most;

    Limit(long most) {
        this.most = most;
    }

    void enter() {
        long now;
        do {
            now = count.get();
            if (now >= most) {
                throw new RejectedExecutionException("Number of pending timeouts (" + now
                        + ") is greater than or equal to maximum allowed pending timeouts ("
                        + most + ")");
            }
        } while (!count.compareAndSet(now, now + 1));
    }

    void leave() {
        count.decrementAndGet();
    }

    long count() {
        return count.get();
    }
}
