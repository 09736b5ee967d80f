// SPDX-License-Identifier: GPL-2.0-only
package io.hwheel;

import java.util.ArrayList;
import java.util.List;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/** What the timers log until it is closed. */
final class Log extends Handler implements AutoCloseable {
    private final List<String> lines = new ArrayList<>();
    private final Logger logger;
    private boolean interrupted;

    Log() {
        this(HashedWheelTimer.class);
    }

    Log(Class<?> of) {
        logger = Logger.getLogger(of.getName());
        logger.addHandler(this);
    }

    @Override
    public synchronized void publish(LogRecord line) {
        lines.add(String.valueOf(line.getMessage()));
        interrupted |= Thread.currentThread().isInterrupted();
    }

    /** Whether a thread that logged was interrupted: many a logger loses the line. */
    synchronized boolean wasInterrupted() {
        return interrupted;
    }

    synchronized boolean has(String words) {
        return lines.stream().anyMatch(line -> line.contains(words));
    }

    @Override
    public void flush() {
        /* Nothing is kept back. */
    }

    @Override
    public void close() {
        logger.removeHandler(this);
    }
}
