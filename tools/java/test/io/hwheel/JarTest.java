// SPDX-License-Identifier: GPL-2.0-only
package io.hwheel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.DataInputStream;
import java.io.File;
import java.lang.module.ModuleDescriptor;
import java.lang.module.ModuleFinder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import org.junit.jupiter.api.Test;

/** What hwheel.jar is for class paths, module paths and OSGi. */
class JarTest {
    private static final int JAVA_8 = 52;

    private static String path(String name) {
        return Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
                .filter(path -> path.endsWith("/" + name)).findFirst().orElseThrow();
    }

    @Test
    void eachClassIsForJava8AndNothingIsNative() throws Exception {
        int classes = 0;
        try (JarFile jar = new JarFile(path("hwheel.jar"))) {
            for (JarEntry entry : (Iterable<JarEntry>) jar.stream()::iterator) {
                String name = entry.getName();
                assertTrue(entry.isDirectory() || name.endsWith(".class")
                        || name.equals("META-INF/MANIFEST.MF"), name);
                if (name.endsWith(".class")) {
                    DataInputStream in = new DataInputStream(jar.getInputStream(entry));
                    assertEquals(0xCAFEBABE, in.readInt());
                    int version = in.readInt();
                    boolean later = name.startsWith("META-INF/versions/9/");
                    assertEquals(later ? JAVA_8 + 1 : JAVA_8, version, name);
                    classes++;
                }
            }
        }
        assertTrue(classes > 15);
    }

    @Test
    void isAModule() {
        ModuleDescriptor module = ModuleFinder.of(Path.of(path("hwheel.jar"))).find("io.hwheel")
                .orElseThrow().descriptor();
        assertEquals(Set.of("io.hwheel"), module.packages());
        assertEquals(Set.of(), module.opens());
        assertTrue(module.requires().stream().anyMatch(r -> r.name().equals("io.netty.common")
                && r.modifiers().contains(ModuleDescriptor.Requires.Modifier.STATIC)));
    }

    @Test
    void isABundle() throws Exception {
        try (JarFile jar = new JarFile(path("hwheel.jar"))) {
            Attributes all = jar.getManifest().getMainAttributes();
            assertEquals("true", all.getValue("Multi-Release"));
            assertEquals("2", all.getValue("Bundle-ManifestVersion"));
            assertEquals("io.hwheel", all.getValue("Bundle-SymbolicName"));
            String version = all.getValue("Bundle-Version");
            assertTrue(version.matches("\\d+(\\.\\d+){1,2}"), version);
            assertEquals("io.hwheel;version=\"" + version + "\";uses:=\"io.netty.util\"",
                    all.getValue("Export-Package"));
            for (String imported : all.getValue("Import-Package").split(",(?=io)")) {
                assertTrue(imported.endsWith(";resolution:=optional"), imported);
            }
        }
    }

    /** Runs a program in a JVM of its own, and returns what it prints. */
    private static String run(String... arguments) throws Exception {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(Arrays.asList(arguments));
        Process process = new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.INHERIT).start();
        String text = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(0, process.waitFor(), text);
        return text.trim();
    }

    @Test
    void onTheModulePathWithoutNetty() throws Exception {
        assertEquals("class io.hwheel.Timer module io.hwheel, module io.hwheel",
                run("-p", path("hwheel.jar") + File.pathSeparator + path("module-tests.jar"),
                        "-m", "app", "core"));
    }

    @Test
    void onTheModulePathWithNetty() throws Exception {
        String jars = String.join(File.pathSeparator, path("hwheel.jar"), path("netty-common.jar"),
                path("module-tests.jar"));
        assertEquals("class io.hwheel.HashedWheelTimer module io.hwheel, module io.hwheel",
                run("-p", jars, "--add-modules", "io.netty.common", "-m", "app", "netty"));
    }

    /** The two options of doc/migrating-netty.md. */
    @Test
    void inThePlaceOfNettysClassInItsModule() throws Exception {
        String jars = String.join(File.pathSeparator, path("hwheel.jar"), path("netty-common.jar"),
                path("module-tests.jar"));
        String override = path("hwheel.jar").replace("hwheel.jar", "hwheel-override.jar");
        assertEquals("class io.netty.util.HashedWheelTimer module io.netty.common, "
                + "module io.hwheel",
                run("-p", jars, "--add-modules", "io.netty.common", "--patch-module",
                        "io.netty.common=" + override, "-m", "app", "override"));
    }
}
