// SPDX-License-Identifier: LGPL-2.1-only OR MIT
package io.hwheel;

/**
 * The timeouts of a timer, by the numbers of their records, and the links of free records. (The
 * table is in place of references that the library would have to make and delete for each timeout.)
 *
 * <p>A thread writes the place of a record that it has taken, and publishes it by arming the
 * record: the reaper sees it after it has seen the record in the ring.
 */
final class Table {
    private static final int SHIFT = 10;
    private static final int SIZE = 1 << SHIFT;

    private final WheelTimeout[][] parts;
    private final int[][] links;

    /** Makes a table for so many records, without places yet. */
    Table(int capacity) {
        parts = new WheelTimeout[(capacity - 1 >> SHIFT) + 1][];
        links = new int[parts.length][];
    }

    /** Makes places for the records below a number; by one thread at a time. */
    void reserve(int end) {
        int part = end - 1 >> SHIFT;
        if (parts[part] == null) {
            links[part] = new int[SIZE];
            parts[part] = new WheelTimeout[SIZE];
        }
    }

    void set(int record, WheelTimeout timeout) {
        parts[record >> SHIFT][record & SIZE - 1] = timeout;
    }

    WheelTimeout get(int record) {
        return parts[record >> SHIFT][record & SIZE - 1];
    }

    /** Of a free record; another thread may have taken it, and then it may be anything. */
    int link(int record) {
        return links[record >> SHIFT][record & SIZE - 1];
    }

    void setLink(int record, int link) {
        links[record >> SHIFT][record & SIZE - 1] = link;
    }

    /** What is done with each timeout that there is. */
    interface Action {
        void apply(int record, WheelTimeout timeout);
    }

    void forEach(Action action) {
        for (int part = 0; part < parts.length && parts[part] != null; part++) {
            for (int i = 0; i < SIZE; i++) {
                WheelTimeout timeout = parts[part][i];
                if (timeout != null) {
                    action.apply((part << SHIFT) + i, timeout);
                }
            }
        }
    }

    /** Counts the timeouts that have not ended. */
    long pending() {
        long[] count = new long[1];
        forEach((record, timeout) -> count[0] += timeout.isPending() ? 1 : 0);
        return count[0];
    }

    /** Forgets a timeout, before its record is freed. */
    void clear(int record) {
        set(record, null);
    }
}
