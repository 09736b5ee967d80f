// SPDX-License-Identifier: LGPL-2.1-only OR MIT
package io.hwheel;

import java.util.Objects;
import java.util.concurrent.TimeUnit;

/** The bounds of a tick. */
final class Ticks {
    private static final long LEAST = TimeUnit.MILLISECONDS.toNanos(1);

    private Ticks() {
    }

    static void checkPositive(long value, String name) {
        if (value <= 0) {
            throw new IllegalArgumentException(name + ": " + value + " (expected: > 0)");
        }
    }

    /** Returns nanoseconds: at least 1 ms, and so few that a turn of a wheel of that size fits. */
    static long nanos(long tick, TimeUnit unit, int perWheel, WheelLog log) {
        Objects.requireNonNull(unit, "unit");
        checkPositive(tick, "tickDuration");
        long nanos = unit.toNanos(tick);
        if (nanos >= Long.MAX_VALUE / perWheel) {
            throw new IllegalArgumentException("tickDuration: " + tick
                    + " (expected: 0 < tickDuration in nanos < " + Long.MAX_VALUE / perWheel + ")");
        }
        if (nanos < LEAST) {
            log.warn("Configured tickDuration " + tick + " " + unit + " is shorter than 1 ms, "
                    + "using 1 ms.", null);
        }
        return Math.max(nanos, LEAST);
    }
}
