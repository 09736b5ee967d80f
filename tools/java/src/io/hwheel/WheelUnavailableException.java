// SPDX-License-Identifier: LGPL-2.1-only OR MIT
package io.hwheel;

/**
 * Says why a timer cannot use the kernel's wheel: the module is not loaded, the device is not open
 * to this user, there are as many wheels as the module allows, or the JVM finds no libhwheel_jni.
 *
 * <p>Constructors of timers throw it. {@link Timers} catches it, and makes a timer of Netty's.
 */
public class WheelUnavailableException extends IllegalStateException {
    private static final long serialVersionUID = 1;

    /**
     * Creates an exception.
     *
     * @param message what is missing, and what an administrator can do
     */
    public WheelUnavailableException(String message) {
        super(message);
    }

    /**
     * Creates an exception with a cause.
     *
     * @param message what is missing, and what an administrator can do
     * @param cause   the error that a call has reported
     */
    public WheelUnavailableException(String message, Throwable cause) {
        super(message, cause);
    }

    static WheelUnavailableException notOpened(int error) {
        switch (error) {
        case Device.ENOENT:
        case Device.ENXIO:
        case Device.ENODEV:
            return new WheelUnavailableException("there is no /dev/hwheel: the kernel module "
                    + "hwheel is not loaded (modprobe hwheel)");
        case Device.EACCES:
        case Device.EPERM:
            return new WheelUnavailableException("this user may not open /dev/hwheel: with the "
                    + "package hwheel-tools the members of the group hwheel may");
        default:
            return of("/dev/hwheel cannot be opened", error);
        }
    }

    static WheelUnavailableException notConfigured(int error) {
        if (error == Device.ENOSPC) {
            return new WheelUnavailableException("this user has as many wheels as the module "
                    + "hwheel allows (max_user_wheels) or no memory left for another "
                    + "(max_user_bytes), or the machine has as many threads as it may: a timer "
                    + "can use the default wheel "
                    + "(WheelChoice.SHARED, -D" + WheelChoice.PROPERTY + "=shared)");
        }
        return of("the device refuses this wheel", error);
    }

    static WheelUnavailableException notMapped(int error) {
        if (error == Device.ENOSPC) {
            return new WheelUnavailableException("this user's timeouts have as much memory as the "
                    + "module hwheel allows (max_user_bytes)");
        }
        if (error == Device.EDQUOT) {
            return new WheelUnavailableException("there are as many timeouts pending on the wheel "
                    + "as the module hwheel allows");
        }
        return of("the device's memory cannot be mapped", error);
    }

    static WheelUnavailableException of(String what, int error) {
        return new WheelUnavailableException(what + ": " + Device.describe(error));
    }
}
