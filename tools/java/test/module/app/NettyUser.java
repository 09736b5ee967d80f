// SPDX-License-Identifier: GPL-2.0-only
package app;

import io.netty.util.Timer;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** Has timers of Netty's interface; this class is not loaded where Netty is not there. */
final class NettyUser {
    private NettyUser() {
    }

    /** Uses this project's class, by its name or by that of Netty's. */
    static void use(boolean override) throws InterruptedException {
        Timer timer = override
                ? new io.netty.util.HashedWheelTimer(10, TimeUnit.MILLISECONDS)
                : new io.hwheel.HashedWheelTimer(10, TimeUnit.MILLISECONDS);
        CountDownLatch ran = new CountDownLatch(1);
        timer.newTimeout(timeout -> ran.countDown(), 1, TimeUnit.MILLISECONDS);
        Object pending = timer.newTimeout(timeout -> ran.countDown(), 1, TimeUnit.HOURS);
        ran.await();
        Main.report(timer, pending, timer.stop());
    }
}
