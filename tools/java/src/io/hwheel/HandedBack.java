// SPDX-License-Identifier: LGPL-2.1-only OR MIT
package io.hwheel;

import java.util.AbstractSet;
import java.util.Iterator;
import java.util.NoSuchElementException;

/**
 * The timeouts that the first stop() of a timer returns. It needs no memory for each of them, and
 * no hashes. It cannot be changed.
 *
 * @param <T> the interface of the timeouts
 */
final class HandedBack<T> extends AbstractSet<T> {
    private final Class<T> type;
    private final WheelOwner owner;
    /** Each is the link of the one before. */
    private final Timeout first;
    private final int size;

    HandedBack(Class<T> type, WheelOwner owner, Timeout first) {
        this.type = type;
        this.owner = owner;
        this.first = first;
        int count = 0;
        for (Timeout t = first; t != null; t = t.link()) {
            count += count < Integer.MAX_VALUE ? 1 : 0;
        }
        size = count;
    }

    @Override
    public int size() {
        return size;
    }

    @Override
    public boolean contains(Object other) {
        return size > 0 && other instanceof Timeout && ((Timeout) other).owner == owner
                && ((Timeout) other).isHandedBack();
    }

    @Override
    public Iterator<T> iterator() {
        return new Iterator<T>() {
            private Timeout next = first;

            @Override
            public boolean hasNext() {
                return next != null;
            }

            @Override
            public T next() {
                if (next == null) {
                    throw new NoSuchElementException();
                }
                T t = type.cast(next);
                next = next.link();
                return t;
            }
        };
    }
}
