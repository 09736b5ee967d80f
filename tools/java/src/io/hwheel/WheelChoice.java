// SPDX-License-Identifier: LGPL-2.1-only OR MIT
package io.hwheel;

import java.util.Locale;

/**
 * Says which wheel of the kernel a timer uses.
 *
 * <p>Where a constructor is not told, the system property {@value #PROPERTY} chooses, with the
 * values {@code private}, {@code shared} and {@code auto}; without it, a timer has a wheel of its
 * own.
 */
public enum WheelChoice {
    /**
     * A wheel of the timer's own, with its tick and slots. A user has 16 of them (the module's
     * parameter max_user_wheels).
     */
    PRIVATE,

    /**
     * The wheel that all programs of the user share, with the module's tick (10 ms by default).
     * If that is longer than the timer's, timeouts may be late by as much, and the timer logs it.
     */
    SHARED,

    /**
     * A wheel of the timer's own as long as there is one, else the default wheel, with a line in
     * the log. The timer is refused if the default wheel's tick is longer than the timer's.
     */
    AUTO;

    /** The name of the system property. */
    public static final String PROPERTY = "io.hwheel.wheel";

    /**
     * Returns the choice of the system property.
     *
     * @return {@link #PRIVATE} if there is no such property
     * @throws IllegalArgumentException if the property has another value than those above
     */
    public static WheelChoice ofProperty() {
        String name = System.getProperty(PROPERTY, "private");
        try {
            return valueOf(name.toUpperCase(Locale.ROOT));
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException(PROPERTY + "=" + name
                    + " (expected: private, shared or auto)", e);
        }
    }
}
