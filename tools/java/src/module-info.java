// SPDX-License-Identifier: LGPL-2.1-only OR MIT

/**
 * Timers for very many timeouts. A program that uses {@link io.hwheel.HashedWheelTimer} requires
 * the module io.netty.common as well; {@link io.hwheel.Timer} does without.
 */
@SuppressWarnings("requires-automatic")
module io.hwheel {
    requires java.logging;
    requires static io.netty.common;

    exports io.hwheel;
}
