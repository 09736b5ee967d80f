// SPDX-License-Identifier: GPL-2.0-only
package io.hwheel;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** What the kernel tells in /proc. */
final class Proc {
    static final String DEVICE = "/dev/hwheel";

    private Proc() {
    }

    private static List<String> lines(String file) {
        try {
            return Files.readAllLines(Path.of(file));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns the number in a line such as "Name:   123 kB". */
    static long number(String file, String name) {
        return lines(file).stream().filter(line -> line.startsWith(name + ':'))
                .mapToLong(line -> Long.parseLong(line.replaceAll("[^0-9]", ""))).findFirst()
                .orElseThrow();
    }

    /** Returns how many descriptors this process has. */
    static long descriptors() {
        try (Stream<Path> files = Files.list(Path.of("/proc/self/fd"))) {
            return files.count();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns how many bytes of the device this process has mapped. */
    static long mapped() {
        return lines("/proc/self/maps").stream().filter(line -> line.endsWith(DEVICE))
                .map(line -> line.split("[- ]"))
                .mapToLong(range -> Long.parseUnsignedLong(range[1], 16)
                        - Long.parseUnsignedLong(range[0], 16)).sum();
    }

    /** Sets a parameter of the kernel's, and returns what it was. */
    static String set(String name, String value) throws IOException {
        Path path = Path.of("/proc/sys", name);
        String before = Files.readString(path).trim();
        Files.writeString(path, value);
        return before;
    }
}
