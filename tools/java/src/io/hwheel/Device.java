// SPDX-License-Identifier: LGPL-2.1-only OR MIT
package io.hwheel;

import java.nio.ByteBuffer;

/**
 * The calls of the device /dev/hwheel, which the library libhwheel_jni makes.
 *
 * <p>Each call returns a negative errno on failure. No call is safe against a descriptor that was
 * released; {@link Mapping} sees to that.
 */
final class Device {
    /** Names the file of the library; without it the JVM looks in java.library.path. */
    static final String LIBRARY_PROPERTY = "io.hwheel.library";

    /* Errors that are told apart; Linux has the same numbers on each machine. */
    static final int EPERM = 1;
    static final int ENOENT = 2;
    static final int EINTR = 4;
    static final int ENXIO = 6;
    static final int ENOMEM = 12;
    static final int EACCES = 13;
    static final int ENODEV = 19;
    static final int ENOSPC = 28;
    /** MIPS has another number: a timer there grows less when the wheel is nearly full. */
    static final int EDQUOT = 122;

    /* Places in the array of info() */
    static final int INFO_TICK = 0;
    static final int INFO_MAX = 1;
    static final int INFO_OWN = 2;
    static final int INFO_FEATURES = 3;
    static final int INFO_VALUES = 4;

    /** A bit of {@link #INFO_FEATURES}: the device has mapped timeouts. */
    static final long FEATURE_MAP = 0x20;

    /* Places in the array of make() */
    static final int MAP_RECORDS = 0;
    static final int MAP_RING_SIZE = 1;
    static final int MAP_LISTS = 2;
    static final int MAP_RING = 3;
    static final int MAP_RECORDS_AT = 4;
    static final int MAP_SIZE = 5;
    static final int MAP_VALUES = 6;

    /* What await() returns, as poll() does */
    static final int POLLIN = 0x1;
    static final int POLLHUP = 0x10;

    private static final Throwable LOAD_ERROR = load();

    private Device() {
    }

    private static Throwable load() {
        String file = System.getProperty(LIBRARY_PROPERTY);
        try {
            if (file != null) {
                System.load(file);
            } else {
                System.loadLibrary("hwheel_jni");
            }
            return null;
        } catch (LinkageError | RuntimeException e) {
            return e;
        }
    }

    /** Throws {@link WheelUnavailableException} if the JVM could not load the library. */
    static void check() {
        if (LOAD_ERROR != null) {
            throw new WheelUnavailableException("the JVM cannot load libhwheel_jni (package "
                    + "libhwheel-java; the property " + LIBRARY_PROPERTY + " names its file)",
                    LOAD_ERROR);
        }
    }

    /** Returns a descriptor. */
    static native int open();

    /**
     * Gives a file a wheel of its own with a tick in ns and a number of slots; without a tick the
     * file stays on the default wheel. A maximum of 0 leaves it as it is.
     */
    static native int configure(int fd, long tick, int slots, long max);

    /** Fills an array of {@link #INFO_VALUES}. */
    static native int info(int fd, long[] values);

    /** Makes more records, the first time with a number of lists; fills {@link #MAP_VALUES}. */
    static native int make(int fd, int records, int lists, long[] values);

    /** Returns addresses without memory, or null. */
    static native ByteBuffer reserve(long size);

    /** Returns where a buffer begins. */
    static native long address(ByteBuffer memory);

    /** Maps bytes of the file to the same place of the buffer. */
    static native int attach(int fd, ByteBuffer memory, long from, long to);

    /** Wakes a worker that does not look at the lists. */
    static native int kick(int fd);

    /** Waits without end for events; returns POLLIN, POLLHUP, and others for errors. */
    static native int await(int fd);

    /** Ends all timeouts of the file; returns how many were pending. */
    static native int stop(int fd);

    /** Puts private memory with closed lists, and /dev/null, in the place of the file. */
    static native int detach(int fd, ByteBuffer memory, long lists, long ring, long size);

    /** Gives addresses, if there are any, and the descriptor back. */
    static native void release(int fd, long address, long size);

    /** Returns CLOCK_MONOTONIC in ns. */
    static native long now();

    /** Returns what the system calls an errno, which is positive. */
    static native String describe(int error);
}
