#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Can the KUnit tests fail? Puts faults into the engine and sees who notices.

usage: mutants.py

Each fault is one replacement in one file of a scratch copy of the project, which is
then built and tested by its kunit/run.sh. A fault is caught if a test fails or the
kernel complains; one that does not build, or with which nothing happens until the
run is given up, is not. From the environment:
  ONLY     which faults, a glob
  OPS      operations of the model test; default 100000
  SEED     where it starts; default 1
  TIMEOUT  seconds until a run counts as hung; default 60
The whole table is kept in build/mutants.txt. Exits with 0 if all were caught.
"""

import collections
import fcntl
import fnmatch
import os
import pathlib
import re
import shutil
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
CACHE = pathlib.Path(os.environ.get("HWHEEL_CACHE") or
                     os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")) + "/hwheel")
SCRATCH = CACHE / "mutants"
PARTS = ("Kbuild", "module", "kunit", "selftests/lib")
RESULTS = TOP / "build/mutants.txt"
SHOWN = 3

SETTINGS = {"OPS": "100000", "SEED": "1", "TIMEOUT": "60"}

SPLAT = re.compile(r"(BUG: .*|WARNING: .*|UBSAN: .*|ODEBUG: .*|INFO: (?:possible|task).*|"
                   r"Kernel panic.*)")
HARMLESS = "arch/um/drivers/virt-pci.c"
SUITE = re.compile(r"^    # Subtest: (\S+)")
CASE = re.compile(r"^    (not )?ok \d+ (\S+)")

Mutant = collections.namedtuple("Mutant", "name file old new")
Run = collections.namedtuple("Run", "failed complaints passed begun finished")


class Stale(Exception):
    """The table does not fit the engine any more."""


MUTANTS = [Mutant(*fields) for fields in (
    # Slots
    ("filed in the next slot", "slots.h",
     "return edge & slots->mask;",
     "return (edge + 1) & slots->mask;"),
    ("filed at the cursor", "worker.c",
     "max(cursor, wheel->reached) : cursor) + 1;",
     "max(cursor, wheel->reached) : cursor);"),
    ("lower bound raised by a later edge", "slots.h",
     "if (edge < slot->next) {",
     "if (true) {"),
    ("lower bound a turn late", "slots.h",
     "slot->next = edge;",
     "slot->next = edge + slots->mask + 1;"),
    ("lower bound kept when the slot is taken", "slots.c",
     "&slots->due);\n\thwheel_slots_set_empty(slots, i);",
     "&slots->due);\n\t__clear_bit(i, slots->occupied);"),
    ("lower bound kept when the slot gets empty", "slots.h",
     "\t\thwheel_slots_set_empty(slots, node->slot);",
     "\t\t__clear_bit(node->slot, slots->occupied);"),
    ("bit cleared early", "slots.h",
     "if (!next && hlist_empty(&slots->slot[node->slot].nodes))",
     "if (true)"),
    ("bit left set", "slots.h",
     "\t\thwheel_slots_set_empty(slots, node->slot);",
     "\t\tslots->slot[node->slot].next = HWHEEL_NO_EDGE;"),
    ("first occupied slot taken for the next edge", "slots.c",
     "if (best >> (level * slots->bits) <=\n\t\t    first + ((i - start) & slots->mask))",
     "if (best != HWHEEL_NO_EDGE)"),
    ("cursor left behind", "slots.c",
     "slots->cursor = max(slots->cursor, edge);",
     ";"),
    ("late by a tick", "slots.c",
     "if (next > edge) {",
     "if (next >= edge) {"),
    ("last slot not emptied by stop", "slots.c",
     "if (slots->emptied >= slots->levels * slots->stride)",
     "if (slots->emptied >= slots->mask)"),
    ("popped one's successor points to it", "slots.h",
     "\tif (first->next)\n\t\tfirst->next->pprev = &list->first;\n",
     ""),
    ("popped one seems to be filed", "slots.h",
     "\tfirst->pprev = NULL;\n",
     ""),
    ("unlinked one seems to be filed", "slots.h",
     "\tnode->link.pprev = NULL;\n",
     ""),

    # Levels
    ("higher levels not used", "slots.c",
     "!is_within_turn(slots, edge, level))",
     "false)"),
    ("highest level not used", "slots.c",
     "while (level < slots->levels - 1 &&",
     "while (level + 2 < slots->levels &&"),
    ("next edge of the lowest level only", "slots.c",
     "for (i = 1; i < slots->levels; i++) {",
     "for (i = 1; i < 1; i++) {"),
    ("search on higher levels begins behind the cursor's span", "slots.c",
     "return level ? slots->cursor >> (level * slots->bits) : slots->cursor + 1;",
     "return (slots->cursor >> (level * slots->bits)) + 1;"),
    ("crowd put off for good", "slots.c",
     "if (!hlist_empty(crowd))",
     "if (crowd != slots->crowds && !hlist_empty(crowd))"),
    ("one crowd after the other", "slots.c",
     "\t\tslots->crowd = (slots->crowd + 1) % HWHEEL_CROWDS;\n",
     "\t\tif (hlist_empty(crowd))\n\t\t\tslots->crowd = (slots->crowd + 1) % HWHEEL_CROWDS;\n"),
    ("a crowd too many replaces the first", "slots.c",
     "if (hlist_empty(crowd)) {",
     "if (true) {"),
    ("crowds not handed back", "slots.c",
     "hwheel_slots_pop_due(slots) ?: pop_crowd(slots);",
     "hwheel_slots_pop_due(slots) ?: (false ? pop_crowd(slots) : NULL);"),
    ("crowd not put off", "worker.c",
     "\t\thwheel_slots_put_off(&wheel->slots);\n",
     "\t\t;\n"),
    ("crowd worked off in one turn", "worker.c",
     "min(EXPIRE_MAX - *n, RESCHED_EVERY - *n % RESCHED_EVERY);",
     "EXPIRE_MAX - *n;"),
    ("expires without end", "worker.c",
     "min(EXPIRE_MAX - *n, RESCHED_EVERY - *n % RESCHED_EVERY);",
     "RESCHED_EVERY;"),
    ("sleeps while crowds wait", "worker.c",
     "\t\tif (n == EXPIRE_MAX)\n\t\t\treturn false;\n\t\tlook_at_some(wheel, crowd, &n);",
     "\t\tif (n == EXPIRE_MAX)\n\t\t\treturn true;\n\t\tlook_at_some(wheel, crowd, &n);"),
    ("one slot in each pass", "worker.c",
     "} while (next_slot(wheel));",
     "} while (false);"),
    ("due by the edge of the pass before", "worker.c",
     "wheel->due_word = hwheel_word(wheel->due, HWHEEL_FLAGS_MASK);\n"
     "\twheel->expiring = true;\n"
     "\tthrough = expire_slots(wheel);",
     "wheel->expiring = true;\n"
     "\tthrough = expire_slots(wheel);\n"
     "\twheel->due_word = hwheel_word(wheel->due, HWHEEL_FLAGS_MASK);"),
    ("levels beyond the clock", "wheel.c",
     "while (levels < params->levels && (edges >>= ilog2(slots)))",
     "while (levels < params->levels)"),
    ("any kind", "wheel.c",
     "return !(params->flags & HWHEEL_SIMPLE) || params->levels <= 1;",
     "return true;"),
    ("a turn is too long", "queue.c",
     "wheel->turn && delay > wheel->turn;",
     "wheel->turn && delay >= wheel->turn;"),
    ("more than a turn is not too long", "queue.c",
     "wheel->turn && delay > wheel->turn;",
     "false;"),
    ("more than a turn is not too far", "queue.c",
     "if (is_too_far(wheel, deadline))\n\t\treturn -ERANGE;\n\tif",
     "if (false)\n\t\treturn -ERANGE;\n\tif"),
    ("refreshed beyond a turn", "queue.c",
     "if (is_too_far(wheel, deadline))\n\t\treturn -ERANGE;\n\tchanged",
     "if (false)\n\t\treturn -ERANGE;\n\tchanged"),
    ("moves not counted", "worker.c",
     "local_inc(&wheel->counts.moved);",
     ";"),
    ("slots not counted", "worker.c",
     "local_inc(&wheel->counts.visited);",
     ";"),
    ("cancelled one looked at again", "queue.c",
     "this_cpu_inc(cpu->cancelled[0]);\n\t\thwheel_pending_end(wheel);",
     "wheel = READ_ONCE(timeout->wheel);\n\t\tthis_cpu_inc(cpu->cancelled[0]);\n"
     "\t\thwheel_pending_end(wheel);"),
    ("cancelled one looked at again, in full", "queue.c",
     "\tif (changed < 0)\n\t\treturn false;\n\tthis_cpu_inc",
     "\tif (changed < 0)\n"
     "\t\treturn false;\n"
     "\twheel = READ_ONCE(timeout->wheel);\n"
     "\tthis_cpu_inc"),

    # Time
    ("early by a tick", "worker.c",
     "hwheel_edge_reached(wheel, wheel->now);",
     "hwheel_edge_reached(wheel, wheel->now) + 1;"),
    ("clock read after the drain", "worker.c",
     "\t\tbegin_pass(wheel);\n\t\tdrained = hwheel_worker_drain(wheel);\n",
     "\t\tdrained = hwheel_worker_drain(wheel);\n\t\tbegin_pass(wheel);\n"),
    ("due by the edge after this one", "worker.c",
     "hwheel_edge_time(wheel, wheel->reached);",
     "hwheel_edge_time(wheel, wheel->reached + 1);"),
    ("edge rounded down", "wheel.h",
     "epoch / HWHEEL_DEADLINE_UNIT - (units - 1);",
     "epoch / HWHEEL_DEADLINE_UNIT;"),
    ("inverse of the tick rounded down", "wheel.h",
     "hwheel_fraction(BIT_ULL(bits), units) + 1;",
     "hwheel_fraction(BIT_ULL(bits), units);"),
    ("inverse of the tick of another scale", "wheel.h",
     "wheel->edge_shift = bits - 1;",
     "wheel->edge_shift = bits;"),
    ("inverse of a power of two wraps", "wheel.h",
     "fls64(units - 1);",
     "fls64(units);"),
    ("fraction one too small", "fraction.h",
     "if (rest >= d) {",
     "if (rest > d) {"),
    ("fraction cut off", "fraction.h",
     "i < 63;",
     "i < 62;"),
    ("deadline stored rounded down", "timeout.h",
     "return ALIGN(min(deadline_ns, HWHEEL_NEVER), HWHEEL_DEADLINE_UNIT);",
     "return ALIGN_DOWN(min(deadline_ns, HWHEEL_NEVER), HWHEEL_DEADLINE_UNIT);"),
    ("deadline beyond the clock wraps", "timeout.h",
     "return ALIGN(min(deadline_ns, HWHEEL_NEVER), HWHEEL_DEADLINE_UNIT);",
     "return ALIGN(deadline_ns, HWHEEL_DEADLINE_UNIT);"),
    ("delay beyond the clock wraps", "wheel.h",
     "&deadline) ? U64_MAX : deadline;",
     "&deadline) ? deadline : deadline;"),
    ("deadline before the epoch wraps", "wheel.h",
     "if (unlikely(since < 0))",
     "if (false)"),

    # The state word
    ("QUEUED not cleared", "timeout.h",
     "return atomic64_try_cmpxchg(word, &old, old - HWHEEL_QUEUED);",
     "return atomic64_try_cmpxchg(word, &old, old);"),
    ("acted on a word that changed", "timeout.h",
     "return atomic64_try_cmpxchg(word, &old, old - HWHEEL_QUEUED);",
     "return atomic64_xchg(word, old - HWHEEL_QUEUED), true;"),
    ("expired whatever the word is meanwhile", "timeout.h",
     "return atomic64_try_cmpxchg(word, old, hwheel_word_expired(*old));",
     "return atomic64_xchg(word, hwheel_word_expired(*old)), true;"),
    ("refresh loses QUEUED", "timeout.h",
     "(old & HWHEEL_QUEUED);\n\t\t*earlier",
     "0;\n\t\t*earlier"),
    ("refresh to earlier not queued", "timeout.h",
     "if (*earlier)",
     "if (false)"),
    ("refresh to later queued", "timeout.h",
     "if (*earlier)",
     "if (deadline != hwheel_word_deadline(old))"),
    ("cancel not queued", "timeout.h",
     "return word | HWHEEL_CANCELLED | HWHEEL_QUEUED;",
     "return word | HWHEEL_CANCELLED;"),
    ("cancelled whatever the word is meanwhile", "timeout.h",
     "bool queued)\n{\n\ts64 new = *old + HWHEEL_CANCELLED + (queued ? 0 : HWHEEL_QUEUED);\n\n"
     "\treturn atomic64_try_cmpxchg_release(word, old, new);",
     "bool queued)\n{\n\ts64 new = *old + HWHEEL_CANCELLED + (queued ? 0 : HWHEEL_QUEUED);\n\n"
     "\treturn atomic64_xchg(word, new), true;"),
    ("queued one is unused", "timeout.h",
     "(HWHEEL_FLAGS_MASK & ~HWHEEL_CANCELLED)",
     "((HWHEEL_FLAGS_MASK & ~HWHEEL_QUEUED) & ~HWHEEL_CANCELLED)"),
    ("closed one is unused", "timeout.h",
     "(HWHEEL_FLAGS_MASK & ~HWHEEL_CANCELLED)",
     "((HWHEEL_FLAGS_MASK & ~HWHEEL_CLOSED) & ~HWHEEL_CANCELLED)"),
    ("pending one is unused", "timeout.h",
     "(HWHEEL_FLAGS_MASK & ~HWHEEL_CANCELLED)) ==\n\t       HWHEEL_EXPIRED;",
     "(HWHEEL_FLAGS_MASK & ~HWHEEL_STATE_MASK)) ==\n\t       HWHEEL_PENDING;"),
    ("queued one is filed", "timeout.h",
     "return !(word & HWHEEL_FLAGS_MASK);",
     "return !(word & HWHEEL_STATE_MASK);"),
    ("closed one is released", "timeout.h",
     "return (word & HWHEEL_FLAGS_MASK) == HWHEEL_CANCELLED;",
     "return (word & ~HWHEEL_CLOSED & HWHEEL_FLAGS_MASK) == HWHEEL_CANCELLED;"),
    ("queued one is released", "timeout.h",
     "return (word & HWHEEL_FLAGS_MASK) == HWHEEL_CANCELLED;",
     "return (word & ~HWHEEL_QUEUED & HWHEEL_FLAGS_MASK) == HWHEEL_CANCELLED;"),
    ("armed before it was released", "timeout.h",
     "armable = has_release ? HWHEEL_ARMABLE_RELEASED :",
     "armable = has_release ? HWHEEL_ARMABLE :"),
    ("CLOSED not honoured by arm", "timeout.h",
     "armable & BIT(word & HWHEEL_FLAGS_MASK);",
     "armable & BIT(word & (HWHEEL_STATE_MASK | HWHEEL_QUEUED));"),
    ("CLOSED kept by open", "timeout.h",
     "atomic64_fetch_andnot_acquire(HWHEEL_CLOSED, word);",
     ";"),

    # Submission
    ("kick dropped", "queue.c",
     "if (READ_ONCE(wheel->deep) && xchg_relaxed(&wheel->deep, 0))",
     "if (false)"),
    ("limit off by one", "wheel.h",
     "&wheel->pending, 1, wheel->max_pending)",
     "&wheel->pending, 1, wheel->max_pending + 1)"),
    ("counted although it is busy", "queue.c",
     "\t\tif (!hwheel_word_may_arm(word, timeout->ops->release) ||\n",
     "\t\tif (!hwheel_pending_begin(wheel))\n"
     "\t\t\treturn -EAGAIN;\n"
     "\t\tif (!hwheel_word_may_arm(word, timeout->ops->release) ||\n"),
    ("armed before the release op was called", "queue.c",
     " ||\n\t\t    in_release(wheel, timeout, word))",
     ")"),
    ("limit not rolled back", "queue.c",
     "\t\thwheel_pending_undo(wheel);\n",
     "\t\t;\n"),
    ("armed although stopped", "queue.c",
     "if (READ_ONCE(wheel->special) & HWHEEL_STOPPING)\n\t\treturn",
     "if (false)\n\t\treturn"),
    ("still counted after cancel", "queue.c",
     "cancelled[changed]);\n\thwheel_pending_end(wheel);\n",
     "cancelled[changed]);\n"),
    ("rest of a batch lost", "queue.h",
     "*batch = node->next;",
     "*batch = NULL;"),

    # What nearly all need, in short
    ("simple wheel's deadlines not looked at", "wheel.h",
     "(HWHEEL_SIMPLE | HWHEEL_STOPPING | HWHEEL_LIMITED)\n",
     "(HWHEEL_STOPPING | HWHEEL_LIMITED)\n"),
    ("short arm although stopped", "wheel.h",
     "(HWHEEL_SIMPLE | HWHEEL_STOPPING | HWHEEL_LIMITED)\n",
     "(HWHEEL_SIMPLE | HWHEEL_LIMITED)\n"),
    ("short arm although limited", "wheel.h",
     "(HWHEEL_SIMPLE | HWHEEL_STOPPING | HWHEEL_LIMITED)\n",
     "(HWHEEL_SIMPLE | HWHEEL_STOPPING)\n"),
    ("limit not looked at", "wheel.c",
     "wheel->special |= HWHEEL_LIMITED;",
     ";"),
    ("short arm before the release op was called", "queue.c",
     "(!hwheel_word_is_released(word) || timeout->ops->release))",
     "!hwheel_word_is_released(word))"),
    ("short arm not counted", "queue.c",
     "\tthis_cpu_inc(cpu->armed);\n",
     ""),
    ("short arm not taken back from the count", "queue.c",
     "\t\tthis_cpu_dec(cpu->armed);\n",
     ""),
    ("short arm not submitted", "queue.c",
     "\tsubmit(wheel, cpu, timeout);\n\treturn 0;\n}\n\nstatic __always_inline int arm_at",
     "\treturn 0;\n}\n\nstatic __always_inline int arm_at"),
    ("short refresh of what is not filed", "queue.c",
     "!hwheel_word_is_filed(word) || new",
     "new"),
    ("short refresh to earlier", "queue.c",
     "new <= (u64)word ||",
     "false ||"),
    ("short refresh beyond the clock wraps", "queue.c",
     " ||\n\t    (s64)deadline_ns < 0)",
     ")"),
    ("short refresh beyond a turn", "queue.c",
     "unlikely(wheel->turn))",
     "false)"),
    ("short refresh rounded down", "queue.c",
     "u64 deadline = ALIGN(deadline_ns, HWHEEL_DEADLINE_UNIT);",
     "u64 deadline = ALIGN_DOWN(deadline_ns, HWHEEL_DEADLINE_UNIT);"),
    ("short refresh of a word that changed", "queue.c",
     "\tif (!atomic64_try_cmpxchg_release(&timeout->word, &word, new))\n\t\treturn -EAGAIN;\n",
     "\tatomic64_xchg(&timeout->word, new);\n"),
    ("short refresh not counted", "queue.c",
     "\tthis_cpu_inc(wheel->cpu->refreshed[0]);\n",
     ""),
    ("short cancel of what is not pending", "queue.c",
     "if (trace_timeout_cancel_enabled() ||\n\t    hwheel_word_state(word) != HWHEEL_PENDING)",
     "if (trace_timeout_cancel_enabled())"),
    ("short cancel still counted", "queue.c",
     "this_cpu_inc(cpu->cancelled[1]);\n\t\thwheel_pending_end(wheel);",
     "this_cpu_inc(cpu->cancelled[1]);"),
    ("short cancel of a queued one counts as filed", "queue.c",
     "this_cpu_inc(cpu->cancelled[0]);",
     "this_cpu_inc(cpu->cancelled[1]);"),
    ("short cancel of a filed one counts as queued", "queue.c",
     "this_cpu_inc(cpu->cancelled[1]);",
     "this_cpu_inc(cpu->cancelled[0]);"),
    ("short cancel not submitted", "queue.c",
     "hwheel_pending_end(wheel);\n\t\tsubmit(wheel, cpu, timeout);",
     "hwheel_pending_end(wheel);"),
    ("simple wheel is plain", "wheel.c",
     "wheel->plain = !wheel->turn && wheel->clock",
     "wheel->plain = wheel->clock"),
    ("wheel of another clock is plain", "wheel.c",
     "wheel->plain = !wheel->turn && wheel->clock == CLOCK_MONOTONIC;",
     "wheel->plain = !wheel->turn;"),

    # The worker
    ("unlink skipped on cancel", "worker.c",
     "\thwheel_slots_unlink(&wheel->slots, &timeout->node);\n\tif",
     "\tif (hwheel_word_state(word) != HWHEEL_CANCELLED)\n"
     "\t\thwheel_slots_unlink(&wheel->slots, &timeout->node);\n"
     "\tif"),
    ("cleared before acting", "worker.c",
     "\n"
     "\t\t/* As act(), which is for the rest of them */\n"
     "\t\tupdate(wheel, timeout, word, first);\n"
     "\t\tif (owes_release(timeout, word) ||\n"
     "\t\t    unlikely(!hwheel_word_acted(&timeout->word, word))) {",
     "\t\tbool acted = !owes_release(timeout, word) &&\n"
     "\t\t\t     hwheel_word_acted(&timeout->word, word);\n"
     "\n"
     "\t\tupdate(wheel, timeout, word, first);\n"
     "\t\tif (!acted) {"),
    ("not acted on again when it changed", "worker.c",
     "\t\tif (act(wheel, timeout, first))\n\t\t\treturn;",
     "\t\tif (act(wheel, timeout, first) || true)\n\t\t\treturn;"),
    ("not acted on at all when it changed", "worker.c",
     "unlikely(!hwheel_word_acted(&timeout->word, word))) {",
     "(hwheel_word_acted(&timeout->word, word), false)) {"),
    ("release owed to what is pending", "worker.c",
     "hwheel_word_state(word) != HWHEEL_PENDING &&\n\t       unlikely",
     "unlikely"),
    ("batch not written back for those who drain inside", "worker.c",
     "\t\t\twheel->batch = next;\n",
     ""),
    ("batch not read again after those who drained inside", "worker.c",
     "\t\t\tnext = wheel->batch;\n",
     ""),
    ("hurry forgotten by a drain in a callback", "worker.c",
     "if (n == DRAIN_MAX && wheel->depth)",
     "if (false)"),
    ("rest of a batch forgotten", "worker.c",
     "\twheel->batch = next;\n\treturn max - left;",
     "\treturn max - left;"),
    ("drains without end", "worker.c",
     "max = min(DRAIN_MAX - n, RESCHED_EVERY);",
     "max = RESCHED_EVERY;"),
    ("drains a few only", "worker.c",
     "if (some < max || n == DRAIN_MAX)",
     "if (some <= max)"),
    ("one that keeps changing not queued again", "worker.c",
     "\t\t\treturn;\n\trequeue(wheel, timeout);\n",
     "\t\t\treturn;\n"),
    ("one whose callback runs not queued again", "worker.c",
     "\t\trequeue(wheel, timeout);\n\t\treturn true;\n",
     "\t\treturn true;\n"),
    ("not filed again when the exchange failed", "worker.c",
     "if (expire(wheel, timeout, &word))",
     "if (expire(wheel, timeout, &word) || true)"),
    ("not filed again when not due", "worker.c",
     "\tfile(wheel, timeout, word, first_edge(wheel));\n\tlocal_inc",
     "\tlocal_inc"),
    ("expired while QUEUED", "worker.c",
     "return !(word & HWHEEL_QUEUED) && word <=",
     "return word <="),
    ("still counted after it expired", "worker.c",
     "\t\thwheel_pending_end(wheel);\n\t\tcount_lateness",
     "\t\tcount_lateness"),
    ("released twice", "worker.c",
     "\tif (acted)\n\t\thwheel_callback_call_timed(wheel, callback, timeout);\n",
     "\tif (acted)\n\t\tcallback(timeout), callback(timeout);\n"),
    ("not released", "worker.c",
     "\tif (acted)\n\t\thwheel_callback_call_timed(wheel, callback, timeout);\n",
     "\t(void)callback;\n"),
    ("released before QUEUED is cleared", "worker.c",
     "\tacted = hwheel_word_acted(&timeout->word, word);\n"
     "\tif (acted)\n"
     "\t\thwheel_callback_call_timed(wheel, callback, timeout);\n",
     "\tcallback(timeout);\n\tacted = hwheel_word_acted(&timeout->word, word);\n"),
    ("lists not looked at before sleep", "worker.c",
     "(READ_ONCE(wheel->deep) && hwheel_queue_empty(wheel))",
     "READ_ONCE(wheel->deep)"),
    ("deep not looked at before sleep", "worker.c",
     "(READ_ONCE(wheel->deep) && hwheel_queue_empty(wheel))",
     "hwheel_queue_empty(wheel)"),
    ("deep not published", "worker.c",
     "bool deep = edge > soon || wq_has_sleeper(&wheel->waiters);",
     "bool deep = false;"),
    ("deep left set", "worker.c",
     "\tif (deep)\n\t\tWRITE_ONCE(wheel->deep, 0);",
     ";"),
    ("lingers for ever", "worker.c",
     "u64 edge = linger ? soon : hwheel_slots_next(&wheel->slots);",
     "u64 edge = soon;"),
    ("does not linger", "worker.c",
     "u64 edge = linger ? soon : hwheel_slots_next(&wheel->slots);",
     "u64 edge = hwheel_slots_next(&wheel->slots);"),
    ("sleeps after a pass that did not get through", "worker.c",
     "if (through && drained < DRAIN_MAX)",
     "if (drained < DRAIN_MAX)"),
    ("sleeps with a batch left", "worker.c",
     "if (through && drained < DRAIN_MAX)",
     "if (through)"),
    ("stop not noticed before sleep", "worker.c",
     "if (!kthread_should_stop() && !READ_ONCE(wheel->urgent) &&",
     "if (!READ_ONCE(wheel->urgent) &&"),

    # Stop
    ("stop does not drain the lists", "wheel.c",
     "\tsynchronize_rcu();\n\thand_back_queued(stop);",
     "\tsynchronize_rcu();"),
    ("QUEUED handed back twice", "wheel.c",
     "if ((old & HWHEEL_QUEUED) != queued)",
     "if (false)"),
    ("still counted after stop", "wheel.c",
     "\t\thwheel_pending_end(wheel);\n\t\tstop->count++;",
     "\t\tstop->count++;"),
    ("still pending after stop", "wheel.c",
     "new |= HWHEEL_CANCELLED;",
     ";"),
    ("handed back while filed", "wheel.c",
     "\thwheel_slots_unlink(&wheel->slots, &timeout->node);\n\thwheel_callback_begin",
     "\thwheel_callback_begin"),
    ("stopped twice", "wheel.c",
     "if (!wheel->stopped)",
     "if (true)"),

    # cancel_sync
    ("cancel_sync does not wait for the callback", "sync.c",
     "!hwheel_callback_running(timeout->wheel, timeout) &&",
     "true &&"),
    ("cancel_sync does not wait for the worker", "sync.c",
     "return hwheel_word_settled(atomic64_read_acquire(&timeout->word)) &&\n",
     "return\n"),
    ("cancel_sync in a callback does not drain", "sync.c",
     "while (!close_and_look(timeout, &prevented))\n\t\tdrain",
     "while (close_and_look(timeout, &prevented), false)\n\t\tdrain"),
    ("cancel_sync in its own callback goes unnoticed", "sync.c",
     "return -EDEADLK;",
     "return 0;"),
    ("callbacks nest too deeply", "sync.c",
     "wheel->depth == HWHEEL_MAX_DEPTH)",
     "wheel->depth > HWHEEL_MAX_DEPTH)"),
    ("first of two who wait opens it", "sync.c",
     "if (is_last_closer(closer))",
     "if (true)"),
    ("another at the address of one whose callback runs", "callback.h",
     "if (wheel->running[i] == timeout)\n\t\t\tWRITE_ONCE(wheel->running[i], NULL);",
     ";"),
    ("another at the address of one that the executor runs", "executor.c",
     "if (runner && runner->timeout == timeout)\n\t\tWRITE_ONCE(runner->timeout, NULL);",
     ";"),
    ("release op called in a callback of the same timeout", "worker.c",
     "wheel->depth && hwheel_callback_running(wheel, timeout)",
     "false"),
    ("drain in a callback files it for the past", "worker.c",
     "wheel->expiring ? max(cursor, wheel->reached) : cursor",
     "cursor"),
    ("drain in a release op puts off what is due", "worker.c",
     "wheel->expiring ? max(cursor, wheel->reached) : cursor",
     "wheel->depth ? max(cursor, wheel->reached) : cursor"),
    ("urgent not set", "queue.c",
     "WRITE_ONCE(wheel->urgent, 1);",
     ";"),
    ("worker not hurried", "queue.c",
     "WRITE_ONCE(wheel->urgent, 1);\n\t\twake_up_process(wheel->worker);",
     "WRITE_ONCE(wheel->urgent, 1);"),
    ("waiters not woken by a drain", "worker.c",
     "\tif (n)\n\t\thwheel_wake_waiters(wheel);",
     ";"),
    ("waiters not woken by a callback", "callback.h",
     "[--wheel->depth], NULL);\n"
     "\tlock_map_release(&wheel->callbacks);\n"
     "\thwheel_wake_waiters(wheel);",
     "[--wheel->depth], NULL);\n\tlock_map_release(&wheel->callbacks);"),
    ("callback for ever under way", "callback.h",
     "smp_store_release(&wheel->running[--wheel->depth], NULL);",
     "--wheel->depth;"),

    # Rows of callbacks
    ("executor's wheel has rows", "worker.c",
     "return !wheel->executor && !wheel->max_pending &&",
     "return !wheel->max_pending &&"),
    ("limited wheel has rows", "worker.c",
     "return !wheel->executor && !wheel->max_pending &&",
     "return !wheel->executor &&"),
    ("owners who ask are in rows", "worker.c",
     "       !READ_ONCE(wheel->asks) &&\n",
     "       true &&\n"),
    ("nobody asks", "timeout.c",
     "WRITE_ONCE(wheel->asks, true);",
     ";"),
    ("expired in a row while QUEUED", "worker.c",
     "\tif (unlikely(word & HWHEEL_QUEUED))\n\t\treturn;\n",
     ""),
    ("expired in a row whenever", "worker.c",
     "if (unlikely((u64)word > wheel->due_word)) {",
     "if (false) {"),
    ("not entered in a row", "worker.c",
     "\thwheel_row_next(wheel, timeout);\n",
     ""),
    ("entered in a row after it expired", "worker.c",
     "\thwheel_row_next(wheel, timeout);\n"
     "\tif (unlikely(!hwheel_word_expire(&timeout->word, &word))) {\n"
     "\t\tlook_again(wheel, timeout);\n"
     "\t\treturn;\n"
     "\t}\n",
     "\tif (unlikely(!hwheel_word_expire(&timeout->word, &word))) {\n"
     "\t\tlook_again(wheel, timeout);\n"
     "\t\treturn;\n"
     "\t}\n"
     "\thwheel_row_next(wheel, timeout);\n"),
    ("entered after it expired", "worker.c",
     "\thwheel_callback_begin(wheel, timeout);\n"
     "\texpired = hwheel_word_expire(&timeout->word, word);\n",
     "\texpired = hwheel_word_expire(&timeout->word, word);\n"
     "\thwheel_callback_begin(wheel, timeout);\n"),
    ("not looked at again in a row when it changed", "worker.c",
     "\t\tlook_again(wheel, timeout);\n\t\treturn;",
     "\t\treturn;"),
    ("not counted in a row", "worker.c",
     "\tcount_lateness(wheel, word);\n\tcallback = ",
     "\tcallback = "),
    ("callbacks of a row not contained", "worker.c",
     "\tcallback = timeout->ops->expire;\n"
     "\thwheel_callback_call_timed(wheel, callback, timeout);\n",
     "\tcallback = timeout->ops->expire;\n\tcallback(timeout);\n"),
    ("clock not followed before a row", "worker.c",
     "\thwheel_clock_follow(wheel);\n\thwheel_row_begin(wheel);",
     "\thwheel_row_begin(wheel);"),
    ("waiters not woken in a row", "worker.c",
     "\thwheel_row_exchanged(wheel);\n",
     ""),
    ("waiters not woken by the end of a row", "callback.h",
     "[0], NULL);\n\tlock_map_release(&wheel->callbacks);\n\thwheel_wake_waiters(wheel);",
     "[0], NULL);\n\tlock_map_release(&wheel->callbacks);"),
    ("last of a row for ever under way", "callback.h",
     "\tsmp_store_release(&wheel->running[0], NULL);\n",
     ""),
    ("row leaves its depth", "callback.h",
     "\twheel->depth = 0;\n",
     ""),
    ("row is not a callback", "callback.h",
     "\twheel->depth = 1;\n",
     ""),

    # The executor
    ("callbacks run on the worker all the same", "worker.c",
     "\tif (wheel->executor)\n\t\treturn hand_over(wheel, timeout, word);\n",
     ""),
    ("handed over but not QUEUED", "timeout.h",
     "u64 new = hwheel_word_expired(*old) | HWHEEL_QUEUED;",
     "u64 new = hwheel_word_expired(*old);"),
    ("not started at the end of a pass", "worker.c",
     "\t\thwheel_executor_start(wheel);\n\t\tif (through",
     "\t\tif (through"),
    ("one runner only", "executor.c",
     "list_empty(&executor->handed) || i >= HWHEEL_RUNNERS",
     "list_empty(&executor->handed) || i >= 1"),
    ("runner does not start another", "executor.c",
     "\t\t*word = hwheel_word_begin(&timeout->word);\n\t\tstart_another(executor);",
     "\t\t*word = hwheel_word_begin(&timeout->word);"),
    ("callbacks of one timeout overlap", "executor.c",
     "\t\tif (!runner) {\n",
     "\t\tif (true) {\n"),
    ("blocked one forgotten", "executor.c",
     "\tlist_splice_init(&runner->blocked, &executor->handed);\n",
     "\tINIT_LIST_HEAD(&runner->blocked);\n"),
    ("runner stays busy", "executor.c",
     "__clear_bit(runner - executor->runners, executor->busy);",
     ";"),
    ("runner ends when others have their turn", "executor.c",
     "\tqueue_work(wheel->executor->queue, work);\n",
     ""),
    ("release op does not wait for the callback", "executor.c",
     "\t\trunner->owed = true;\n\tspin_unlock(&executor->lock);\n\treturn runner;",
     "\t\trunner->owed = false;\n\tspin_unlock(&executor->lock);\n\treturn false;"),
    ("release op is owed for ever", "executor.c",
     "\tif (runner->owed)\n",
     "\tif (false)\n"),
    ("release op is owed again", "executor.c",
     "\trunner->owed = false;\n",
     ""),
    ("nothing is taken back", "executor.c",
     "handed = hwheel_word_is_handed(atomic64_read(&timeout->word));",
     "handed = false;"),
    ("taken back, but not counted", "executor.c",
     "atomic_long_inc(&wheel->recalled);",
     ";"),
    ("taken back stays EXPIRED", "queue.c",
     "hwheel_word_recall(&timeout->word);",
     ";"),
    ("what is taken back is left on the list", "executor.c",
     "\tif (handed) {\n\t\tunlink_handed(timeout);\n",
     "\tif (handed) {\n"),
    ("links of a handed over one stay", "executor.c",
     "timeout->node = (struct hwheel_node) { };",
     ";"),
    ("running callback is not waited for", "executor.c",
     "== timeout)\n\t\t\treturn true;",
     "== timeout)\n\t\t\treturn false;"),
    ("own callback on the executor not known", "executor.c",
     "READ_ONCE(executor->runners[i].task) == current",
     "READ_ONCE(executor->runners[i].task) == NULL"),
    ("those who wait not woken by a runner", "executor.c",
     "\t\thwheel_wake_waiters(wheel);\n",
     ""),
    ("idle while runners are busy", "executor.c",
     " &&\n\t       bitmap_empty(executor->busy, HWHEEL_RUNNERS);",
     ";"),
    ("stop does not wait for the executor", "wheel.c",
     "\tfinish_executor(wheel);\n",
     ""),
    ("stop waits for the executor and does not drain", "wheel.c",
     "\t\thwheel_worker_drain(wheel);\n\t\twait_event",
     "\t\twait_event"),
    ("stop in a callback on the executor", "wheel.c",
     "hwheel_is_owner(wheel) || hwheel_executor_calls(wheel)",
     "hwheel_is_owner(wheel)"),
    ("release op on the worker waits without draining", "sync.c",
     "wait_event_timeout(wheel->waiters, is_settled(timeout), 1);",
     "wait_event(wheel->waiters, is_settled(timeout));"),
    ("runner not contained", "executor.c",
     "\thwheel_callback_call(wheel, callback, timeout);\n",
     "\tcallback(timeout);\n"),

    # Placement
    ("niceness not set", "worker.c",
     "set_user_nice(current, params->nice);",
     ";"),
    ("priority not set", "worker.c",
     "err = sched_setattr_nocheck(current, &attr);",
     ";"),
    ("CPUs not set", "worker.c",
     "err = set_cpus_allowed_ptr(current, params->cpus);",
     ";"),
    ("worker without a place stays", "worker.c",
     "\t\thwheel_worker_stop(wheel);\n\t\tput_task_struct(task);",
     ";"),
    ("any niceness", "wheel.c",
     "params->nice < MIN_NICE || params->nice > MAX_NICE",
     "params->nice < MIN_NICE"),
    ("niceness and priority", "wheel.c",
     "return !params->nice || !params->rt_priority;",
     "return true;"),

    # Containment
    ("preempt count stays", "callback.c",
     "preempt_count_set(0);",
     ";"),
    ("interrupts stay off", "callback.c",
     "local_irq_enable();",
     ";"),
    ("interrupts not looked at", "callback.h",
     "preempt_count() || irqs_disabled()",
     "preempt_count()"),
    ("preempt count not looked at", "callback.h",
     "preempt_count() || irqs_disabled()",
     "irqs_disabled()"),
    ("release op of a stop not contained", "wheel.c",
     "hwheel_callback_call(wheel, release, timeout);",
     "release(timeout);"),
    ("a tick is overlong", "callback.c",
     "wheel->now - since <= wheel->tick + TICK_NSEC",
     "wheel->now - since < wheel->tick / 2"),
    ("overlong ones not counted", "callback.c",
     "wheel->now - since <= wheel->tick + TICK_NSEC",
     "true"),
    ("nested ones timed on their own", "callback.c",
     "\tif (wheel->depth > 1)\n\t\treturn;\n",
     ""),
    ("clock not followed", "callback.h",
     "hwheel_clock_follow(struct hwheel *wheel)\n{\n\tif (hwheel_clock_is_old(wheel))",
     "hwheel_clock_follow(struct hwheel *wheel)\n{\n\tif (false)"),
    ("clock not followed before a release op", "worker.c",
     "\tif (!wheel->depth)\n",
     "\tif (false)\n"),
    ("clock followed before a nested release op", "worker.c",
     "\tif (!wheel->depth)\n",
     "\tif (true)\n"),

    # Statistics
    ("arm not taken back from the count", "wheel.h",
     "this_cpu_dec(wheel->cpu->armed);",
     ";"),
    ("later and earlier mixed up", "queue.c",
     "this_cpu_inc(wheel->cpu->refreshed[earlier]);",
     "this_cpu_inc(wheel->cpu->refreshed[!earlier]);"),
    ("queued and filed mixed up", "queue.c",
     "this_cpu_inc(wheel->cpu->cancelled[changed]);",
     "this_cpu_inc(wheel->cpu->cancelled[!changed]);"),
    ("handed back not counted", "wheel.c",
     "local_inc(&wheel->counts.handed_back);",
     ";"),
    ("passes not counted", "worker.c",
     "local_inc(&wheel->counts.passes);",
     ";"),
    ("wake-ups not counted", "worker.c",
     "local_inc(&wheel->counts.wakeups);",
     ";"),
    ("drained not counted", "worker.c",
     "local_add(n, &wheel->counts.drained);",
     ";"),
    ("most drained is the last", "stats.h",
     "\tif (n > local_read(max))\n",
     ""),
    ("lag counts the edge it slept for", "worker.c",
     "local_add(wheel->reached - planned, &wheel->counts.lag);",
     "local_add(wheel->reached - planned + 1, &wheel->counts.lag);"),
    ("lateness a tick too long", "worker.c",
     "hwheel_count_lateness(&wheel->counts, wheel->now_word - word,",
     "hwheel_count_lateness(&wheel->counts, wheel->now_word - word + 2 * wheel->tick,"),
    ("lateness rounded down", "stats.h",
     "hwheel_fraction(2 * HWHEEL_LATENESS_FINEST, tick) + 1;",
     "hwheel_fraction(2 * HWHEEL_LATENESS_FINEST, tick);"),
    ("last bin left out", "stats.c",
     "min(i, HWHEEL_LATENESS_BINS - 1U)",
     "min(i, HWHEEL_LATENESS_BINS - 2U)"),
    ("pending does not leave out what was handed back", "stats.c",
     "stats->expired + stats->handed_back +",
     "stats->expired +"),

    # Sets, of files
    ("offset of the other clock", "deadline.c",
     "set->offsets[wheel->clock == CLOCK_BOOTTIME]",
     "set->offsets[wheel->clock != CLOCK_BOOTTIME]"),
    ("offset added, not subtracted", "deadline.c",
     "return ns - min_t(u64, ns, offset);",
     "return ns + offset;"),
    ("far deadline of others wraps", "deadline.c",
     "return min(ns, HWHEEL_NEVER) + -offset;",
     "return ns + -offset;"),
    ("our past wraps for others", "deadline.c",
     "ns - min_t(u64, ns, -offset)",
     "ns + offset"),
    ("ids go on when they are used up", "table.h",
     "if (unlikely(!upper_32_bits(entry->id)))",
     "if (false)"),
    ("generation stays", "table.h",
     "\tentry->id += 1ULL << 32;\n",
     ""),
    ("stale id found", "table.h",
     "return entry && entry->id == id ? entry : NULL;",
     "return entry;"),
    ("ids to come said to have ended", "table.h",
     "upper_32_bits(id) - 1 < upper_32_bits(entry->id) - 1",
     "upper_32_bits(id) - 1 <= upper_32_bits(entry->id) - 1"),
    ("generation 0 said to have ended", "table.h",
     "upper_32_bits(id) - 1 < upper_32_bits(entry->id) - 1",
     "upper_32_bits(id) < upper_32_bits(entry->id)"),
    ("free one keeps its state", "table.h",
     "\tatomic64_set(&entry->timeout.word, HWHEEL_IDLE);\n",
     ""),
    ("free one stays stopped", "table.h",
     "\tentry->stopped = false;\n",
     ""),
    ("index beyond the table", "table.h",
     "if (page >= table->nr)",
     "if (page > table->nr)"),
    ("free ones lost when it grows", "table.c",
     "entries[n - 1].next = table->free;",
     "entries[n - 1].next = NULL;"),
    ("limit one too high", "table.c",
     "min_t(unsigned int, max - first, HWHEEL_TABLE_PER_PAGE)",
     "min_t(unsigned int, max - first + 1, HWHEEL_TABLE_PER_PAGE)"),
    ("grows beyond the limit", "table.c",
     "if (first >= max)",
     "if (first > max)"),
    ("what is about to be armed found", "set.c",
     "!entry || hwheel_timeout_state(&entry->timeout) == HWHEEL_IDLE",
     "!entry"),
    ("added to a stopped set", "set.c",
     "while (!set->stopped) {",
     "while (true) {"),
    ("armed in a stopped set", "set.c",
     "if (!set->stopped)\n\t\terr = hwheel_arm_at(",
     "if (true)\n\t\terr = hwheel_arm_at("),
    ("not dropped when it can't be armed", "set.c",
     "if (err) {\n\t\thwheel_set_drop_locked(entry);",
     "if (err) {"),
    ("configured after an id was made", "set.c",
     "!set->table.nr",
     "true"),
    ("configured twice", "set.c",
     "set->wheel == set->shared_wheel &&",
     "true &&"),
    ("any wheel's timeout found", "set.c",
     "entry && hwheel_of(&entry->timeout) == wheel",
     "entry"),
    ("stop does not hurry the worker", "set.c",
     "\t\t\thwheel_queue_hurry(set->wheel);",
     "\t\t\tcond_resched();"),
    ("stopped one is no event", "set.c",
     "WRITE_ONCE(set->stopping, set->stopping - 1);\n\t\tqueue_event_locked(entry);",
     "WRITE_ONCE(set->stopping, set->stopping - 1);\n\t\thwheel_set_drop_locked(entry);"),
    ("stop does not wait", "set.c",
     "return !READ_ONCE(set->stopping) && !(all && READ_ONCE(set->filed));",
     "return true;"),
    ("stop does not wait for what was cancelled before", "set.c",
     "return !READ_ONCE(set->stopping) && !(all && READ_ONCE(set->filed));",
     "return !READ_ONCE(set->stopping);"),
    ("stop leaves what is beyond a batch", "set.c",
     "return end < size;",
     "return false;"),
    ("close leaves what is pending", "set.c",
     "stop_all(set, false);",
     ""),
    ("end before all is read", "set.h",
     "smp_load_acquire(&set->stopped) && !READ_ONCE(set->counts.held)",
     "smp_load_acquire(&set->stopped)"),
    ("read events stay", "event.c",
     "hwheel_set_drop_locked(entries[i]);",
     ";"),
    ("part of an event is read", "event.c",
     "if (iov_iter_count(to) < sizeof(struct hwheel_event))",
     "if (!iov_iter_count(to))"),
    ("stopped events said to have expired", "event.c",
     "entry->stopped ? HWHEEL_EVENT_STOPPED :",
     "!entry ? HWHEEL_EVENT_STOPPED :"),

    # Deadlines of the owner's own, and of programs
    ("owner not asked", "worker.c",
     "if (timeout->ops->due && is_due(wheel, word))",
     "if (false)"),
    ("owner asked as long as he says later", "worker.c",
     "if (timeout->ops->due && is_due(wheel, word))",
     "while (timeout->ops->due && is_due(wheel, word))"),
    ("stored value counts again and again", "deadline.c",
     "entry->seen = ns;\n\tdeadline",
     "deadline"),
    ("stored value without bound", "deadline.c",
     "hwheel_deadline(timeout) + min(most, HWHEEL_STORE_MAX_NS);",
     "HWHEEL_NEVER;"),
    ("simple wheel outdone", "deadline.c",
     "u64 most = timeout->wheel->turn ?: HWHEEL_STORE_MAX_NS;",
     "u64 most = HWHEEL_STORE_MAX_NS;"),
    ("word on our own clock", "deadline.c",
     "tell(entry, ns ?: 1);",
     "tell(entry, hwheel_deadline(timeout));"),
    ("pending one's word may be 0", "deadline.c",
     "tell(entry, ns ?: 1);",
     "tell(entry, ns);"),
    ("stored value on our own clock", "deadline.c",
     "ns = hwheel_time_from_user(entry->set, timeout->wheel, ns);",
     ""),
    ("arm does not write the word", "set.c",
     "\ttell(entry);\n\tset->counts.pending++;",
     "\tset->counts.pending++;"),
    ("refresh does not write the word", "set.c",
     "\ttell(entry);\n\tset->counts.refreshed++;",
     "\tset->counts.refreshed++;"),
    ("word stays when it expired", "set.c",
     "tell_end(entry);\n\tqueue_event_locked(entry);",
     "queue_event_locked(entry);"),
    ("word stays when it is cancelled", "set.c",
     "tell_end(entry);\n\tset->counts.pending--;\n\tset->counts.cancelled++;",
     "set->counts.pending--;\n\tset->counts.cancelled++;"),
    ("word stays when it is stopped", "set.c",
     "tell_end(entry);\n\tentry->stopped = true;",
     "entry->stopped = true;"),
    ("query does not look at the word", "deadline.c",
     "if (!word || !hwheel_is_pending(&entry->timeout))",
     "if (true)"),
    ("query believes the word of an ended one", "deadline.c",
     "if (!word || !hwheel_is_pending(&entry->timeout))",
     "if (!word)"),
    ("words of ended ones told", "set.c",
     "if (hwheel_is_pending(&entry->timeout))\n\t\ttell(entry);",
     "tell(entry);"),
    ("array without end", "shared.c",
     "if (pages > DIV_ROUND_UP(max_words, HWHEEL_SHARED_PER_PAGE))",
     "if (pages > DIV_ROUND_UP(max_words, HWHEEL_SHARED_PER_PAGE) + 1)"),
)]


def setting(name):
    return os.environ.get(name) or SETTINGS[name]


def copy_project():
    """With the times of now, as objects of an earlier run may be younger than the sources."""
    shutil.rmtree(SCRATCH, ignore_errors=True)
    for part in PARTS:
        source, target = TOP / part, SCRATCH / part
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, copy_function=shutil.copy)
        else:
            shutil.copy(source, target)


def mutate(mutant, text):
    if text.count(mutant.old) != 1:
        raise Stale(f"{mutant.name}: found {text.count(mutant.old)} times in "
                    f"module/{mutant.file}:\n{mutant.old}")
    return text.replace(mutant.old, mutant.new)


def check_table():
    names = [mutant.name for mutant in MUTANTS]
    if len(set(names)) != len(names):
        raise Stale("two mutants of one name")
    for mutant in MUTANTS:
        mutate(mutant, (TOP / "module" / mutant.file).read_text(encoding="utf-8"))


def complaint(line):
    found = SPLAT.search(line)
    return found[1] if found and HARMLESS not in line else None


def next_case(order, suite, last):
    """Which case was running, if the last one that ended is known."""
    cases = order.get(suite, [])
    at = cases.index(last) + 1 if last in cases else 0
    return f"{suite}.{cases[at]}" if at < len(cases) else suite or "boot"


def read_log(text, order):
    """What failed, what the kernel complained about and where, and what passed."""
    failed, complaints, passed = [], {}, collections.defaultdict(list)
    begun = []
    suite = last = ""
    for line in text.splitlines():
        if match := SUITE.match(line):
            suite, last = match[1], ""
            begun.append(suite)
        elif match := CASE.match(line):
            last = match[2]
            if match[1]:
                failed.append(f"{suite}.{last}")
            else:
                passed[suite].append(last)
        elif what := complaint(line):
            complaints.setdefault(next_case(order, suite, last), what)
    return Run(failed, complaints, passed, begun, "reboot: System halted" in text)


def run_tests(order, suite=""):
    """Runs the scratch copy's tests; False if it did not build."""
    log = SCRATCH / "build/kunit.log"
    log.unlink(missing_ok=True)
    with open(SCRATCH / "output.txt", "w", encoding="utf-8") as output:
        subprocess.run([SCRATCH / "kunit/run.sh"], stdin=subprocess.DEVNULL, stdout=output,
                       stderr=subprocess.STDOUT, check=False,
                       env={**os.environ, **{name: setting(name) for name in SETTINGS},
                            "FILTER": suite})
    return log.exists() and read_log(log.read_text(encoding="utf-8", errors="replace"), order)


def catchers(run):
    caught = [f"{where} ({what})" for where, what in run.complaints.items()]
    return caught + [name for name in run.failed if name not in run.complaints]


def test(order):
    """Returns a verdict and who caught it."""
    run = run_tests(order)
    if not run:
        return "does not build", []
    caught = catchers(run)
    if caught or run.finished:
        return ("caught", caught) if caught else ("survived", [])
    # It hung, so that some suites did not have their turn.
    for suite in [suite for suite in order if suite not in run.begun]:
        caught = catchers(run_tests(order, suite))
        if caught:
            return "caught", caught
    return "only hangs", []


def test_in_scratch(mutant, order):
    path = SCRATCH / "module" / mutant.file
    text = path.read_text(encoding="utf-8")
    path.write_text(mutate(mutant, text), encoding="utf-8")
    try:
        return test(order)
    finally:
        path.write_text(text, encoding="utf-8")


def unmutated():
    """The order of all cases, once they have passed."""
    run = run_tests({})
    if not run or catchers(run) or not run.finished or not run.passed:
        sys.exit(f"mutants: the tests do not pass without a fault, see {SCRATCH}/output.txt")
    count = sum(map(len, run.passed.values()))
    print(f"  without a fault: {count} test cases pass", flush=True)
    return run.passed


def report(mutant, verdict, caught, file):
    print(f"{verdict:9} {mutant.name} ({mutant.file})", file=file)
    for name in caught:
        print(f"          {name}", file=file)


def show(mutant, verdict, caught):
    more = len(caught) - SHOWN
    shown = ", ".join(caught[:SHOWN]) + (f" and {more} more" if more > 0 else "")
    print(f"  {verdict:9} {mutant.name}" + (f": {shown}" if shown else ""), flush=True)


def test_all(mutants):
    RESULTS.parent.mkdir(exist_ok=True)
    good = 0
    with open(RESULTS, "w", encoding="utf-8") as results:
        copy_project()
        order = unmutated()
        for mutant in mutants:
            verdict, caught = test_in_scratch(mutant, order)
            good += verdict == "caught"
            show(mutant, verdict, caught)
            report(mutant, verdict, caught, results)
        summary = f"{good} of {len(mutants)} mutants caught"
        print(summary, file=results)
    print(summary)
    return good == len(mutants)


def main():
    only = os.environ.get("ONLY") or "*"
    mutants = [mutant for mutant in MUTANTS if fnmatch.fnmatch(mutant.name, only)]
    try:
        check_table()
    except Stale as error:
        sys.exit(f"mutants: the table is stale: {error}")
    if not mutants:
        sys.exit(f"mutants: none is called {only}")
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / "mutants.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return 0 if test_all(mutants) else 1


if __name__ == "__main__":
    sys.exit(main())
