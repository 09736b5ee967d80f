// SPDX-License-Identifier: GPL-2.0-only

/** A program that may be run without Netty. */
@SuppressWarnings("requires-automatic")
module app {
    requires io.hwheel;
    requires static io.netty.common;
}
