// SPDX-License-Identifier: GPL-2.0-only
package io.netty.util;

/** As the interface of Netty 4.2, which is older in Debian: it also hears of being cancelled. */
public interface TimerTask {
    /** Called when the timeout has expired. */
    void run(Timeout timeout) throws Exception;

    /** Called when the timeout was cancelled. */
    default void cancelled(Timeout timeout) {
    }
}
