// SPDX-License-Identifier: LGPL-2.1-only OR MIT
package io.hwheel;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * The memory that a timer shares with the worker of its wheel: the protocol of
 * {@code <linux/hwheel.h>}, "Mapped timeouts", which names the memory order of each access.
 *
 * <p>Any thread arms and cancels; one thread, the reaper, claims. A record needs no tag here, which
 * the header offers to programs whose threads cancel by an id: {@link WheelTimeout} decides first
 * whether its timeout is cancelled, and keeps the record from being used again meanwhile.
 *
 * <p>A buffer outlives its file: see {@link #close()}.
 */
final class Mapping {
    /** In place of a time: the farthest deadline, which means never. */
    static final long NEVER = 0x7ffffffffffffff8L;

    /** Beside the index in an entry of the ring: the wheel was stopped. */
    static final int STOPPED = 0x80000000;

    /** How many lists there may be. */
    static final int MOST_LISTS = 64;

    /** So many records have one home: those of the smallest page, 4 KiB. */
    static final int GROUP_SHIFT = 7;
    static final int GROUP = 1 << GROUP_SHIFT;

    /* Of the header */
    private static final int CLOCK_OFFSET = 8;
    private static final int TAIL = 128;
    private static final int HEAD = 256;

    private static final int LIST_SHIFT = 7;
    private static final int ASLEEP = 0xffffffff;
    private static final int CLOSED = 0xfffffffe;

    /* Of a record */
    private static final int RECORD_SHIFT = 5;
    private static final int LINK = 24;

    /* Of its word */
    private static final long PENDING = 0;
    private static final long CANCELLED = 2;
    private static final long IDLE = 3;
    private static final long STATE = 3;
    private static final long QUEUED = 4;

    private static final VarHandle LONG =
            MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.nativeOrder());
    private static final VarHandle INT =
            MethodHandles.byteBufferViewVarHandle(int[].class, ByteOrder.nativeOrder());

    private static final Cleaner CLEANER = Cleaner.create();

    private final int fd;
    private final ByteBuffer memory;
    private final int listsAt;
    private final int ringAt;
    private final int ringMask;
    private final int recordsAt;
    private final long max;
    private final int capacity;
    /** Of each group of records, the number of its lane and list */
    private final byte[] homes;
    /** What the worker's clock shows more than System.nanoTime(). */
    private final long clockOffset;
    /** Guarded by this, as the next ones. */
    private int records;
    private long size;
    private boolean closed;

    private Mapping(WheelFile file, long[] layout, ByteBuffer memory) {
        this.memory = memory;
        fd = file.fd;
        max = file.max;
        capacity = (int) layout[Device.MAP_RING_SIZE];
        homes = new byte[(capacity + GROUP - 1) >> GROUP_SHIFT];
        listsAt = (int) layout[Device.MAP_LISTS];
        ringAt = (int) layout[Device.MAP_RING];
        ringMask = (int) layout[Device.MAP_RING_SIZE] - 1;
        recordsAt = (int) layout[Device.MAP_RECORDS_AT];
        check(attach(layout), file);
        clockOffset = offsetOfNanoTime() - (long) LONG.get(memory, CLOCK_OFFSET);
        CLEANER.register(this, new Release(fd, Device.address(memory), memory.capacity()));
    }

    /** Makes the first records of a file. The file is the mapping's from now on. */
    static Mapping of(WheelFile file, int lists) {
        long[] layout = new long[Device.MAP_VALUES];
        ByteBuffer memory = null;
        try {
            int first = (int) Math.min(GROUP, file.max);
            check(Device.make(file.fd, first, lists, layout), file);
            memory = Device.reserve(most(layout));
            check(memory == null ? -Device.ENOMEM : 0, file);
            return new Mapping(file, layout, memory);
        } catch (Throwable e) {
            release(file.fd, memory);
            throw e;
        }
    }

    private static void release(int fd, ByteBuffer memory) {
        if (memory == null) {
            Device.release(fd, 0, 0);
        } else {
            Device.release(fd, Device.address(memory), memory.capacity());
        }
    }

    /** Bytes up to the end of as many records as there may ever be. */
    private static long most(long[] layout) {
        return layout[Device.MAP_RECORDS_AT] + (layout[Device.MAP_RING_SIZE] << RECORD_SHIFT);
    }

    private static void check(int error, WheelFile file) {
        if (error < 0) {
            throw WheelUnavailableException.notMapped(-error);
        }
    }

    /** Gives back what is outside the heap, once no thread can reach the mapping. */
    private static final class Release implements Runnable {
        private final int fd;
        private final long address;
        private final long size;

        Release(int fd, long address, long size) {
            this.fd = fd;
            this.address = address;
            this.size = size;
        }

        @Override
        public void run() {
            Device.release(fd, address, size);
        }
    }

    /**
     * What CLOCK_MONOTONIC shows more than System.nanoTime(), or a little more than that, so that
     * no timeout is early. HotSpot has the same clock for both.
     */
    private static long offsetOfNanoTime() {
        long before = System.nanoTime();
        long now = Device.now();
        return now - before >= 0 && System.nanoTime() - now >= 0 ? 0 : now - before;
    }

    /* Records */

    /** Returns the time on the worker's clock. */
    long now() {
        return System.nanoTime() + clockOffset;
    }

    /** Returns how many timeouts the device gives to the file. */
    long max() {
        return max;
    }

    /**
     * Returns a number that is greater than that of any record. There may be more records than
     * max(), as the kernel makes whole pages of them, which are of 64 KiB on some machines; but no
     * more than the ring has entries.
     */
    int capacity() {
        return capacity;
    }

    /** Returns the number of a record's lane, and of its list. */
    int home(int record) {
        return homes[record >> GROUP_SHIFT];
    }

    /** Sets that of the group of a record. */
    void setHome(int record, int lane) {
        homes[record >> GROUP_SHIFT] = (byte) lane;
    }

    /** Returns how many there are. */
    synchronized int records() {
        return records;
    }

    /**
     * Makes up to as many more as there are: fewer, if there is no memory for so many.
     *
     * @return 0, or a negative errno: there is no room for even a page of them, or the timer was
     *         stopped
     * @throws IllegalStateException if the mapping was closed
     */
    synchronized int grow() {
        long[] layout = new long[Device.MAP_VALUES];
        if (closed) {
            throw TimerCore.stopped();
        }
        long more = Math.min(records, max - records);
        int error = more > 0 ? Device.make(fd, (int) more, 0, layout) : -Device.ENOSPC;
        while (isShortage(error) && more > GROUP) {
            more /= 2;
            error = Device.make(fd, (int) more, 0, layout);
        }
        return error < 0 ? error : attach(layout);
    }

    /** Where there is no room for so many, there may be room for fewer. */
    private static boolean isShortage(int error) {
        return error == -Device.ENOMEM || error == -Device.ENOSPC || error == -Device.EDQUOT;
    }

    private int attach(long[] layout) {
        int error = Device.attach(fd, memory, size, layout[Device.MAP_SIZE]);
        if (error == 0) {
            size = layout[Device.MAP_SIZE];
            records = (int) layout[Device.MAP_RECORDS];
        }
        return error;
    }

    /* Arm and cancel */

    private int wordAt(int record) {
        return recordsAt + (record << RECORD_SHIFT);
    }

    /**
     * Makes a free record pending. If the worker has not looked at it since it was cancelled, it is
     * still on a list, and needs no push; then the caller has to look whether the timer was
     * stopped. The exchange also loads the word.
     *
     * @return false: the lists are closed, and nobody may ever look at the record
     */
    boolean arm(int record, long deadline) {
        int at = wordAt(record);
        long word = (deadline + 7 & ~7L) << 1 | PENDING | QUEUED;
        try {
            long old = (long) LONG.compareAndExchange(memory, at, CANCELLED | QUEUED, word);
            return old == (CANCELLED | QUEUED) || armSlowly(record, word, old);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /** If the worker clears QUEUED meanwhile, the exchange fails; then nobody changes the word. */
    private boolean armSlowly(int record, long word, long old) {
        int at = wordAt(record);
        if ((old & QUEUED) != 0 && LONG.compareAndSet(memory, at, old, word)) {
            return true;
        }
        /* Pairs with the worker's load, and so publishes what the table has of the record. */
        LONG.setRelease(memory, at, word);
        return push(record);
    }

    private boolean push(int record) {
        int at = listsAt + (home(record) << LIST_SHIFT);
        int head = (int) INT.getOpaque(memory, at);
        for (;;) {
            if (head == CLOSED) {
                return false;
            }
            INT.setOpaque(memory, wordAt(record) + LINK, head == ASLEEP ? 0 : head);
            int seen = (int) INT.compareAndExchange(memory, at, head, record + 1);
            if (seen == head) {
                break;
            }
            head = seen;
        }
        if (head == ASLEEP) {
            Device.kick(fd);
        }
        return true;
    }

    /**
     * Cancels a record that no other thread cancels or frees meanwhile.
     *
     * @return true: the record is free. false: the ring has it, or had it.
     */
    boolean cancel(int record) {
        int at = wordAt(record);
        try {
            long old = (long) LONG.getAcquire(memory, at);
            for (;;) {
                if ((old & STATE) != PENDING) {
                    return false;
                }
                long seen = (long) LONG.compareAndExchangeRelease(memory, at, old,
                        CANCELLED | QUEUED);
                if (seen == old) {
                    break;
                }
                old = seen;
            }
            if ((old & QUEUED) == 0) {
                push(record);
            }
            return true;
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /* What only the reaper does */

    /**
     * Takes entries from the ring, in their order. The records stay the worker's until idle().
     *
     * @return how many, up to the length of the array
     */
    int claim(int[] entries) {
        /* Pairs with the worker's release of the tail: the entries and the words are there. */
        long tail = (long) LONG.getAcquire(memory, TAIL);
        long head = (long) LONG.getOpaque(memory, HEAD);
        int count = (int) Math.min(tail - head, entries.length);
        for (int i = 0; i < count; i++) {
            int at = (int) (head + i) & ringMask;
            entries[i] = (int) INT.getOpaque(memory, ringAt + (at << 2));
        }
        /* No exchange, as there is one reaper. The worker overwrites no entry before this. */
        if (count > 0) {
            LONG.setVolatile(memory, HEAD, head + count);
        }
        return count;
    }

    /** Gives a record that was in the ring back to the timer. */
    void idle(int record) {
        LONG.getAndBitwiseOrRelease(memory, wordAt(record), IDLE);
    }

    /** Waits for events; returns Device.POLLIN and such, or a negative errno. */
    int await() {
        return Device.await(fd);
    }

    /* The end */

    /** Ends all timeouts, so that their entries come into the ring, and closes the lists. */
    int stop() {
        return Device.stop(fd);
    }

    /**
     * Lets go of the file, and of all memory that is not in the heap, when all entries were claimed
     * or there never was a timeout. Threads that are still at work in arm() or cancel() find closed
     * lists and private memory; the addresses stay reserved until no thread can reach this object.
     */
    synchronized void close() {
        if (closed) {
            return;
        }
        closed = true;
        /* Also of a timer that never started: a wheel of its own ends with the file, or by this. */
        int stopped = Device.stop(fd);
        int error = Device.detach(fd, memory, listsAt, ringAt, size);
        if (stopped < 0 || error < 0) {
            TimerLog.error("A stopped timer keeps its file of /dev/hwheel, or memory of it, until "
                    + "it is collected: " + Device.describe(-(error < 0 ? error : stopped)));
        }
    }
}
