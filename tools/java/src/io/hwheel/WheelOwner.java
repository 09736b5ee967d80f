// SPDX-License-Identifier: LGPL-2.1-only OR MIT
package io.hwheel;

/**
 * The timer that a program has. The wheel and its thread do not refer to it, except through
 * timeouts: a timer without timeouts that the program drops can be collected.
 */
abstract class WheelOwner {
    final Wheel wheel;
    private final Watch watch;

    /** Counts the timer; @param leaks whether a timer that is dropped without stop() is logged */
    WheelOwner(Wheel wheel, boolean leaks) {
        this.wheel = wheel;
        watch = Watch.begin(this, leaks);
    }

    /** Returns what was pending, each the link of the one before, or null. */
    final Timeout stopWheel() {
        Timeout pending = wheel.stop();
        watch.end();
        return pending;
    }
}
