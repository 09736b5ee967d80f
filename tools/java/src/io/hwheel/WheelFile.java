// SPDX-License-Identifier: LGPL-2.1-only OR MIT
package io.hwheel;

/** An open file of the device with the wheel that was chosen; {@link Mapping} makes use of it. */
final class WheelFile {
    /** Asks for this many timeouts where a timer has no limit; it needs CAP_SYS_RESOURCE. */
    static final String MAX_PROPERTY = "io.hwheel.maxTimeouts";

    /** The device has no more in a file. */
    private static final long MOST_TIMEOUTS = 1 << 24;

    final int fd;
    /** The wheel's tick in ns. */
    final long tick;
    /** How many records there may be. */
    final long max;
    /** Whether the wheel is this file's alone. */
    final boolean own;

    private WheelFile(int fd, long[] info) {
        this.fd = fd;
        tick = info[Device.INFO_TICK];
        max = info[Device.INFO_MAX];
        own = info[Device.INFO_OWN] != 0;
    }

    /**
     * Opens the device.
     *
     * @param limit of the timer; 0: none
     * @throws WheelUnavailableException if there is no such wheel
     */
    static WheelFile open(WheelChoice choice, long tick, int slots, long limit) {
        Device.check();
        int fd = Device.open();
        if (fd < 0) {
            throw WheelUnavailableException.notOpened(-fd);
        }
        try {
            configure(fd, choice, tick, slots, limit);
            return checked(new WheelFile(fd, info(fd)), choice, tick, limit);
        } catch (Throwable e) {
            Device.release(fd, 0, 0);
            throw e;
        }
    }

    private static void configure(int fd, WheelChoice choice, long tick, int slots, long limit) {
        int error = choice == WheelChoice.SHARED ? 0 : configure(fd, tick, slots, limit);
        if (choice == WheelChoice.AUTO && error == -Device.ENOSPC) {
            TimerLog.warn("There is no private wheel left: the timer uses the default wheel.");
        } else if (choice != WheelChoice.SHARED) {
            check(error);
            return;
        }
        check(configure(fd, 0, 0, limit));
    }

    private static void check(int error) {
        if (error < 0) {
            throw WheelUnavailableException.notConfigured(-error);
        }
    }

    /** A user without the capability gets as many timeouts as the module gives to each file. */
    private static int configure(int fd, long tick, int slots, long limit) {
        long wanted = wanted(limit);
        int error = Device.configure(fd, tick, slots, wanted);
        if (error == -Device.EPERM && wanted != 0) {
            error = Device.configure(fd, tick, slots, 0);
        }
        return error;
    }

    /**
     * A timeout that was cancelled when it was due needs its record until the reaper has seen the
     * event, and does not count for the limit any more: there are some more records.
     */
    private static long wanted(long limit) {
        if (limit <= 0) {
            return ofProperty();
        }
        return Math.min(MOST_TIMEOUTS, Math.min(limit, MOST_TIMEOUTS) * 9 / 8 + 1024);
    }

    private static long ofProperty() {
        if (System.getProperty(MAX_PROPERTY) == null) {
            return 0;
        }
        Long wanted = Long.getLong(MAX_PROPERTY);
        if (wanted == null || wanted < 0 || wanted > MOST_TIMEOUTS) {
            throw new IllegalArgumentException(MAX_PROPERTY + "="
                    + System.getProperty(MAX_PROPERTY) + " (expected: 0 to " + MOST_TIMEOUTS + ")");
        }
        return wanted;
    }

    private static long[] info(int fd) {
        long[] info = new long[Device.INFO_VALUES];
        int error = Device.info(fd, info);
        if (error < 0) {
            throw WheelUnavailableException.of("the device does not tell about itself", -error);
        }
        if ((info[Device.INFO_FEATURES] & Device.FEATURE_MAP) == 0) {
            throw new WheelUnavailableException("the module hwheel has no mapped timeouts here");
        }
        return info;
    }

    /** The default wheel need not keep what the timer promises. */
    private static WheelFile checked(WheelFile file, WheelChoice choice, long tick, long limit) {
        if (!file.own && file.tick > tick) {
            String text = "The default wheel's tick is " + file.tick + " ns, and the timer's "
                    + tick + " ns";
            if (choice == WheelChoice.AUTO) {
                throw new WheelUnavailableException(text + ": it would be late");
            }
            TimerLog.warn(text + ": timeouts may be late by the former.");
        }
        if (limit > file.max) {
            TimerLog.warn("maxPendingTimeouts is " + limit + ", but the device gives this user no "
                    + "more than " + file.max + " timeouts in a file (the module's parameter "
                    + "max_timeouts).");
        }
        return file;
    }
}
