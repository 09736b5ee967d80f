// SPDX-License-Identifier: LGPL-2.1-only OR MIT
package io.hwheel;

import java.lang.ref.PhantomReference;
import java.lang.ref.ReferenceQueue;
import java.util.HashSet;
import java.util.Set;

/**
 * From the making of a timer to its stop(). A timer that is collected before that is stopped, and
 * logged with the line that made it. Such a timer has no timeouts, as these refer to it.
 *
 * <p>One thread waits for all timers of this class loader, while there are any: so a class loader
 * can be collected once its timers were stopped.
 */
final class Watch extends PhantomReference<WheelOwner> {
    private static final int MANY = 64;
    private static final ReferenceQueue<WheelOwner> COLLECTED = new ReferenceQueue<>();
    /** Of timers that were not stopped; the lock of what follows, too. */
    private static final Set<Watch> ALL = new HashSet<>();
    private static Thread thread;
    private static boolean warned;

    private final Wheel wheel;
    /** Where the timer was made, or null if nobody wants to know. */
    private final Throwable made;

    private Watch(WheelOwner owner, boolean leaks) {
        super(owner, COLLECTED);
        wheel = owner.wheel;
        boolean reports = (leaks || !wheel.isDaemon()) && wheel.log.reportsLeaks();
        made = reports ? new Throwable() : null;
    }

    static Watch begin(WheelOwner owner, boolean leaks) {
        Watch watch = new Watch(owner, leaks);
        boolean many;
        synchronized (ALL) {
            ALL.add(watch);
            startThread();
            many = ALL.size() > MANY && !warned;
            warned |= many;
        }
        if (many) {
            String name = watch.wheel.log.name();
            watch.wheel.log.error("You are creating too many " + name + " instances. " + name
                    + " is a shared resource that must be reused across the JVM, so that only a "
                    + "few instances are created.");
        }
        return watch;
    }

    /** A timer works without, until there is memory for a thread. */
    private static void startThread() {
        if (thread != null) {
            return;
        }
        try {
            Thread made = new Thread(Watch::await, "hwheel-watch");
            made.setDaemon(true);
            made.setContextClassLoader(null);
            made.start();
            thread = made;
        } catch (OutOfMemoryError e) {
            /* The next timer tries again. */
        }
    }

    /** The timer was stopped. */
    void end() {
        synchronized (ALL) {
            ALL.remove(this);
            if (ALL.isEmpty() && thread != null) {
                if (thread != Thread.currentThread()) {
                    thread.interrupt();
                }
                thread = null;
            }
        }
        clear();
    }

    private static boolean isOver() {
        synchronized (ALL) {
            return thread != Thread.currentThread();
        }
    }

    private static void await() {
        while (!isOver()) {
            try {
                ((Watch) COLLECTED.remove()).collected();
            } catch (Throwable e) {
                /* The end, or a report that failed, as memory is short: the next one may not. */
            }
        }
    }

    private void collected() {
        wheel.abandon();
        end();
        if (made != null && wheel.log.reportsLeaks()) {
            wheel.log.error("LEAK: " + wheel.log.name() + ".stop() was not called before the timer "
                    + "was garbage-collected. It was made" + lines());
        }
    }

    private String lines() {
        StringBuilder lines = new StringBuilder();
        for (StackTraceElement frame : made.getStackTrace()) {
            if (lines.length() > 0 || !isOurs(frame.getClassName())) {
                lines.append(System.lineSeparator()).append("\tat ").append(frame);
            }
        }
        return lines.toString();
    }

    /** Whether a class stands between the program and this one. */
    private static boolean isOurs(String name) {
        return name.equals(Watch.class.getName()) || name.equals(WheelOwner.class.getName())
                || name.equals(Timer.class.getName()) || name.endsWith(".HashedWheelTimer");
    }
}
