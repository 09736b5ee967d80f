// SPDX-License-Identifier: GPL-2.0-only
package io.hwheel;

import com.sun.management.ThreadMXBean;
import io.netty.util.Timeout;
import io.netty.util.Timer;
import io.netty.util.TimerTask;
import java.io.File;
import java.io.IOException;
import java.lang.management.ManagementFactory;
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
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Measures a timer: this one, or that of the Netty in the class path. Each has a JVM of its own, so
 * that the compiler sees one class of timers. In a machine that counts instructions a nanosecond is
 * one, and all that the machine does is in it: kernel, timer's thread, garbage collector.
 *
 * <p>Arguments: the timer's name (hwheel, or one of Netty), the parts (operations, memory,
 * footprint, idle, lateness), and the file for the results.
 */
public final class Bench {
    private static final TimerTask NOTHING = timeout -> { };
    private static final int BATCH = 1000;
    private static final int[] PENDING = {1000, 100_000, 1_000_000};
    private static final int TICK = 10;
    /** Timeouts of which each tick expires a part, and that are cancelled after a tick. */
    private static final int SOME = 100_000;
    /** How often each figure is taken: the median counts. */
    private static final int CELLS = 5;

    private static final ThreadMXBean THREADS =
            (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private final String impl;
    private final List<String> results = new ArrayList<>();

    private Bench(String impl) {
        this.impl = impl;
    }

    /** Runs the parts that the arguments name. */
    public static void main(String[] arguments) throws Exception {
        Bench bench = new Bench(arguments[0]);
        int last = arguments.length - 1;
        for (String part : Arrays.copyOfRange(arguments, 1, last)) {
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
            pendingMemory();
            break;
        case "footprint":
            idleMemory();
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
    private void result(String metric, int pending, double value, String unit) {
        String line = String.format(Locale.ROOT, "{\"metric\": \"java.%s\", \"impl\": \"%s\", "
                + "\"n\": %d, \"unit\": \"%s\", \"value\": %.1f}",
                metric, impl, pending, unit, value);
        results.add(line);
        System.out.println("# " + line);
    }

    private Timer timer(int tick) {
        ThreadFactory threads = task -> {
            Thread thread = new Thread(task, "bench-timer");
            thread.setDaemon(true);
            return thread;
        };
        return impl.equals("hwheel")
                ? new HashedWheelTimer(threads, tick, TimeUnit.MILLISECONDS, 512, false)
                : new io.netty.util.HashedWheelTimer(threads, tick, TimeUnit.MILLISECONDS, 512,
                        false);
    }

    /* What newTimeout(), cancel() and expiry cost */

    private void operations() throws Exception {
        warmUp();
        clock();
        for (int pending : PENDING) {
            for (int threads = 1; threads <= 2; threads++) {
                pairs(threads, pending, 200);
            }
            filed(pending);
            expiry(pending);
        }
    }

    /** Until the compiler has nothing more to do: it would count as well. */
    private void warmUp() throws Exception {
        for (int round = 0; round < 5; round++) {
            expiry(1000);
            expiry(1000);
            pairs(1 + round % 2, 1000, 100);
            filed(1000);
            expiry(1000);
            clock();
            Thread.sleep(2000);
        }
        results.clear();
    }

    /** Each newTimeout() of any timer calls it once. */
    private void clock() {
        long since = System.nanoTime();
        for (int i = 0; i < 100_000; i++) {
            System.nanoTime();
        }
        result("clock", 0, (System.nanoTime() - since) / 1e5, "ns");
    }

    /** Returns how many bytes all threads that live have allocated. */
    private static long allocated() {
        return Arrays.stream(THREADS.getThreadAllocatedBytes(THREADS.getAllThreadIds())).sum();
    }

    /** Beside a number of timeouts that stay, each thread arms and cancels batches. */
    private void pairs(int threads, int pending, int rounds) throws Exception {
        Timer timer = timer(TICK);
        Timeout[] stay = fill(timer, pending);
        double[][] cells = new double[CELLS][];
        for (int i = 0; i < CELLS; i++) {
            cells[i] = pairsOf(timer, threads, rounds / threads);
        }
        String by = ", threads: " + threads;
        result("newTimeout" + by, pending, median(cells, 0), "ns of the thread");
        result("cancel" + by, pending, median(cells, 1), "ns of the thread");
        result("pair" + by, pending, median(cells, 2), "ns of the machine");
        result("allocation" + by, pending, median(cells, 3), "bytes per timeout");
        stop(timer, stay, pending);
    }

    /** Returns the nanoseconds of newTimeout(), of cancel() and of a pair, and the bytes of one. */
    private static double[] pairsOf(Timer timer, int threads, int rounds) throws Exception {
        CountDownLatch go = new CountDownLatch(1);
        CountDownLatch done = new CountDownLatch(threads);
        CountDownLatch end = new CountDownLatch(1);
        long[] arm = new long[threads];
        long[] cancel = new long[threads];
        for (int i = 0; i < threads; i++) {
            int number = i;
            new Thread(() -> {
                awaitUninterrupted(go);
                churn(timer, rounds, number, arm, cancel);
                done.countDown();
                awaitUninterrupted(end);
            }).start();
        }
        System.gc();
        Thread.sleep(100);
        long before = allocated();
        long since = System.nanoTime();
        go.countDown();
        done.await();
        long elapsed = System.nanoTime() - since;
        long bytes = allocated() - before;
        end.countDown();
        double count = (double) rounds * threads * BATCH;
        return new double[] {Arrays.stream(arm).sum() / count, Arrays.stream(cancel).sum() / count,
                elapsed / count, bytes / count};
    }

    private static double median(double[][] cells, int column) {
        return Arrays.stream(cells).mapToDouble(cell -> cell[column]).sorted()
                .toArray()[cells.length / 2];
    }

    private static void stop(Timer timer, Timeout[] stay, int pending) {
        if (stay.length != pending || timer.stop().size() != pending) {
            throw new IllegalStateException();
        }
    }

    /** Returns when the timer's thread has filed all of them. */
    private static Timeout[] fill(Timer timer, int count) throws InterruptedException {
        Timeout[] timeouts = new Timeout[count];
        for (int i = 0; i < count; i++) {
            timeouts[i] = timer.newTimeout(NOTHING, 3600 + i % 3600, TimeUnit.SECONDS);
        }
        CountDownLatch filed = new CountDownLatch(1);
        timer.newTimeout(timeout -> filed.countDown(), 0, TimeUnit.SECONDS);
        filed.await();
        return timeouts;
    }

    private static void churn(Timer timer, int rounds, int number, long[] arm, long[] cancel) {
        Timeout[] batch = new Timeout[BATCH];
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

    /** As a request with a timeout of 30 s that is answered some ticks later. */
    private void filed(int pending) throws Exception {
        Timer timer = timer(TICK);
        Timeout[] stay = fill(timer, pending);
        Timeout[] window = new Timeout[SOME];
        for (int i = 0; i < SOME; i++) {
            window[i] = timer.newTimeout(NOTHING, 30, TimeUnit.SECONDS);
        }
        System.gc();
        double[][] cells = new double[CELLS][1];
        for (double[] cell : cells) {
            long since = System.nanoTime();
            for (int i = 0; i < SOME; i++) {
                window[i].cancel();
                window[i] = timer.newTimeout(NOTHING, 30, TimeUnit.SECONDS);
            }
            cell[0] = (double) (System.nanoTime() - since) / SOME;
        }
        result("pair, cancelled some ticks later", pending, median(cells, 0), "ns of the machine");
        for (Timeout timeout : window) {
            timeout.cancel();
        }
        stop(timer, stay, pending);
    }

    /** About one expires for each that is armed, once the first ones have. */
    private void expiry(int pending) throws Exception {
        Timer timer = timer(TICK);
        Timeout[] stay = fill(timer, pending);
        AtomicInteger runs = new AtomicInteger();
        TimerTask task = timeout -> runs.incrementAndGet();
        int armed = CELLS * SOME;
        for (; runs.get() == 0; armed++) {
            timer.newTimeout(task, 2 * TICK, TimeUnit.MILLISECONDS);
        }
        System.gc();
        double[][] cells = new double[CELLS][2];
        for (double[] cell : cells) {
            int before = runs.get();
            long since = System.nanoTime();
            for (int i = 0; i < SOME; i++) {
                timer.newTimeout(task, 2 * TICK, TimeUnit.MILLISECONDS);
            }
            cell[0] = (double) (System.nanoTime() - since) / SOME;
            cell[1] = (runs.get() - before) * 100. / SOME;
        }
        result("newTimeout and expiry", pending, median(cells, 0), "ns of the machine");
        result("expired meanwhile", pending, median(cells, 1), "%");
        while (runs.get() < armed) {
            Thread.sleep(TICK);
        }
        stop(timer, stay, pending);
    }

    /* Memory. The heap has all of its memory from the beginning: what else goes is the kernel's. */

    private void pendingMemory() throws Exception {
        int many = PENDING[PENDING.length - 1];
        Timer timer = timer(TICK);
        timer.newTimeout(NOTHING, 1, TimeUnit.HOURS);
        Timeout[] timeouts = new Timeout[many];
        long heap = heap();
        for (int i = 0; i < many; i++) {
            timeouts[i] = timer.newTimeout(NOTHING, 3600 + i % 3600, TimeUnit.SECONDS);
        }
        /* Netty's worker takes them from its queue. */
        Thread.sleep(1000);
        result("heap", many, (double) (heap() - heap) / many, "bytes per timeout");
        if (timer.stop().size() != timeouts.length + 1) {
            throw new IllegalStateException();
        }
    }

    private void idleMemory() throws Exception {
        Timer[] timers = new Timer[20];
        timer(TICK).stop();
        long heap = heap();
        long free = free();
        for (int i = 0; i < timers.length; i++) {
            timers[i] = timer(TICK);
            timers[i].newTimeout(NOTHING, 1, TimeUnit.HOURS);
        }
        Thread.sleep(100);
        result("heap of a timer", 1, (double) (heap() - heap) / timers.length, "bytes");
        result("outside, with the thread's stack", 1, (double) (free - free()) / timers.length,
                "bytes");
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
        for (int tick : new int[] {1, 10, 100}) {
            Timer timer = timer(tick);
            timer.newTimeout(NOTHING, 1, TimeUnit.HOURS);
            Thread.sleep(1000);
            long before = switches();
            Thread.sleep(10_000);
            result("wake-ups, tick: " + tick + " ms", 1, switches() - before, "in 10 s");
            timer.stop();
        }
    }

    /** Context switches of the threads with the name of a timer's, and of the one that watches. */
    private static long switches() throws IOException {
        long sum = 0;
        int found = 0;
        for (String task : new File("/proc/self/task").list()) {
            Path path = Path.of("/proc/self/task", task);
            String name = Files.readString(path.resolve("comm")).trim();
            if (name.equals("bench-timer") || name.equals("hwheel-watch")) {
                sum += switchesOf(path);
                found++;
            }
        }
        if (found == 0) {
            throw new IllegalStateException("no such thread");
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
        for (int tick : new int[] {1, 10, 100}) {
            Timer timer = timer(tick);
            lateness(timer, 500);
            long[] late = lateness(timer, 2000);
            String by = ", tick: " + tick + " ms";
            int count = late.length;
            result("lateness p50" + by, count, late[count / 2] / 1e3, "us");
            result("lateness p99" + by, count, late[count / 100 * 99] / 1e3, "us");
            result("lateness max" + by, count, late[count - 1] / 1e3, "us");
            result("lateness min" + by, count, late[0] / 1e3, "us");
            timer.stop();
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
