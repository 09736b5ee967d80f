// SPDX-License-Identifier: GPL-2.0-only
package io.hwheel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.util.Timeout;
import io.netty.util.Timer;
import java.io.File;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.Arrays;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** With hwheel-override.jar first, a program that constructs Netty's timer gets this one. */
class OverrideTest {
    @Test
    void nettysTimerIsThisOne() throws Exception {
        Timer timer = new io.netty.util.HashedWheelTimer(10, TimeUnit.MILLISECONDS);
        assertInstanceOf(HashedWheelTimer.class, timer);
        CountDownLatch ran = new CountDownLatch(1);
        timer.newTimeout(Support.counting(ran), 0, TimeUnit.MILLISECONDS);
        Timeout far = timer.newTimeout(Support.NOTHING, 1, TimeUnit.HOURS);
        Support.await(ran);
        assertEquals(timer, far.timer());
        assertEquals(Set.of(far), timer.stop());
    }

    /** In another class loader, which does not have the jar */
    private static Class<?> nettysClass() throws Exception {
        for (String jar : System.getProperty("java.class.path").split(File.pathSeparator)) {
            if (jar.endsWith("netty-common.jar")) {
                URL[] path = {new File(jar).toURI().toURL()};
                return Class.forName("io.netty.util.HashedWheelTimer", false,
                        new URLClassLoader(path, null));
            }
        }
        throw new AssertionError("no netty-common.jar");
    }

    private static Set<String> constructors(Class<?> type) {
        return Arrays.stream(type.getConstructors()).map(Constructor::toString)
                .collect(Collectors.toCollection(TreeSet::new));
    }

    private static Set<String> methods(Class<?> type) {
        return Arrays.stream(type.getMethods())
                .filter(method -> method.getDeclaringClass() != Object.class)
                .map(OverrideTest::signature).collect(Collectors.toCollection(TreeSet::new));
    }

    private static String signature(Method method) {
        return method.getReturnType().getName() + ' ' + method.getName() + parameters(method);
    }

    private static String parameters(Executable of) {
        return Arrays.stream(of.getParameterTypes()).map(Class::getName)
                .collect(Collectors.joining(",", "(", ")"));
    }

    @Test
    void hasWhatNettysClassHas() throws Exception {
        Class<?> theirs = nettysClass();
        Class<?> ours = io.netty.util.HashedWheelTimer.class;
        assertNotEquals(theirs, ours);
        assertTrue(constructors(ours).containsAll(constructors(theirs)),
                constructors(theirs)::toString);
        assertTrue(methods(ours).containsAll(methods(theirs)), methods(theirs)::toString);
    }
}
