// SPDX-License-Identifier: LGPL-2.1-only OR MIT
package io.hwheel;

/**
 * The wheel itself: filed timeouts by their edges. Only the worker uses it; it has no clock.
 *
 * <p>Each level has 64 slots, and a slot spans as many edges as the whole level below. A timeout is
 * on the level of the highest digit, to the base of 64, in which its edge differs from the present
 * one, in the slot of that digit. So all that one slot has comes before all that the next
 * one has, and before all of the levels above: the next edge is in the first slot of the lowest
 * level that has timeouts. When the present edge comes to a slot of an upper level, its timeouts
 * move down. Timeouts of one edge stay in the order in which they were filed.
 *
 * <p>Nothing visits empty edges: advance() goes from one that may have timeouts to the next one. A
 * timeout that is cancelled unlinks itself; next() finds out that its slot is empty.
 */
final class Slots {
    /** No edge; as a time, one that no deadline is after. */
    static final long NEVER = Long.MAX_VALUE;

    private static final int BITS = 6;
    private static final int WIDTH = 1 << BITS;

    /** One digit: made when there is a timeout for it. */
    private static final class Level {
        private final Node[] slots = new Node[WIDTH];
        /** No timeout of the slot has an edge below; unset in an empty slot. */
        private final long[] least = new long[WIDTH];
        /** A bit for each slot that is not empty, and some that are. */
        private long occupied;

        Level() {
            for (int i = 0; i < WIDTH; i++) {
                slots[i] = Node.newList();
            }
        }

        /** Returns the list of a slot that gets a timeout of an edge. */
        private Node open(int slot, long edge) {
            Node list = slots[slot];
            if (list.isEmpty()) {
                least[slot] = edge;
                occupied |= 1L << slot;
            } else if (edge < least[slot]) {
                least[slot] = edge;
            }
            return list;
        }

        private long least() {
            for (; occupied != 0; occupied &= occupied - 1) {
                int slot = Long.numberOfTrailingZeros(occupied);
                if (!slots[slot].isEmpty()) {
                    return least[slot];
                }
            }
            return NEVER;
        }
    }

    private final Level[] levels = new Level[Long.SIZE / BITS + 1];
    /** Timeouts that are due, in order. */
    private final Node due = Node.newList();
    /** In nanoseconds. */
    private final long tick;
    /** The present: no timeout in a slot has this edge or an earlier one. */
    private long edge;

    /*
     * Where the last timeout was filed. The next one often has the same edge: its deadline is less
     * than a tick after this time, or a tick.
     */
    private long after = NEVER;
    private long lastEdge;
    private Node last;

    Slots(long tick) {
        this.tick = tick;
    }

    long edge() {
        return edge;
    }

    /**
     * Files a timeout at the first edge at its deadline or after it, which its field has from now
     * on. A past one makes it due. Throws only before it changes the timeout, when it needs memory
     * for a level.
     */
    void file(Timeout t) {
        long since = t.when - after;
        if (since <= 0 || since > tick) {
            find(t.when);
        }
        t.when = lastEdge;
        last.add(t);
    }

    private void find(long deadline) {
        long when = (deadline - 1) / tick + 1;
        if (when <= edge) {
            last = due;
        } else {
            int digit = digit(when);
            Level level = levels[digit] != null ? levels[digit] : makeLevels(digit);
            last = level.open(slot(when, digit), when);
        }
        lastEdge = when;
        after = (when - 1) * tick;
    }

    /** Those below as well, to which timeouts move down: that needs no memory. */
    private Level makeLevels(int digit) {
        for (int i = 0; i <= digit; i++) {
            levels[i] = levels[i] != null ? levels[i] : new Level();
        }
        return levels[digit];
    }

    /** Returns an edge after the present, at or before that of the first timeout; or NEVER. */
    long next() {
        /* The last slot may be empty again, and loses its bit. */
        after = NEVER;
        for (Level level : levels) {
            if (level == null) {
                break;
            }
            long least = level.least();
            if (least != NEVER) {
                return least;
            }
        }
        return NEVER;
    }

    /** Makes an edge the present one, and all due that have it or an earlier one. */
    void advance(long now) {
        for (long next = next(); next <= now; next = next()) {
            goTo(next);
        }
        if (now > edge) {
            goTo(now);
        }
    }

    /** To an edge before which there is no timeout: its slots' timeouts move down. */
    private void goTo(long to) {
        int highest = digit(to);
        edge = to;
        for (int digit = highest; digit > 0; digit--) {
            if (levels[digit] != null) {
                moveDown(levels[digit].slots[slot(to, digit)]);
            }
        }
        if (levels[0] != null) {
            Node list = levels[0].slots[slot(to, 0)];
            if (!list.isEmpty()) {
                due.addAll(list);
            }
        }
    }

    private void moveDown(Node list) {
        while (!list.isEmpty()) {
            Timeout t = (Timeout) list.next;
            t.unlink();
            if (t.when > edge) {
                int digit = digit(t.when);
                levels[digit].open(slot(t.when, digit), t.when).add(t);
            } else {
                due.add(t);
            }
        }
    }

    /** Returns the list of due timeouts, in order. */
    Node due() {
        return due;
    }

    /** Makes all of them due. */
    void makeAllDue() {
        for (Level level : levels) {
            for (int slot = 0; level != null && slot < WIDTH; slot++) {
                if (!level.slots[slot].isEmpty()) {
                    due.addAll(level.slots[slot]);
                }
            }
        }
    }

    /** The highest digit in which an edge differs from the present one, from 0. */
    private int digit(long of) {
        return (Long.SIZE - 1 - Long.numberOfLeadingZeros((of ^ edge) | 1)) / BITS;
    }

    private static int slot(long of, int digit) {
        return (int) (of >>> digit * BITS) & WIDTH - 1;
    }
}
