// SPDX-License-Identifier: GPL-2.0-only
package io.netty.util;

/** As the interface of Netty 4.2, which Debian does not have. */
public interface TimerTask {
    /** Called when the timeout has expired. */
    void run(Timeout timeout) throws Exception;

    /** Called when the timeout was cancelled. */
    default void cancelled(Timeout timeout) {
    }
}
