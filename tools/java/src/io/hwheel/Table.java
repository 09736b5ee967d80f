// SPDX-License-Identifier: LGPL-2.1-only OR MIT
package io.hwheel;

/**
 * The timeouts of a timer, by the numbers of their records. (In place of references that the
 * library would have to make and delete for each timeout.)
 *
 * <p>A thread writes the place of a record that it has taken, and publishes it by arming the
 * record: the reaper sees it after it has seen the record in the ring.
 */
final class Table {
    private static final int SHIFT = 10;
    private static final int SIZE = 1 << SHIFT;

    private final WheelTimeout[][] parts;

    /** Makes a table for so many records, without places yet. */
    Table(long max) {
        parts = new WheelTimeout[(int) (max + Mapping.FIRST_RECORDS >> SHIFT) + 1][];
    }

    /** Makes places for the records below a number; by one thread at a time. */
    void reserve(int end) {
        int part = end - 1 >> SHIFT;
        if (parts[part] == null) {
            parts[part] = new WheelTimeout[SIZE];
        }
    }

    void set(int record, WheelTimeout timeout) {
        parts[record >> SHIFT][record & SIZE - 1] = timeout;
    }

    WheelTimeout get(int record) {
        return parts[record >> SHIFT][record & SIZE - 1];
    }

    /** What is done with each timeout that there is. */
    interface Action {
        void apply(int record, WheelTimeout timeout);
    }

    void forEach(Action action) {
        for (int record = 0; record < parts.length << SHIFT; record++) {
            WheelTimeout[] part = parts[record >> SHIFT];
            WheelTimeout timeout = part == null ? null : part[record & SIZE - 1];
            if (timeout != null) {
                action.apply(record, timeout);
            }
        }
    }

    /** Forgets a timeout, before its record is freed. */
    void clear(int record) {
        set(record, null);
    }
}
