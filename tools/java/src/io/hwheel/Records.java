// SPDX-License-Identifier: LGPL-2.1-only OR MIT
package io.hwheel;

import java.util.concurrent.RejectedExecutionException;

/**
 * The free records of a mapping, in lanes, and how many timeouts are pending.
 *
 * <p>A lane gets groups of records that share no cache line with those of another one, and is
 * their home: a record goes back there, whatever thread frees it, and is pushed to the submission
 * list with the lane's number. A thread begins at the lane of its id.
 */
final class Records {
    /** Records of a group: a page of 4 KiB */
    private static final int GROUP_SHIFT = 7;
    private static final int GROUP = 1 << GROUP_SHIFT;

    private final Mapping mapping;
    private final Table table;
    private final Lane[] lanes;
    private final byte[] homes;
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
        homes = new byte[(int) (mapping.max() + 2 * GROUP >> GROUP_SHIFT)];
    }

    /** Returns how many lanes a machine with so many CPUs uses. */
    static int lanesFor(int cpus) {
        int wanted = Math.max(1, Math.min(2 * cpus, Mapping.MOST_LISTS));
        return Integer.highestOneBit(wanted);
    }

    /** Returns the number of a record's home, and of its list. */
    int home(int record) {
        return homes[record >> GROUP_SHIFT];
    }

    private Lane lock(int first) {
        for (int i = 1;; i++, first++) {
            Lane lane = lanes[first & lanes.length - 1];
            if (lane.tryLock()) {
                return lane;
            }
            Lane.pause(i);
        }
    }

    /**
     * Takes a free record for a timeout, which counts as pending from now on.
     *
     * @throws RejectedExecutionException if the device gives this timer no more
     */
    int take() {
        Lane lane = lock((int) Thread.currentThread().getId());
        int record = -1;
        if (!lane.isEmpty()) {
            record = lane.pop();
            lane.pending++;
        }
        lane.unlock();
        return record >= 0 ? record : takeSlowly(lane);
    }

    private static int takeFrom(Lane lane) {
        lane.lock();
        int record = -1;
        if (!lane.isEmpty()) {
            record = lane.pop();
            lane.pending++;
        }
        lane.unlock();
        return record;
    }

    /** The lane had none. Another thread may have filled it meanwhile. */
    private synchronized int takeSlowly(Lane lane) {
        int record = takeFrom(lane);
        while (record < 0) {
            int error = fresh < mapping.records() ? 0 : mapping.grow();
            if (error < 0) {
                return takeFromOthers(error);
            }
            carve(lane);
            record = takeFrom(lane);
        }
        return record;
    }

    private int takeFromOthers(int error) {
        for (Lane lane : lanes) {
            int record = takeFrom(lane);
            if (record >= 0) {
                return record;
            }
        }
        throw new RejectedExecutionException(error == -Device.ENOSPC
                ? "the device gives this timer no more than " + mapping.max() + " timeouts (the "
                        + "module's parameter max_timeouts)"
                : "the device has no room for more timeouts: " + Device.describe(-error));
    }

    /** A group goes to a lane, the last one first, so that the lane takes them in their order. */
    private void carve(Lane lane) {
        int end = Math.min(fresh + GROUP, mapping.records());
        table.reserve(end);
        homes[fresh >> GROUP_SHIFT] = (byte) numberOf(lane);
        lane.lock();
        try {
            lane.reserve(end - fresh);
            for (int record = end - 1; record >= fresh; record--) {
                lane.push(record);
            }
        } finally {
            lane.unlock();
        }
        fresh = end;
    }

    private int numberOf(Lane lane) {
        int number = 0;
        while (lanes[number] != lane) {
            number++;
        }
        return number;
    }

    /** Frees a record whose timeout ends now. */
    void end(int record) {
        give(record, 1);
    }

    /** Frees a record whose timeout does not count any more. */
    void free(int record) {
        give(record, 0);
    }

    private void give(int record, int ended) {
        Lane lane = lock(home(record));
        try {
            lane.push(record);
            lane.pending -= ended;
        } finally {
            lane.unlock();
        }
    }

    /** Counts a timeout as ended whose record is freed later. */
    void discount(int record) {
        Lane lane = lock(home(record));
        lane.pending--;
        lane.unlock();
    }

    /** Returns how many timeouts are pending: exactly, while no thread arms or ends one. */
    long pending() {
        long sum = 0;
        for (Lane lane : lanes) {
            lane.lock();
            sum += lane.pending;
            lane.unlock();
        }
        return Math.max(sum, 0);
    }
}
