// SPDX-License-Identifier: LGPL-2.1-only OR MIT
package io.hwheel;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;

/**
 * The log of all timers. What a logger throws ends here: a log that fails must not end the thread
 * of a timer, nor leave a timer half made.
 */
final class TimerLog {
    private static final InternalLogger logger =
            InternalLoggerFactory.getInstance(HashedWheelTimer.class);

    private TimerLog() {
    }

    static void warn(String text) {
        try {
            logger.warn(text);
        } catch (Throwable e) {
            /* There is no other place to report it. */
        }
    }

    static void warn(String text, Throwable cause) {
        try {
            logger.warn(text, cause);
        } catch (Throwable e) {
            /* There is no other place to report it. */
        }
    }

    static void error(String text) {
        try {
            logger.error(text);
        } catch (Throwable e) {
            /* There is no other place to report it. */
        }
    }

    static void error(String text, Throwable cause) {
        try {
            logger.error(text, cause);
        } catch (Throwable e) {
            /* There is no other place to report it. */
        }
    }
}
