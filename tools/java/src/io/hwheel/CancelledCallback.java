// SPDX-License-Identifier: LGPL-2.1-only OR MIT
package io.hwheel;

import io.netty.util.Timeout;
import io.netty.util.TimerTask;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;

/**
 * Tells a task that its timeout was cancelled, where {@code TimerTask} has the method
 * {@code cancelled()}: it does from Netty 4.2 on. The thread that cancels calls it; Netty's own
 * timer leaves that to its worker, which would have to wake up here.
 */
final class CancelledCallback {
    private static final MethodHandle METHOD = find();

    private CancelledCallback() {
    }

    private static MethodHandle find() {
        try {
            return MethodHandles.publicLookup().findVirtual(TimerTask.class, "cancelled",
                    MethodType.methodType(void.class, Timeout.class));
        } catch (ReflectiveOperationException e) {
            return null;
        }
    }

    static void call(Timeout timeout) {
        if (METHOD == null) {
            return;
        }
        try {
            METHOD.invokeExact(timeout.task(), timeout);
        } catch (Throwable e) {
            TimerLog.warn("An exception was thrown by TimerTask.cancelled().", e);
        }
    }
}
