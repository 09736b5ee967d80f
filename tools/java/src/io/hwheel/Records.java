// SPDX-License-Identifier: LGPL-2.1-only OR MIT
package io.hwheel;

import java.util.concurrent.RejectedExecutionException;

/**
 * The free records of a mapping, in lanes.
 *
 * <p>A lane gets groups of records that share no cache line with those of another one, and is
 * their home: a record goes back there, whatever thread frees it, and is pushed to the submission
 * list with the lane's number. A thread begins at the lane of its id, and takes from another one
 * before the timer refuses a timeout.
 */
final class Records {
    private final Mapping mapping;
    private final Table table;
    private final Lane[] lanes;
    /** Guarded by this: the records from here on are in no lane yet. */
    private int fresh;

    /** Makes lanes, whose number is a power of two. */
    Records(Mapping mapping, Table table, int number) {
        this.mapping = mapping;
        this.table = table;
        lanes = new Lane[number];
        for (int i = 0; i < number; i++) {
            lanes[i] = new Lane();
        }
    }

    /**
     * Returns how many lanes a timer uses, on a machine with so many CPUs. Each lane can have a
     * group of so many records.
     */
    static int lanesFor(int cpus, long max) {
        long wanted = Math.min(Math.min(2L * cpus, Mapping.MOST_LISTS), max / Mapping.GROUP);
        return Integer.highestOneBit((int) Math.max(1, wanted));
    }

    /**
     * Takes a free record.
     *
     * @throws RejectedExecutionException if the device gives this timer no more
     */
    int take() {
        int lane = (int) Thread.currentThread().getId() & lanes.length - 1;
        int record = lanes[lane].pop(table);
        return record >= 0 ? record : takeSlowly(lane);
    }

    /** The lane had none. Another thread may have filled it meanwhile. */
    private synchronized int takeSlowly(int lane) {
        int record = lanes[lane].pop(table);
        while (record < 0) {
            int error = fresh < mapping.records() ? 0 : mapping.grow();
            if (error < 0) {
                return takeFromOthers(error);
            }
            carve(lane);
            record = lanes[lane].pop(table);
        }
        return record;
    }

    private int takeFromOthers(int error) {
        for (Lane lane : lanes) {
            int record = lane.pop(table);
            if (record >= 0) {
                return record;
            }
        }
        throw new RejectedExecutionException(refusal(error));
    }

    private String refusal(int error) {
        switch (-error) {
        case Device.ENOSPC:
            return "the device gives this timer no more than " + mapping.max() + " timeouts (by "
                    + "its maxPendingTimeouts, or the module's parameter max_timeouts), or this "
                    + "user no more memory (max_user_bytes)";
        case Device.EDQUOT:
            return "there are as many timeouts pending on the wheel as the module hwheel allows";
        default:
            return "the device has no room for more timeouts: " + Device.describe(-error);
        }
    }

    /** A group goes to a lane, the last one first, so that the lane takes them in their order. */
    private void carve(int lane) {
        int end = Math.min(fresh + Mapping.GROUP, mapping.records());
        table.reserve(end);
        mapping.setHome(fresh, lane);
        for (int record = end - 1; record >= fresh; record--) {
            lanes[lane].push(table, record);
        }
        fresh = end;
    }

    /** Frees a record. */
    void give(int record) {
        lanes[mapping.home(record)].push(table, record);
    }
}
