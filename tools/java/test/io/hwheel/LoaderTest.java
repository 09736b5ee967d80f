// SPDX-License-Identifier: GPL-2.0-only
package io.hwheel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.lang.ref.WeakReference;
import java.lang.reflect.Proxy;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.Arrays;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.commons.ClassRemapper;
import org.objectweb.asm.commons.Remapper;

/** The jar in class loaders of its own, under other names, and without Netty. */
class LoaderTest {
    private static URL[] jars(String... names) {
        return Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
                .filter(path -> Stream.of(names).anyMatch(name -> path.endsWith("/" + name)))
                .map(LoaderTest::url).toArray(URL[]::new);
    }

    private static URL url(String path) {
        try {
            return new File(path).toURI().toURL();
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private static URLClassLoader loader() {
        return new URLClassLoader(jars("hwheel.jar", "netty-common.jar", "jctools-core.jar"),
                ClassLoader.getPlatformClassLoader());
    }

    /** Runs one task, and hands one back, of the classes with that prefix. */
    private static Object use(ClassLoader loader, String prefix) throws Exception {
        Class<?> type = loader.loadClass(prefix + "hwheel.HashedWheelTimer");
        Class<?> taskType = loader.loadClass(prefix + "netty.util.TimerTask");
        Object timer = type.getConstructor(long.class, TimeUnit.class).newInstance(10,
                TimeUnit.MILLISECONDS);
        CountDownLatch ran = new CountDownLatch(1);
        Object task = Proxy.newProxyInstance(loader, new Class<?>[] {taskType}, (self, m, args) -> {
            ran.countDown();
            return null;
        });
        for (int delay = 0; delay < 2; delay++) {
            type.getMethod("newTimeout", taskType, long.class, TimeUnit.class).invoke(timer, task,
                    delay, TimeUnit.HOURS);
        }
        Support.await(ran);
        assertEquals(1, ((Set<?>) type.getMethod("stop").invoke(timer)).size());
        return timer;
    }

    @Test
    void twoClassLoaders() throws Exception {
        try (URLClassLoader one = loader(); URLClassLoader other = loader()) {
            assertNotSame(use(one, "io.").getClass(), use(other, "io.").getClass());
        }
    }

    private static WeakReference<?> drop(boolean withoutNetty) throws Exception {
        URLClassLoader loader = withoutNetty ? new URLClassLoader(jars("hwheel.jar"),
                ClassLoader.getPlatformClassLoader()) : loader();
        if (withoutNetty) {
            Class<?> type = loader.loadClass("io.hwheel.Timer");
            Object timer = type.getConstructor().newInstance();
            type.getMethod("start").invoke(timer);
            type.getMethod("stop").invoke(timer);
            assertThrows(NoClassDefFoundError.class,
                    () -> Class.forName("io.hwheel.HashedWheelTimer", true, loader));
        } else {
            use(loader, "io.");
        }
        return new WeakReference<>(loader);
    }

    /** As of an application that a server takes away: no thread keeps its classes. */
    @Test
    void aClassLoaderIsCollected() throws Exception {
        for (boolean withoutNetty : new boolean[] {true, false}) {
            WeakReference<?> loader = drop(withoutNetty);
            Support.awaitCollection(() -> loader.get() == null);
        }
    }

    /** Defines the classes of both jars in other packages, as tools that shade do. */
    private static final class Shade extends ClassLoader {
        private static final Remapper NAMES = new Remapper() {
            @Override
            public String map(String name) {
                return name.startsWith("io/hwheel/") || name.startsWith("io/netty/")
                        ? "my/shaded/" + name.substring("io/".length()) : name;
            }
        };

        private final URLClassLoader jars = loader();

        Shade() {
            super(ClassLoader.getPlatformClassLoader());
        }

        @Override
        protected Class<?> findClass(String name) throws ClassNotFoundException {
            String path = name.replace('.', '/').replaceFirst("^my/shaded/", "io/") + ".class";
            try (InputStream in = jars.getResourceAsStream(path)) {
                if (in == null) {
                    throw new ClassNotFoundException(name);
                }
                ClassWriter writer = new ClassWriter(0);
                new ClassReader(in).accept(new ClassRemapper(writer, NAMES), 0);
                byte[] code = writer.toByteArray();
                return defineClass(name, code, 0, code.length);
            } catch (IOException e) {
                throw new ClassNotFoundException(name, e);
            }
        }
    }

    @Test
    void aShadedCopy() throws Exception {
        Object timer = use(new Shade(), "my.shaded.");
        assertEquals("my.shaded.hwheel.HashedWheelTimer", timer.getClass().getName());
    }
}
