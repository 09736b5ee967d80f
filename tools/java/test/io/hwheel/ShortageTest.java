// SPDX-License-Identifier: GPL-2.0-only
package io.hwheel;

import static io.hwheel.Support.NOTHING;
import static io.hwheel.Support.limited;
import static io.hwheel.Support.passTicks;
import static io.hwheel.Support.timer;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.util.Timeout;
import io.netty.util.Timer;
import java.io.FileInputStream;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Where the process gets no more descriptors, addresses or memory. */
class ShortageTest {
    private static final int MILLION = 1_000_000;

    /** All descriptors that the process can have, until it is closed. */
    private static final class Descriptors implements AutoCloseable {
        private final Deque<FileInputStream> files = new ArrayDeque<>();

        Descriptors() {
            try {
                for (;;) {
                    files.add(new FileInputStream("/dev/null"));
                }
            } catch (FileNotFoundException e) {
                assertTrue(e.getMessage().contains("Too many open files"), e.getMessage());
            }
        }

        @Override
        public void close() throws IOException {
            while (!files.isEmpty()) {
                files.remove().close();
            }
        }
    }

    @Test
    void withoutADescriptor() throws Exception {
        long mapped = Proc.mapped();
        HashedWheelTimer timer = timer(10);
        Timeout far = timer.newTimeout(NOTHING, 1, TimeUnit.HOURS);
        try (Descriptors all = new Descriptors()) {
            assertTrue(!all.files.isEmpty());
            WheelUnavailableException e = assertThrows(WheelUnavailableException.class,
                    () -> timer(10));
            assertTrue(e.getMessage().contains("Too many open files"), e.getMessage());
            Timer fallback = Timers.newTimer();
            assertInstanceOf(io.netty.util.HashedWheelTimer.class, fallback);
            fallback.stop();
            passTicks(timer, 0);
            assertEquals(Set.of(far), timer.stop());
        }
        assertEquals(mapped, Proc.mapped());
        timer(10).stop();
    }

    /** Bounds the size of the process, in bytes or as a word. */
    private static void bound(String size) throws Exception {
        Process command = new ProcessBuilder("prlimit", "--as=" + size + ':', "--pid",
                Long.toString(ProcessHandle.current().pid())).inheritIO().start();
        assertEquals(0, command.waitFor());
    }

    /** A timer takes addresses for all the records that it may ever have. */
    @Test
    void withoutAddresses() throws Exception {
        long descriptors = Proc.descriptors();
        long more = Proc.number("/proc/self/status", "VmSize") + (128 << 10);
        bound(Long.toString(more << 10));
        try {
            WheelUnavailableException e = assertThrows(WheelUnavailableException.class,
                    () -> limited(10, 4 * MILLION));
            assertTrue(e.getMessage().contains("Cannot allocate memory"), e.getMessage());
            HashedWheelTimer small = limited(10, 1);
            passTicks(small, 0);
            small.stop();
        } finally {
            bound("unlimited");
        }
        Support.awaitCollection(() -> Proc.descriptors() <= descriptors);
        limited(10, 4 * MILLION).stop();
    }

    /** From now on the machine has no more memory than it has promised, and so many KiB. */
    private static String[] promiseNoMore(int kilobytes) throws IOException {
        long promised = Proc.number("/proc/meminfo", "Committed_AS");
        return new String[] {
            Proc.set("vm/user_reserve_kbytes", "0"),
            Proc.set("vm/overcommit_kbytes", Long.toString(promised + kilobytes)),
            Proc.set("vm/overcommit_memory", "2"),
        };
    }

    private static void promise(String[] before) throws IOException {
        Proc.set("vm/overcommit_memory", before[2]);
        Proc.set("vm/overcommit_kbytes", before[1]);
        Proc.set("vm/user_reserve_kbytes", before[0]);
    }

    /** stop() wants as much memory as the timer has mapped, which are 32 MiB of ring and more. */
    private static void stopWithoutMemory() throws Exception {
        HashedWheelTimer timer = limited(10, 4 * MILLION);
        Timeout far = timer.newTimeout(NOTHING, 1, TimeUnit.HOURS);
        passTicks(timer, 0);
        long mapped = Proc.mapped();
        String[] before = promiseNoMore(16 << 10);
        try (Log log = new Log()) {
            assertEquals(Set.of(far), timer.stop());
            assertTrue(log.has("Cannot allocate memory"));
        } finally {
            promise(before);
        }
        assertEquals(mapped, Proc.mapped(), "the timer keeps its memory");
        assertTrue(!far.cancel());
        assertThrows(IllegalStateException.class,
                () -> timer.newTimeout(NOTHING, 1, TimeUnit.HOURS));
    }

    @Test
    void withoutMemoryToStop() throws Exception {
        long mapped = Proc.mapped();
        long descriptors = Proc.descriptors();
        stopWithoutMemory();
        Support.awaitCollection(
                () -> Proc.mapped() <= mapped && Proc.descriptors() <= descriptors);
    }
}
