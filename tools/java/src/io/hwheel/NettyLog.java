// SPDX-License-Identifier: LGPL-2.1-only OR MIT
package io.hwheel;

import io.netty.util.ResourceLeakDetector;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;

/** The log of timers for Netty, and its level of leak detection. */
final class NettyLog extends WheelLog {
    static final WheelLog INSTANCE = new NettyLog();

    private final InternalLogger logger = InternalLoggerFactory.getInstance(HashedWheelTimer.class);

    @Override
    void doWarn(String text, Throwable cause) {
        logger.warn(text, cause);
    }

    @Override
    void doError(String text) {
        logger.error(text);
    }

    @Override
    boolean reportsLeaks() {
        return ResourceLeakDetector.isEnabled();
    }

    @Override
    String name() {
        return HashedWheelTimer.class.getSimpleName();
    }
}
