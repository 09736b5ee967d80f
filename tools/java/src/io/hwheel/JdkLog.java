// SPDX-License-Identifier: LGPL-2.1-only OR MIT
package io.hwheel;

import java.util.logging.Level;
import java.util.logging.Logger;

/** The log of timers that do without Netty. */
final class JdkLog extends WheelLog {
    static final WheelLog INSTANCE = new JdkLog();

    private final Logger logger = Logger.getLogger(Timer.class.getName());

    @Override
    void doWarn(String text, Throwable cause) {
        logger.log(Level.WARNING, text, cause);
    }

    @Override
    void doError(String text) {
        logger.severe(text);
    }

    @Override
    boolean reportsLeaks() {
        return logger.isLoggable(Level.SEVERE);
    }

    @Override
    String name() {
        return Timer.class.getSimpleName();
    }
}
