// SPDX-License-Identifier: LGPL-2.1-only OR MIT
package io.hwheel;

import java.util.Objects;
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;

/** What a constructor was told, checked as Netty's timer checks it. */
final class TimerConfig {
    private static final long LEAST_TICK = TimeUnit.MILLISECONDS.toNanos(1);
    /* The device's bounds: one hour, and slots of a level. */
    private static final long MOST_TICK = TimeUnit.HOURS.toNanos(1);
    private static final int MOST_SLOTS = 1 << 20;
    /* Netty's bound */
    private static final int MOST_TICKS = 1 << 30;

    final ThreadFactory threadFactory;
    final long maxPending;
    final Executor taskExecutor;
    private final long tick;
    private final int slots;
    private final WheelChoice choice;

    TimerConfig(ThreadFactory threadFactory, long tickDuration, TimeUnit unit, int ticksPerWheel,
            long maxPending, Executor taskExecutor, WheelChoice choice) {
        this.threadFactory = Objects.requireNonNull(threadFactory, "threadFactory");
        Objects.requireNonNull(unit, "unit");
        checkPositive(tickDuration, "tickDuration");
        checkPositive(ticksPerWheel, "ticksPerWheel");
        this.taskExecutor = Objects.requireNonNull(taskExecutor, "taskExecutor");
        this.choice = Objects.requireNonNull(choice, "choice");
        this.maxPending = Math.max(maxPending, 0);
        if (ticksPerWheel > MOST_TICKS) {
            throw new IllegalArgumentException("ticksPerWheel may not be greater than 2^30: "
                    + ticksPerWheel);
        }
        tick = tick(unit.toNanos(tickDuration), powerOfTwo(ticksPerWheel));
        slots = Math.min(ticksPerWheel, MOST_SLOTS);
    }

    private static void checkPositive(long value, String name) {
        if (value <= 0) {
            throw new IllegalArgumentException(name + ": " + value + " (expected: > 0)");
        }
    }

    private static long powerOfTwo(int ticks) {
        return ticks == 1 ? 1 : (long) Integer.highestOneBit(ticks - 1) << 1;
    }

    /** A shorter tick than the device's longest one is as good: no timeout is later for it. */
    private static long tick(long wanted, long ticks) {
        if (wanted >= Long.MAX_VALUE / ticks) {
            throw new IllegalArgumentException("tickDuration: " + wanted
                    + " (expected: 0 < tickDuration in nanos < " + Long.MAX_VALUE / ticks + ")");
        }
        if (wanted < LEAST_TICK) {
            TimerLog.warn("Configured tickDuration " + wanted + " ns is shorter than 1 ms, using "
                    + "1 ms.");
        }
        return Math.min(Math.max(wanted, LEAST_TICK), MOST_TICK);
    }

    /** Opens the device with this wheel. */
    WheelFile open() {
        return WheelFile.open(choice, tick, slots, maxPending);
    }
}
