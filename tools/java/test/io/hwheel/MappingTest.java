// SPDX-License-Identifier: GPL-2.0-only
package io.hwheel;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** The memory of a timer outlives its file: a thread may still be about to use it. */
class MappingTest {
    private static final long TICK = TimeUnit.MILLISECONDS.toNanos(10);
    private static final long HOUR = TimeUnit.HOURS.toNanos(1);
    /** Addresses for so many records take 128 MiB. */
    private static final int MANY = 1 << 21;

    private static Mapping mapping(int limit) {
        return Mapping.of(WheelFile.open(WheelChoice.PRIVATE, TICK, 32, limit), 1);
    }

    /** Stops it with one timeout, in record 0, and closes it. */
    private static void end(Mapping mapping) {
        int[] entries = new int[2];
        assertTrue(mapping.arm(0, mapping.now() + HOUR));
        assertEquals(1, mapping.stop());
        assertEquals(1, mapping.claim(entries));
        assertArrayEquals(new int[] {Mapping.STOPPED, 0}, entries);
        mapping.close();
    }

    @Test
    void isSafeToUseAfterClose() {
        long before = Proc.mapped();
        Mapping mapping = mapping(0);
        assertTrue(Proc.mapped() > before);
        end(mapping);
        assertEquals(before, Proc.mapped());
        assertFalse(mapping.arm(0, mapping.now()), "the lists are closed");
        assertTrue(mapping.cancel(0));
        assertFalse(mapping.arm(mapping.records() - 1, mapping.now()));
        assertEquals(0, mapping.claim(new int[1]));
        assertThrows(IllegalStateException.class, mapping::grow);
        mapping.close();
    }

    /** Separate, as a frame of an interpreter keeps what its variables refer to. */
    private static long closedMapping() {
        Mapping mapping = mapping(MANY);
        end(mapping);
        return Proc.number("/proc/self/status", "VmSize");
    }

    @Test
    void givesAddressesBackWhenItIsCollected() throws Exception {
        long descriptors = Proc.descriptors();
        long size = closedMapping();
        Support.awaitCollection(() -> Proc.descriptors() <= descriptors
                && Proc.number("/proc/self/status", "VmSize") < size - (MANY >> 10) * 16L);
    }
}
