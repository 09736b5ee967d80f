// SPDX-License-Identifier: LGPL-2.1-only OR MIT
package io.hwheel;

import io.netty.util.TimerTask;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;

/** A timeout with Netty's interface. */
final class NettyTimeout extends Timeout implements io.netty.util.Timeout {
    /** {@code TimerTask.cancelled()}, which Netty has from 4.2 on, or null. */
    private static final MethodHandle CANCELLED = findCancelled();

    private final TimerTask task;

    NettyTimeout(HashedWheelTimer timer, TimerTask task) {
        super(timer);
        this.task = task;
    }

    private static MethodHandle findCancelled() {
        MethodType type = MethodType.methodType(void.class, io.netty.util.Timeout.class);
        try {
            return MethodHandles.publicLookup().findVirtual(TimerTask.class, "cancelled", type);
        } catch (ReflectiveOperationException e) {
            return null;
        }
    }

    @Override
    public io.netty.util.Timer timer() {
        return (HashedWheelTimer) owner;
    }

    @Override
    public TimerTask task() {
        return task;
    }

    @Override
    void call() throws Exception {
        task.run(this);
    }

    @Override
    void afterCancel() throws Throwable {
        if (CANCELLED != null) {
            CANCELLED.invokeExact(task, (io.netty.util.Timeout) this);
        }
    }
}
