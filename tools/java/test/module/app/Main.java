// SPDX-License-Identifier: GPL-2.0-only
package app;

import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** Uses a timer, and prints its class, its module and that of its timeouts. */
public final class Main {
    private Main() {
    }

    /** The argument is the timer: core, netty, or override for the class with Netty's name. */
    public static void main(String[] arguments) throws Exception {
        if (arguments[0].equals("core")) {
            use(new io.hwheel.Timer(10, TimeUnit.MILLISECONDS));
        } else {
            NettyUser.use(arguments[0].equals("override"));
        }
    }

    private static void use(io.hwheel.Timer timer) throws InterruptedException {
        CountDownLatch ran = new CountDownLatch(1);
        timer.newTimeout(ran::countDown, 1, TimeUnit.MILLISECONDS);
        Object pending = timer.newTimeout(ran::countDown, 1, TimeUnit.HOURS);
        ran.await();
        report(timer, pending, timer.stop());
    }

    static void report(Object timer, Object pending, Set<?> handedBack) {
        if (!handedBack.equals(Set.of(pending))) {
            throw new AssertionError(handedBack);
        }
        System.out.println(timer.getClass() + " " + timer.getClass().getModule() + ", "
                + pending.getClass().getModule());
    }
}
