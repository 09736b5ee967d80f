// SPDX-License-Identifier: LGPL-2.1-only OR MIT
package io.hwheel;

import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicLong;

/** Keeps a timer from having more than a number of timeouts pending. */
final class PendingLimit {
    private final long max;
    private final AtomicLong count = new AtomicLong();

    PendingLimit(long max) {
        this.max = max;
    }

    void enter() {
        long now = count.get();
        for (;;) {
            if (now >= max) {
                throw new RejectedExecutionException("Number of pending timeouts (" + now
                        + ") is greater than or equal to maximum allowed pending timeouts (" + max
                        + ")");
            }
            long seen = count.compareAndExchange(now, now + 1);
            if (seen == now) {
                return;
            }
            now = seen;
        }
    }

    void leave() {
        count.decrementAndGet();
    }

    long count() {
        return count.get();
    }
}
