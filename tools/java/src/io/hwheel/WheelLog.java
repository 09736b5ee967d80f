// SPDX-License-Identifier: LGPL-2.1-only OR MIT
package io.hwheel;

/**
 * The log of a timer. What a logger throws ends here: a log that fails must not end the thread of a
 * timer, nor leave a timer half made.
 */
abstract class WheelLog {
    abstract void doWarn(String text, Throwable cause);

    abstract void doError(String text);

    /** Returns whether timers that were dropped without stop() are to be logged. */
    abstract boolean reportsLeaks();

    /** The name of the timer's class in messages. */
    abstract String name();

    final void warn(String text, Throwable cause) {
        try {
            doWarn(text, cause);
        } catch (Throwable e) {
            /* There is no other place to report it. */
        }
    }

    final void error(String text) {
        try {
            doError(text);
        } catch (Throwable e) {
            /* There is no other place to report it. */
        }
    }
}
