// SPDX-License-Identifier: LGPL-2.1-only OR MIT

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/**
 * Timeouts that processes share: one arms them, and another one takes those that expire, also after
 * the first has ended. They are those of one open /dev/hwheel, which the processes inherit. Calls
 * libhwheel by the foreign functions of Java 22:
 *
 * <pre>
 *   exec 3&lt;&gt;/dev/hwheel
 *   java --enable-native-access=ALL-UNNAMED SharedTimeouts.java arm 3 7 1000
 *   java --enable-native-access=ALL-UNNAMED SharedTimeouts.java take 3
 * </pre>
 *
 * <p>The numbers are the descriptor, the cookie by which the program finds its object again, and
 * milliseconds. libhwheel(3) documents the functions.
 */
public final class SharedTimeouts implements AutoCloseable {
    private static final StructLayout EVENT = MemoryLayout.structLayout(
            ValueLayout.JAVA_LONG.withName("id"), ValueLayout.JAVA_LONG.withName("cookie"),
            ValueLayout.JAVA_LONG.withName("deadline_ns"),
            ValueLayout.JAVA_LONG.withName("fired_ns"),
            ValueLayout.JAVA_INT.withName("type"), ValueLayout.JAVA_INT.withName("reserved"));
    private static final long COOKIE =
            EVENT.byteOffset(MemoryLayout.PathElement.groupElement("cookie"));

    private static final SymbolLookup LIBRARY =
            SymbolLookup.libraryLookup("libhwheel.so.0", Arena.global());
    private static final MethodHandle OPEN_FD = function("hwheel_open_fd", ValueLayout.ADDRESS,
            ValueLayout.JAVA_INT);
    private static final MethodHandle CLOSE = function("hwheel_close", ValueLayout.ADDRESS);
    private static final MethodHandle ARM = function("hwheel_arm", ValueLayout.ADDRESS,
            ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG, ValueLayout.ADDRESS);
    private static final MethodHandle NEXT_EVENTS = function("hwheel_next_events",
            ValueLayout.ADDRESS, ValueLayout.ADDRESS, ValueLayout.JAVA_LONG);

    private final Arena arena = Arena.ofShared();
    private final MemorySegment wheel;

    private static MethodHandle function(String name, MemoryLayout... arguments) {
        return Linker.nativeLinker().downcallHandle(LIBRARY.find(name).orElseThrow(),
                FunctionDescriptor.of(ValueLayout.JAVA_INT, arguments));
    }

    /** Returns what a function returned, unless it is a negative errno. */
    private static int check(String what, int result) {
        if (result < 0) {
            throw new IllegalStateException(what + ": errno " + -result);
        }
        return result;
    }

    /** Takes an open /dev/hwheel; close() closes it. */
    public SharedTimeouts(int descriptor) throws Throwable {
        MemorySegment out = arena.allocate(ValueLayout.ADDRESS);
        check("hwheel_open_fd", (int) OPEN_FD.invokeExact(out, descriptor));
        wheel = out.get(ValueLayout.ADDRESS, 0);
    }

    /** Arms a timeout. Returns its id. */
    public long arm(long cookie, long nanoseconds) throws Throwable {
        try (Arena local = Arena.ofConfined()) {
            MemorySegment id = local.allocate(ValueLayout.JAVA_LONG);
            check("hwheel_arm", (int) ARM.invokeExact(wheel, nanoseconds, cookie, id));
            return id.get(ValueLayout.JAVA_LONG, 0);
        }
    }

    /** Waits for a timeout that expires. Returns its cookie. */
    public long take() throws Throwable {
        try (Arena local = Arena.ofConfined()) {
            MemorySegment event = local.allocate(EVENT);
            int count = check("hwheel_next_events",
                    (int) NEXT_EVENTS.invokeExact(wheel, event, 1L));
            if (count == 0) {
                throw new IllegalStateException("the timeouts were stopped");
            }
            return event.get(ValueLayout.JAVA_LONG, COOKIE);
        }
    }

    @Override
    public void close() {
        try {
            check("hwheel_close", (int) CLOSE.invokeExact(wheel));
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        } finally {
            arena.close();
        }
    }

    /** Arms a timeout, or takes one and prints its cookie. */
    public static void main(String[] arguments) throws Throwable {
        try (SharedTimeouts timeouts = new SharedTimeouts(Integer.parseInt(arguments[1]))) {
            if (arguments[0].equals("arm")) {
                timeouts.arm(Long.parseLong(arguments[2]),
                        Long.parseLong(arguments[3]) * 1_000_000);
            } else {
                System.out.println("expired: " + timeouts.take());
            }
        }
    }
}
