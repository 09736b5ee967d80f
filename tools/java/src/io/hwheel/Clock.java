// SPDX-License-Identifier: LGPL-2.1-only OR MIT
package io.hwheel;

/**
 * The time of a wheel. Programs have one subclass, so that the compiler calls nanoTime() directly;
 * tests have another one, which is about to wrap around.
 */
abstract class Clock {
    static final Clock SYSTEM = new Clock() {
        @Override
        long nanoTime() {
            return System.nanoTime();
        }
    };

    /** Nanoseconds since any time; only differences count, so that it may wrap around. */
    abstract long nanoTime();
}
