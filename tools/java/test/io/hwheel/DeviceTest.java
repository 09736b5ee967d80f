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
import io.netty.util.concurrent.ImmediateExecutor;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** What the device allows, and the wheels of the machine. */
class DeviceTest {
    private static HashedWheelTimer on(WheelChoice choice, int tick) {
        return new HashedWheelTimer(Executors.defaultThreadFactory(), tick, TimeUnit.MILLISECONDS,
                512, true, -1, ImmediateExecutor.INSTANCE, choice);
    }

    private static long parameter(String name) throws Exception {
        Path path = Path.of("/sys/module/hwheel/parameters", name);
        return Long.parseLong(Files.readString(path).trim());
    }

    /** Runs something with a value of a system property. */
    private static void with(String property, String value, ThrowingRunnable action)
            throws Exception {
        System.setProperty(property, value);
        try {
            action.run();
        } finally {
            System.clearProperty(property);
        }
    }

    private interface ThrowingRunnable {
        void run() throws Exception;
    }

    @Test
    void aTimerWithoutLimitHasTheDevices() throws Exception {
        long max = parameter("max_timeouts");
        HashedWheelTimer timer = timer(10);
        Timeout last = null;
        for (long i = 0; i < max; i++) {
            last = timer.newTimeout(NOTHING, 1, TimeUnit.HOURS);
        }
        for (int i = 0; i < 3; i++) {
            RejectedExecutionException e = assertThrows(RejectedExecutionException.class,
                    () -> timer.newTimeout(NOTHING, 1, TimeUnit.HOURS));
            assertTrue(e.getMessage().contains("max_timeouts"), e.getMessage());
        }
        assertEquals(max, timer.pendingTimeouts());
        assertTrue(last.cancel());
        passTicks(timer, 0);
        assertEquals(max - 1, timer.stop().size());
    }

    /** An idle timer costs no megabytes, and one without a limit has room for all in the end. */
    @Test
    void aTimerGrowsBySegments() throws Exception {
        long max = parameter("max_timeouts");
        long before = Proc.mapped();
        HashedWheelTimer timer = timer(10);
        Set<Long> sizes = new TreeSet<>();
        for (long i = 0; i < max; i++) {
            timer.newTimeout(NOTHING, 1, TimeUnit.HOURS);
            if (Long.bitCount(i) == 1 || i == max - 1) {
                sizes.add(Proc.mapped() - before);
            }
        }
        assertTrue(Collections.min(sizes) < 1 << 20, sizes::toString);
        assertTrue(Collections.max(sizes) >= max * 32, sizes::toString);
        assertTrue(sizes.size() > 4, sizes::toString);
        assertEquals(max, timer.stop().size());
        assertEquals(before, Proc.mapped());
    }

    /** A free record of another thread's lane serves, too. */
    @Test
    void aThreadTakesTheLastRecordFromAnother() throws Exception {
        long max = parameter("max_timeouts");
        HashedWheelTimer timer = timer(10);
        List<Timeout> armed = new ArrayList<>();
        for (long i = 0; i < max; i++) {
            armed.add(timer.newTimeout(NOTHING, 1, TimeUnit.HOURS));
        }
        for (int i = 0; i < 8; i++) {
            assertTrue(armed.get(i).cancel());
            Thread other = new Thread(() -> timer.newTimeout(NOTHING, 1, TimeUnit.HOURS));
            other.start();
            other.join();
            assertEquals(max, timer.pendingTimeouts());
        }
        timer.stop();
    }

    @Test
    void thePropertyAsksForMore() throws Exception {
        long more = parameter("max_timeouts") + 1000;
        with("io.hwheel.maxTimeouts", Long.toString(more), () -> {
            HashedWheelTimer timer = timer(10);
            for (long i = 0; i < more; i++) {
                timer.newTimeout(NOTHING, 1, TimeUnit.HOURS);
            }
            assertEquals(more, timer.stop().size());
        });
    }

    @Test
    void refusesAPropertyThatIsOutOfRange() throws Exception {
        for (String value : new String[] {"-1", "16777217", "many"}) {
            with("io.hwheel.maxTimeouts", value, () ->
                    assertThrows(IllegalArgumentException.class, () -> timer(10)));
        }
    }

    @Test
    void whenAllWheelsAreUsed() throws Exception {
        List<HashedWheelTimer> timers = new ArrayList<>();
        for (long i = parameter("max_user_wheels"); i > 0; i--) {
            timers.add(timer(10));
        }
        WheelUnavailableException e = assertThrows(WheelUnavailableException.class,
                () -> timer(10));
        assertTrue(e.getMessage().contains("max_user_wheels"), e.getMessage());
        assertThrows(WheelUnavailableException.class, () -> on(WheelChoice.AUTO, 1),
                "the default wheel's tick is longer");
        HashedWheelTimer shared = on(WheelChoice.AUTO, 10);
        passTicks(shared, 1);
        shared.stop();
        for (HashedWheelTimer timer : timers) {
            passTicks(timer, 0);
            assertEquals(0, timer.stop().size());
        }
        timer(10).stop();
    }

    @Test
    void aTimerThatNeverStartedFreesItsWheel() throws Exception {
        for (long i = 2 * parameter("max_user_wheels"); i > 0; i--) {
            timer(10).stop();
        }
    }

    @Test
    void manyTimersShareOneWheel() throws Exception {
        with(WheelChoice.PROPERTY, "shared", () -> {
            List<HashedWheelTimer> timers = new ArrayList<>();
            for (int i = 0; i < 40; i++) {
                timers.add(timer(10));
            }
            for (HashedWheelTimer timer : timers) {
                timer.newTimeout(NOTHING, 1, TimeUnit.HOURS);
                passTicks(timer, 0);
            }
            for (HashedWheelTimer timer : timers) {
                assertEquals(1, timer.stop().size());
            }
        });
    }

    @Test
    void refusesAnotherChoice() throws Exception {
        with(WheelChoice.PROPERTY, "mine", () ->
                assertThrows(IllegalArgumentException.class, () -> timer(10)));
    }

    @Test
    void theFactoryTakesTheKernelsWheel() {
        Timer timer = Timers.newTimer();
        assertInstanceOf(HashedWheelTimer.class, timer);
        timer.stop();
    }

    @Test
    void aRefusedTimerLeavesNothing() throws Exception {
        Device.check();
        long before = Proc.descriptors();
        for (int i = 0; i < 20; i++) {
            assertThrows(NullPointerException.class, () -> new HashedWheelTimer(task -> null));
        }
        HashedWheelTimer timer = limited(10, 5);
        timer.stop();
        Support.awaitCollection(() -> Proc.descriptors() <= before + 2);
    }
}
