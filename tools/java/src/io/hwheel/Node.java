// SPDX-License-Identifier: LGPL-2.1-only OR MIT
package io.hwheel;

/** A member of a circular list, or what stands for the list itself: it is before the first one. */
class Node {
    /** Null in one that is in no list. */
    Node next;
    Node previous;

    static Node newList() {
        Node list = new Node();
        list.next = list;
        list.previous = list;
        return list;
    }

    /** For a list. */
    final boolean isEmpty() {
        return next == this;
    }

    /** Puts a node at the end of this list. */
    final void add(Node node) {
        Node last = previous;
        node.previous = last;
        node.next = this;
        last.next = node;
        previous = node;
    }

    /** Puts all nodes of another list, which is not empty, at the end of this list. */
    final void addAll(Node list) {
        Node last = previous;
        last.next = list.next;
        list.next.previous = last;
        previous = list.previous;
        previous.next = this;
        list.next = list;
        list.previous = list;
    }

    /** Takes a node out of its list. Returns false if it is in none. */
    final boolean unlink() {
        Node after = next;
        if (after == null) {
            return false;
        }
        Node before = previous;
        before.next = after;
        after.previous = before;
        next = null;
        previous = null;
        return true;
    }
}
