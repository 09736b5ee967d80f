// SPDX-License-Identifier: GPL-2.0-only
package io.hwheel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** The slots in simulated time, beside a sorted map. */
class SlotsTest {
    private static final long LAST = Long.MAX_VALUE / 1_000_000;

    private static Timeout add(Slots slots, long edge) {
        Timeout t = new Stack.Bottom(0);
        t.when = edge;
        slots.file(t);
        assertEquals(edge, t.when);
        return t;
    }

    /** With a tick of 1 an edge is its own deadline. */
    private static Slots slots() {
        return new Slots(1);
    }

    /** Returns the first one that is due, and takes it out; or null. */
    private static Timeout firstDue(Slots slots) {
        Node first = slots.due().next;
        if (first == slots.due()) {
            return null;
        }
        first.unlink();
        return (Timeout) first;
    }

    /** What is filed, in the order in which it was. */
    private static final class Model {
        private final Slots slots = slots();
        private final TreeMap<Long, List<Timeout>> pending = new TreeMap<>();
        private final List<Timeout> due = new ArrayList<>();
        private final Random random;

        Model(long seed) {
            random = new Random(seed);
        }

        /** In the future, of any magnitude. */
        private long somewhere() {
            return slots.edge() + (random.nextLong() >>> 1 + random.nextInt(63))
                    % (LAST - slots.edge() + 1);
        }

        void add() {
            long edge = random.nextInt(20) == 0 ? random.nextInt(1 + (int) Math.min(slots.edge(),
                    1 << 30)) : somewhere();
            Timeout t = SlotsTest.add(slots, edge);
            if (edge <= slots.edge()) {
                due.add(t);
            } else {
                pending.computeIfAbsent(edge, e -> new ArrayList<>()).add(t);
            }
        }

        void addToOneThatIsThere() {
            if (!pending.isEmpty()) {
                long edge = pending.lastKey();
                pending.get(edge).add(SlotsTest.add(slots, edge));
            }
        }

        void remove() {
            if (pending.isEmpty()) {
                return;
            }
            Long edge = random.nextBoolean() ? pending.firstKey() : pending.ceilingKey(
                    Math.min(somewhere(), pending.lastKey()));
            List<Timeout> some = pending.get(edge);
            Timeout t = some.remove(random.nextInt(some.size()));
            t.unlink();
            t.unlink();
            if (some.isEmpty()) {
                pending.remove(edge);
            }
        }

        void advance() {
            long next = slots.next();
            long now;
            switch (random.nextInt(4)) {
            case 0:
                now = slots.edge() + random.nextInt(600);
                break;
            case 1:
                now = next != Slots.NEVER ? next - 1 : slots.edge();
                break;
            case 2:
                now = next != Slots.NEVER ? next : slots.edge() + 1;
                break;
            default:
                now = random.nextInt(1000) == 0 ? somewhere() : slots.edge() + 100_000;
                break;
            }
            now = Math.min(now, LAST);
            slots.advance(now);
            Map<Long, List<Timeout>> past = pending.headMap(now, true);
            past.values().forEach(due::addAll);
            past.clear();
            assertEquals(now, slots.edge());
        }

        void check() {
            long next = slots.next();
            if (pending.isEmpty()) {
                assertEquals(Slots.NEVER, next);
            } else {
                assertTrue(next > slots.edge() && next <= pending.firstKey(),
                        () -> slots.edge() + " " + next + " " + pending.firstKey());
            }
        }

        void takeDue() {
            for (Timeout t : due) {
                assertSame(t, firstDue(slots));
                t.unlink();
            }
            due.clear();
            assertNull(firstDue(slots));
        }
    }

    @Test
    void behavesAsASortedMap() {
        for (long seed = 1; seed <= 30; seed++) {
            Model model = new Model(seed);
            for (int i = 0; i < 10_000; i++) {
                switch (model.random.nextInt(7)) {
                case 0:
                    model.remove();
                    break;
                case 1:
                    model.advance();
                    break;
                case 2:
                    model.addToOneThatIsThere();
                    break;
                case 3:
                    model.takeDue();
                    break;
                default:
                    model.add();
                    break;
                }
                model.check();
            }
        }
        System.out.println("# operations=300000");
    }

    /** Also one that is filed right after another one of its edge, or of another one. */
    @Test
    void anEdgeIsAtTheDeadlineOrAfterIt() {
        Slots slots = new Slots(10);
        Random random = new Random(1);
        for (int i = 0; i < 100_000; i++) {
            Timeout t = new Stack.Bottom(0);
            long deadline = 1 + random.nextInt(i % 100 < 50 ? 30 : 100_000);
            t.when = deadline;
            slots.file(t);
            assertEquals((deadline + 9) / 10, t.when);
            if (i % 7 == 0) {
                t.unlink();
                slots.next();
            }
        }
        slots.advance(10_000);
        long last = 0;
        for (Timeout t = firstDue(slots); t != null; t = firstDue(slots)) {
            assertTrue(t.when >= last);
            last = t.when;
        }
    }

    /** The worker sleeps once, however far the edge is. */
    @Test
    void oneTimeoutIsOneWakeUp() {
        for (long edge = 1; edge < LAST && edge > 0; edge = edge * 3 + 1) {
            Slots slots = slots();
            Timeout t = add(slots, edge);
            assertEquals(edge, slots.next());
            slots.advance(edge);
            assertSame(t, firstDue(slots));
            assertEquals(Slots.NEVER, slots.next());
        }
    }

    /** What was cancelled in the meantime costs a wake-up for each level at most. */
    @Test
    void aCancelledOneCostsFewWakeUps() {
        Slots slots = slots();
        long far = (1L << 40) + 12345;
        add(slots, far);
        add(slots, 1L << 40).unlink();
        List<Long> wakeUps = new ArrayList<>();
        while (firstDue(slots) == null) {
            slots.advance(slots.next());
            wakeUps.add(slots.edge());
        }
        assertEquals(far, slots.edge());
        assertTrue(wakeUps.size() <= 7, wakeUps::toString);
    }

    @Test
    void oneEdgeKeepsItsOrderFromEachLevel() {
        Slots slots = slots();
        long edge = (3 << 24) + (5 << 18) + (7 << 12) + (9 << 6) + 11;
        List<Timeout> all = new ArrayList<>();
        for (int digit = 5; digit >= 0; digit--) {
            /* All digits of the edge above this one: it is filed on the level of this one. */
            slots.advance(edge >> 6 * (digit + 1) << 6 * (digit + 1));
            all.add(add(slots, edge));
            all.add(add(slots, edge));
        }
        slots.advance(edge + 7);
        for (Timeout t : all) {
            assertSame(t, firstDue(slots));
        }
    }

    @Test
    void makesAllDue() {
        Slots slots = slots();
        Set<Timeout> all = new HashSet<>();
        slots.advance(1000);
        for (long edge = 1; edge < LAST && edge > 0; edge = edge * 2 + 1) {
            all.add(add(slots, edge));
        }
        slots.makeAllDue();
        assertEquals(Slots.NEVER, slots.next());
        for (Timeout t = firstDue(slots); t != null; t = firstDue(slots)) {
            assertTrue(all.remove(t));
        }
        assertEquals(Set.of(), all);
    }
}
