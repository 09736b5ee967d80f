// SPDX-License-Identifier: GPL-2.0-only
package io.hwheel;

import io.netty.util.Timeout;
import io.netty.util.Timer;
import io.netty.util.TimerTask;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/**
 * Measures this timer beside Netty's. In a machine that counts instructions a nanosecond is one.
 *
 * <p>Arguments: the parts (operations, memory, footprint, idle, lateness), and the file for the results.
 */
public final class Bench {
    private static final String[] IMPLS = {"netty", "hwheel"};
    private static final TimerTask NOTHING = timeout -> { };
    private static final int BATCH = 1000;
    private static final int MILLION = 1_000_000;

    private final List<String> results = new ArrayList<>();

    private Bench() {
    }

    /** Runs the parts that the arguments name; the last argument is the file. */
    public static void main(String[] arguments) throws Exception {
        Bench bench = new Bench();
        int last = arguments.length - 1;
        for (String part : Arrays.copyOf(arguments, last)) {
            bench.run(part);
        }
        Files.write(Path.of(arguments[last]), bench.results);
        System.exit(0);
    }

    private void run(String part) throws Exception {
        switch (part) {
        case "operations":
            operations();
            break;
        case "memory":
            for (String impl : IMPLS) {
                pendingMemory(impl);
            }
            break;
        case "footprint":
            for (String impl : IMPLS) {
                idleMemory(impl);
            }
            break;
        case "idle":
            idle();
            break;
        case "lateness":
            lateness();
            break;
        default:
            throw new IllegalArgumentException(part);
        }
    }

    /** As selftests/bench/report.py reads it, with how many timeouts are pending. */
    private void result(String metric, String impl, int pending, double value, String unit) {
        String line = String.format(Locale.ROOT, "{\"metric\": \"java.%s\", \"impl\": \"%s\", "
                + "\"n\": %d, \"unit\": \"%s\", \"value\": %.1f}",
                metric, impl, pending, unit, value);
        results.add(line);
        System.out.println("# " + line);
    }

    private static Timer timer(String impl, int tick) {
        ThreadFactory threads = task -> {
            Thread thread = new Thread(task, "bench-timer");
            thread.setDaemon(true);
            return thread;
        };
        return impl.equals("netty")
                ? new io.netty.util.HashedWheelTimer(threads, tick, TimeUnit.MILLISECONDS, 512,
                        false)
                : new HashedWheelTimer(threads, tick, TimeUnit.MILLISECONDS, 512, false);
    }

    /* What newTimeout() and cancel() cost */

    private void operations() throws Exception {
        warmUp();
        clock();
        for (int pending : new int[] {1000, MILLION}) {
            for (int threads = 1; threads <= 2; threads++) {
                for (String impl : IMPLS) {
                    measure(impl, threads, pending, 400);
                }
            }
        }
    }

    /** Until the compiler has nothing more to do: it would count as well. */
    private void warmUp() throws Exception {
        for (int round = 0; round < 4; round++) {
            for (String impl : IMPLS) {
                measure(impl, 1 + round % 2, 1000, 500);
            }
            Thread.sleep(2000);
        }
        results.clear();
    }

    /** Each newTimeout() of either timer calls it once. */
    private void clock() {
        long since = System.nanoTime();
        for (int i = 0; i < 100_000; i++) {
            System.nanoTime();
        }
        result("clock", "jvm", 0, (System.nanoTime() - since) / 1e5, "ns");
    }

    /** Beside a number of timeouts that stay, each thread arms and cancels batches. */
    private void measure(String impl, int threads, int pending, int rounds) throws Exception {
        Timer timer = timer(impl, 10);
        Timeout[] stay = fill(timer, pending);
        CountDownLatch go = new CountDownLatch(1);
        long[] arm = new long[threads];
        long[] cancel = new long[threads];
        Thread[] crew = new Thread[threads];
        for (int i = 0; i < threads; i++) {
            int number = i;
            crew[i] = new Thread(() -> churn(timer, rounds / threads, go, number, arm, cancel));
            crew[i].start();
        }
        System.gc();
        long since = System.nanoTime();
        go.countDown();
        for (Thread thread : crew) {
            thread.join();
        }
        long elapsed = System.nanoTime() - since;
        String by = ", threads: " + threads;
        double count = (double) (rounds / threads * threads) * BATCH;
        double armed = Arrays.stream(arm).sum() / count;
        double cancelled = Arrays.stream(cancel).sum() / count;
        result("newTimeout" + by, impl, pending, armed, "ns of the thread");
        result("cancel" + by, impl, pending, cancelled, "ns of the thread");
        result("pair" + by, impl, pending, elapsed / count, "ns of the machine");
        result("pairs" + by, impl, pending, count / elapsed * 1e9, "1/s");
        if (stay.length != pending || timer.stop().isEmpty()) {
            throw new IllegalStateException();
        }
    }

    private static Timeout[] fill(Timer timer, int count) {
        Timeout[] timeouts = new Timeout[count];
        for (int i = 0; i < count; i++) {
            timeouts[i] = timer.newTimeout(NOTHING, 3600 + i % 3600, TimeUnit.SECONDS);
        }
        return timeouts;
    }

    private static void churn(Timer timer, int rounds, CountDownLatch go, int number, long[] arm,
            long[] cancel) {
        Timeout[] batch = new Timeout[BATCH];
        awaitUninterrupted(go);
        long armed = 0;
        long cancelled = 0;
        for (int round = 0; round < rounds; round++) {
            long start = System.nanoTime();
            for (int i = 0; i < BATCH; i++) {
                batch[i] = timer.newTimeout(NOTHING, 30, TimeUnit.SECONDS);
            }
            long middle = System.nanoTime();
            for (Timeout timeout : batch) {
                timeout.cancel();
            }
            cancelled += System.nanoTime() - middle;
            armed += middle - start;
        }
        arm[number] = armed;
        cancel[number] = cancelled;
    }

    private static void awaitUninterrupted(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /* Memory. The heap has all of its memory from the beginning: what else goes is the kernel's. */

    private void pendingMemory(String impl) throws Exception {
        Timer timer = timer(impl, 10);
        timer.newTimeout(NOTHING, 1, TimeUnit.HOURS);
        Timeout[] timeouts = new Timeout[MILLION];
        long heap = heap();
        long free = free();
        for (int i = 0; i < MILLION; i++) {
            timeouts[i] = timer.newTimeout(NOTHING, 3600 + i % 3600, TimeUnit.SECONDS);
        }
        /* Netty's worker takes them from its queue. */
        Thread.sleep(1000);
        result("heap", impl, MILLION, (double) (heap() - heap) / MILLION, "bytes per timeout");
        result("outside", impl, MILLION, (double) (free - free()) / MILLION, "bytes per timeout");
        timer.stop();
    }

    private void idleMemory(String impl) throws Exception {
        Timer[] timers = new Timer[20];
        timer(impl, 10).stop();
        long heap = heap();
        long free = free();
        for (int i = 0; i < timers.length; i++) {
            timers[i] = timer(impl, 10);
            timers[i].newTimeout(NOTHING, 1, TimeUnit.HOURS);
        }
        result("heap of a timer", impl, 1, (double) (heap() - heap) / timers.length, "bytes");
        result("outside, with the thread's stack", impl, 1,
                (double) (free - free()) / timers.length, "bytes");
        for (Timer timer : timers) {
            timer.stop();
        }
    }

    private static long heap() throws InterruptedException {
        for (int i = 0; i < 3; i++) {
            System.gc();
            Thread.sleep(50);
        }
        return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
    }

    private static long free() throws IOException {
        for (String line : Files.readAllLines(Path.of("/proc/meminfo"))) {
            if (line.startsWith("MemFree:")) {
                return Long.parseLong(line.replaceAll("[^0-9]", "")) * 1024;
            }
        }
        throw new IOException("no MemFree");
    }

    /* Wake-ups of a timer that has one timeout, far away */

    private void idle() throws Exception {
        for (int tick : new int[] {1, 10}) {
            for (String impl : IMPLS) {
                Timer timer = timer(impl, tick);
                timer.newTimeout(NOTHING, 1, TimeUnit.HOURS);
                Thread.sleep(1000);
                long thread = switches("/proc/self/task", "bench-timer");
                long worker = switches("/proc", "hwheel");
                if (thread == 0 || worker == 0) {
                    throw new IllegalStateException("no such task");
                }
                Thread.sleep(10_000);
                result("wake-ups of the timer's thread, tick: " + tick + " ms", impl, 1,
                        switches("/proc/self/task", "bench-timer") - thread, "in 10 s");
                result("wake-ups of the kernel's workers, tick: " + tick + " ms", impl, 1,
                        switches("/proc", "hwheel") - worker, "in 10 s");
                timer.stop();
            }
        }
    }

    /** Context switches of all tasks with a name that begins so */
    private static long switches(String folder, String name) {
        long sum = 0;
        for (String task : new File(folder).list()) {
            Path path = Path.of(folder, task);
            try {
                if (Files.readString(path.resolve("comm")).startsWith(name)) {
                    sum += switchesOf(path);
                }
            } catch (IOException e) {
                /* It is no task, or has ended. */
                continue;
            }
        }
        return sum;
    }

    private static long switchesOf(Path task) throws IOException {
        long sum = 0;
        for (String line : Files.readAllLines(task.resolve("status"))) {
            if (line.contains("ctxt_switches")) {
                sum += Long.parseLong(line.replaceAll("[^0-9]", ""));
            }
        }
        return sum;
    }

    /* How late tasks are */

    private void lateness() throws Exception {
        for (int tick : new int[] {1, 10}) {
            for (String impl : IMPLS) {
                Timer timer = timer(impl, tick);
                lateness(timer, 500);
                long[] late = lateness(timer, 2000);
                String by = ", tick: " + tick + " ms";
                int count = late.length;
                result("lateness p50" + by, impl, count, late[count / 2] / 1e3, "us");
                result("lateness p99" + by, impl, count, late[count / 100 * 99] / 1e3, "us");
                result("lateness max" + by, impl, count, late[count - 1] / 1e3, "us");
                result("lateness min" + by, impl, count, late[0] / 1e3, "us");
                timer.stop();
            }
        }
    }

    private static long[] lateness(Timer timer, int count) throws InterruptedException {
        long[] late = new long[count];
        CountDownLatch ran = new CountDownLatch(count);
        for (int i = 0; i < count; i++) {
            int number = i;
            long delay = ThreadLocalRandom.current().nextLong(1_000_000, 1_000_000_000);
            long due = System.nanoTime() + delay;
            timer.newTimeout(t -> {
                late[number] = System.nanoTime() - due;
                ran.countDown();
            }, delay, TimeUnit.NANOSECONDS);
        }
        ran.await();
        Arrays.sort(late);
        return late;
    }
}
