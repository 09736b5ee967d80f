#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Can the KUnit tests fail? Puts faults into the module and sees which test notices.

usage: mutants.py [check]

check only looks whether each fault fits the module as it is.

Each fault is one replacement in one file of a scratch copy of the project, which is
then built and tested by its kunit/run.sh. A fault is caught if a test fails or the
kernel complains, and its run ends there, or if a test hangs with it. A fault that does not
build, or with which nothing happens, is not. Jobs work side by side, each with a scratch
copy and a build folder of its own. A litmus test judges a fault in a barrier (barriers.py), which
is caught if the outcome that must never happen does happen then. The fault is spare if another
barrier keeps the order. From the environment:
  ONLY     which faults, a glob
  JOBS     how many at a time; default: one for each CPU
  OPS      operations of the model test; default 100000
  SEED     where it starts; default 1
  TIMEOUT  seconds until a run counts as hung; default 60, or thrice what the run
           without a fault took. A run that prints nothing for twenty seconds, or five
           times the longest such time without a fault, counts as hung as well
The outcome is kept in build/mutants.txt, or with ONLY in build/mutants-only.txt, with the first
test that noticed. Exits with 0 if all were caught, but for those that are spare.
"""

import collections
import concurrent.futures
import contextlib
import fcntl
import fnmatch
import functools
import itertools
import os
import pathlib
import queue
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

import litmus
from barriers import BARRIERS

TOP = pathlib.Path(__file__).resolve().parent.parent
CACHE = pathlib.Path(os.environ.get("HWHEEL_CACHE") or
                     os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")) + "/hwheel")
SCRATCH = CACHE / "mutants"
PARTS = ("Kbuild", "module", "kunit", "selftests")
RESULTS = TOP / f"build/mutants{'-only' if os.environ.get('ONLY') else ''}.txt"

SETTINGS = {"OPS": "100000", "SEED": "1"}
PATIENCE = 60
SILENCE = 20
NO_SUITE = "none"

# The suites that call inline functions of a header themselves, beside that of its own name;
# race_test includes what is tested. In all others a fault in a header changes nothing, as no
# fault changes a structure.
INLINE_SUITES = {"edge.h": {"slots_test"}, "fraction.h": {"slots_test", "stats_test"},
                 "gfp.h": {"alloc_test"}, "callback.h": {"contain_test"}}
START = "Starting KUnit Kernel"
END = "reboot: System halted"

SPLAT = re.compile(r"(BUG: .*|WARNING: .*|UBSAN: .*|ODEBUG: .*|INFO: (?:possible|task).*|"
                   r"Kernel panic.*)")
ASKED_FOR = ("hwheel: a complaint is asked for", "hwheel: the complaint was asked for")
SUITE = re.compile(r"^    # Subtest: (\S+)")
CASE = re.compile(r"^    (not )?ok \d+ (\S+)")

# "model" is the line of a litmus test, or the reason why none is needed; else KUnit tests it.
Mutant = collections.namedtuple("Mutant", "name file old new model", defaults=("",))
Result = collections.namedtuple("Result", "mutant verdict catcher")


class Stale(Exception):
    """The table does not fit the module any more."""


MUTANTS = [Mutant(*fields) for fields in (
    # Memory
    ("executor's memory not charged", "engine/executor.c",
     "kzalloc(sizeof(*executor), gfp);",
     "kzalloc(sizeof(*executor), GFP_KERNEL);"),
    ("executor not told to be charged", "engine/wheel.c",
     "\t\t\t\t\t     gfp_of(params));\n\treturn err",
     "\t\t\t\t\t     GFP_KERNEL);\n\treturn err"),
    ("accounted memory not charged", "engine/gfp.h",
     "(GFP_KERNEL_ACCOUNT |",
     "(GFP_KERNEL |"),
    ("accounted memory may kill", "engine/gfp.h",
     " | __GFP_RETRY_MAYFAIL",
     ""),
    ("many slots initialised in a row", "engine/slots.c",
     "if (i % INIT_BATCH == 0)",
     "if (false)"),

    # Slots
    ("enqueued in the next slot", "engine/slots.h",
     "return edge & slots->mask;",
     "return (edge + 1) & slots->mask;"),
    ("enqueued at the cursor", "engine/worker.c",
     "wheel->first = wheel->slots.cursor + 1;",
     "wheel->first = wheel->slots.cursor;"),
    ("lower bound raised by a later edge", "engine/slots.h",
     "if (edge < slot->next) {",
     "if (true) {"),
    ("lower bound a revolution late", "engine/slots.h",
     "slot->next = edge;",
     "slot->next = edge + slots->mask + 1;"),
    ("lower bound kept when the slot is taken", "engine/slots.c",
     "&slots->due);\n\thwheel_slots_set_empty(slots, i);",
     "&slots->due);\n\t__clear_bit(i, slots->occupied);"),
    ("lower bound kept when the slot gets empty", "engine/slots.h",
     "\t\thwheel_slots_set_empty(slots, node->slot);",
     "\t\t__clear_bit(node->slot, slots->occupied);"),
    ("bit cleared early", "engine/slots.h",
     "if (!next && hlist_empty(&slots->slot[node->slot].nodes))",
     "if (true)"),
    ("bit left set", "engine/slots.h",
     "\t\thwheel_slots_set_empty(slots, node->slot);",
     "\t\tslots->slot[node->slot].next = HWHEEL_NO_EDGE;"),
    ("first occupied slot taken for the next edge", "engine/slots.c",
     "while ((next = hindmost(slots, &level)) < slots->found && next <= edge) {",
     "while ((next = hindmost(slots, &level)) < slots->found && next <= edge &&\n"
     "\t       slots->found == HWHEEL_NO_EDGE) {"),
    ("cursor left behind", "engine/slots.c",
     "slots->cursor = max(slots->cursor, next);",
     ";"),
    ("late by a tick", "engine/slots.c",
     "&& slots->found <= edge) {",
     "&& slots->found < edge) {"),
    ("search without bound", "engine/slots.c",
     "if (!steps--)",
     "if (false)"),
    ("search that was not finished has found nothing", "engine/slots.c",
     "next = searched ? edge : hwheel_slots_next(slots) - 1;",
     "next = edge;"),
    ("sleeps beyond where the search has come", "engine/slots.c",
     "return min(slots->found, hindmost(slots, &level));",
     "return slots->found;"),
    ("search looks at too few slots", "engine/slots.c",
     "search->left = min_t(u64, slots->mask + 1,",
     "search->left = min_t(u64, slots->mask,"),
    ("search begins again each time", "engine/slots.c",
     "if (search_is_over(slots))",
     "if (true)"),
    ("search misses what is enqueued behind it", "engine/slots.h",
     "\t\t\tslots->found = edge;\n",
     "\t\t\t;\n"),
    ("search finds what is gone", "engine/slots.c",
     "&& !is_occupied(slots, slots->found)",
     "&& false"),
    ("as long a search after each arm", "engine/worker.c",
     "1 + div_u64(cursor - wheel->searched, EDGES_PER_SEARCH);",
     "U64_MAX;"),
    ("searches never longer", "engine/worker.c",
     "1 + div_u64(cursor - wheel->searched, EDGES_PER_SEARCH);",
     "1;"),
    ("last slot not emptied by stop", "engine/slots.c",
     "if (slots->emptied >= slots->levels * slots->stride)",
     "if (slots->emptied >= slots->mask)"),
    ("popped one's successor points to it", "engine/slots.h",
     "\tif (first->next)\n\t\tfirst->next->pprev = &list->first;\n",
     ""),
    ("popped one seems to be enqueued", "engine/slots.h",
     "\tfirst->pprev = NULL;\n",
     ""),
    ("unlinked one seems to be enqueued", "engine/slots.h",
     "\tnode->link.pprev = NULL;\n",
     ""),

    # Levels
    ("higher levels not used", "engine/slots.c",
     "!is_within_revolution(slots, edge, level))",
     "false)"),
    ("highest level not used", "engine/slots.c",
     "while (level < slots->levels - 1 &&",
     "while (level + 2 < slots->levels &&"),
    ("next edge of the lowest level only", "engine/slots.c",
     "for (i = 1; i < slots->levels; i++) {",
     "for (i = 1; i < 1; i++) {"),
    ("search on higher levels begins behind the cursor's span", "engine/slots.c",
     "search->span = level ? slots->cursor >> shift : slots->cursor + 1;",
     "search->span = (slots->cursor >> shift) + 1;"),
    ("backlog put off for good", "engine/slots.c",
     "if (!hlist_empty(backlog))",
     "if (backlog != slots->backlogs && !hlist_empty(backlog))"),
    ("one backlog after the other", "engine/slots.c",
     "\t\tslots->backlog = (slots->backlog + 1) % HWHEEL_BACKLOGS;\n",
     "\t\tif (hlist_empty(backlog))\n\t\t\tslots->backlog = (slots->backlog + 1) % HWHEEL_BACKLOGS;\n"),
    ("a backlog too many replaces the first", "engine/slots.c",
     "if (hlist_empty(backlog)) {",
     "if (true) {"),
    ("backlogs not handed back", "engine/slots.c",
     "hwheel_slots_pop_due(slots) ?: pop_backlog(slots);",
     "hwheel_slots_pop_due(slots) ?: (false ? pop_backlog(slots) : NULL);"),
    ("backlog not put off", "engine/worker.c",
     "\t\thwheel_slots_put_off(&wheel->slots);\n",
     "\t\t;\n"),
    ("one backlog at a time", "engine/slots.c",
     "backlog < slots->backlogs + HWHEEL_BACKLOGS;",
     "backlog < slots->backlogs + 1;"),
    ("backlog worked off in one go", "engine/worker.c",
     "min(EXPIRE_MAX - *n, RESCHED_EVERY - *n % RESCHED_EVERY);",
     "EXPIRE_MAX - *n;"),
    ("expires without end", "engine/worker.c",
     "min(EXPIRE_MAX - *n, RESCHED_EVERY - *n % RESCHED_EVERY);",
     "RESCHED_EVERY;"),
    ("sleeps while backlogs wait", "engine/worker.c",
     "\t\tif (n == EXPIRE_MAX || hwheel_is_long(since))\n\t\t\treturn false;\n\t\tlook_at_some(wheel, backlog, &n);",
     "\t\tif (n == EXPIRE_MAX || hwheel_is_long(since))\n\t\t\treturn true;\n\t\tlook_at_some(wheel, backlog, &n);"),
    ("one slot in each pass", "engine/worker.c",
     "} while (next_slot(wheel));",
     "} while (false);"),
    ("due by the edge of the pass before", "engine/worker.c",
     "wheel->due_word = hwheel_word(wheel->due, HWHEEL_FLAGS_MASK);\n"
     "\twheel->first = wheel->reached + 1;\n"
     "\tthrough = expire_slots(wheel);",
     "wheel->first = wheel->reached + 1;\n"
     "\tthrough = expire_slots(wheel);\n"
     "\twheel->due_word = hwheel_word(wheel->due, HWHEEL_FLAGS_MASK);"),
    ("levels beyond the clock", "engine/wheel.c",
     "while (slots > 1 && levels < params->levels && (edges >>= ilog2(slots)))",
     "while (slots > 1 && levels < params->levels)"),
    ("levels of one slot", "engine/wheel.c",
     "while (slots > 1 && levels",
     "while (levels"),
    ("any kind", "engine/wheel.c",
     "return !(params->flags & HWHEEL_SIMPLE) || params->levels <= 1;",
     "return true;"),
    ("a revolution is too long", "engine/submit.c",
     "wheel->revolution && delay > wheel->revolution;",
     "wheel->revolution && delay >= wheel->revolution;"),
    ("more than a revolution is not too long", "engine/submit.c",
     "wheel->revolution && delay > wheel->revolution;",
     "false;"),
    ("more than a revolution is not too far", "engine/submit.c",
     "if (is_too_far(wheel, deadline))\n\t\treturn -ERANGE;\n\tif",
     "if (false)\n\t\treturn -ERANGE;\n\tif"),
    ("refreshed beyond a revolution", "engine/submit.c",
     "\tif (full && is_too_far(wheel, deadline))\n\t\treturn -ERANGE;\n",
     ""),
    ("moves not counted", "engine/worker.c",
     "local_inc(&wheel->counts.moved);",
     ";"),
    ("slots not counted", "engine/worker.c",
     "local_inc(&wheel->counts.visited);",
     ";"),
    ("cancelled one looked at again", "engine/submit.c",
     "\tthis_cpu_inc(cpu->cancelled[!queued]);\n\thwheel_pending_end(wheel);\n",
     "\twheel = READ_ONCE(timeout->wheel);\n\tthis_cpu_inc(cpu->cancelled[!queued]);\n"
     "\thwheel_pending_end(wheel);\n"),

    # Time
    ("early by a tick", "engine/worker.c",
     "hwheel_edge_reached(wheel, wheel->now);",
     "hwheel_edge_reached(wheel, wheel->now) + 1;"),
    ("clock read after the drain", "engine/worker.c",
     "\tbegin_pass(wheel);\n"
     "\tif (worker_drain_some(wheel, &wheel->lists))\n\t\t*drained = true;\n",
     "\tif (worker_drain_some(wheel, &wheel->lists))\n\t\t*drained = true;\n"
     "\tbegin_pass(wheel);\n"),
    ("late after a long drain", "engine/worker.c",
     "hwheel_slots_add_due(&wheel->slots, &timeout->node);",
     "hwheel_slots_enqueue(&wheel->slots, &timeout->node, wheel->slots.cursor + 1);"),
    ("put off by the drain that goes on", "engine/worker.c",
     "\twheel->first = first;\n\treturn through;",
     "\treturn through;"),
    ("due by the edge after this one", "engine/worker.c",
     "hwheel_edge_time(wheel, wheel->reached);",
     "hwheel_edge_time(wheel, wheel->reached + 1);"),
    ("edge rounded down", "engine/edge.h",
     "epoch / HWHEEL_DEADLINE_UNIT - (units - 1);",
     "epoch / HWHEEL_DEADLINE_UNIT;"),
    ("inverse of the tick rounded down", "engine/edge.h",
     "hwheel_fraction(BIT_ULL(bits), units) + 1;",
     "hwheel_fraction(BIT_ULL(bits), units);"),
    ("inverse of the tick of another scale", "engine/edge.h",
     "wheel->edge_shift = bits - 1;",
     "wheel->edge_shift = bits;"),
    ("inverse of a power of two wraps", "engine/edge.h",
     "fls64(units - 1);",
     "fls64(units);"),
    ("fraction one too small", "engine/fraction.h",
     "if (rest >= d) {",
     "if (rest > d) {"),
    ("fraction cut off", "engine/fraction.h",
     "i < 63;",
     "i < 62;"),
    ("deadline stored rounded down", "engine/state.h",
     "return ALIGN(min(deadline_ns, HWHEEL_NEVER), HWHEEL_DEADLINE_UNIT);",
     "return ALIGN_DOWN(min(deadline_ns, HWHEEL_NEVER), HWHEEL_DEADLINE_UNIT);"),
    ("deadline beyond the clock wraps", "engine/state.h",
     "return ALIGN(min(deadline_ns, HWHEEL_NEVER), HWHEEL_DEADLINE_UNIT);",
     "return ALIGN(deadline_ns, HWHEEL_DEADLINE_UNIT);"),
    ("delay beyond the clock wraps", "engine/edge.h",
     "&deadline) ? U64_MAX : deadline;",
     "&deadline) ? deadline : deadline;"),
    ("deadline before the epoch wraps", "engine/edge.h",
     "if (unlikely(since < 0))",
     "if (false)"),

    # The state word
    ("QUEUED not cleared", "engine/state.h",
     "return atomic64_try_cmpxchg(word, &old, old - HWHEEL_QUEUED);",
     "return atomic64_try_cmpxchg(word, &old, old);"),
    ("acted on a word that changed", "engine/state.h",
     "return atomic64_try_cmpxchg(word, &old, old - HWHEEL_QUEUED);",
     "return atomic64_xchg(word, old - HWHEEL_QUEUED), true;"),
    ("expired whatever the word is meanwhile", "engine/state.h",
     "return atomic64_try_cmpxchg(word, old, hwheel_word_expired(*old));",
     "return atomic64_xchg(word, hwheel_word_expired(*old)), true;"),
    ("refresh loses QUEUED", "engine/state.h",
     "(deadline, old & HWHEEL_FLAGS_MASK);",
     "(deadline, old & HWHEEL_CLOSED);"),
    ("refresh opens", "engine/state.h",
     "(deadline, old & HWHEEL_FLAGS_MASK);",
     "(deadline, old & HWHEEL_QUEUED);"),
    ("refresh to earlier not queued", "engine/state.h",
     "if (*earlier)",
     "if (false)"),
    ("refresh to later queued", "engine/state.h",
     "if (*earlier)",
     "if (deadline != hwheel_word_deadline(old))"),
    ("cancel not queued", "engine/state.h",
     "(queued ? 0 : HWHEEL_QUEUED)",
     "0"),
    ("cancelled whatever the word is meanwhile", "engine/state.h",
     "bool queued)\n{\n\ts64 new = *old + HWHEEL_CANCELLED + (queued ? 0 : HWHEEL_QUEUED);\n\n"
     "\treturn atomic64_try_cmpxchg_release(word, old, new);",
     "bool queued)\n{\n\ts64 new = *old + HWHEEL_CANCELLED + (queued ? 0 : HWHEEL_QUEUED);\n\n"
     "\treturn atomic64_xchg(word, new), true;"),
    ("queued one is unused", "engine/state.h",
     "(HWHEEL_FLAGS_MASK & ~HWHEEL_CANCELLED)",
     "((HWHEEL_FLAGS_MASK & ~HWHEEL_QUEUED) & ~HWHEEL_CANCELLED)"),
    ("closed one is unused", "engine/state.h",
     "(HWHEEL_FLAGS_MASK & ~HWHEEL_CANCELLED)",
     "((HWHEEL_FLAGS_MASK & ~HWHEEL_CLOSED) & ~HWHEEL_CANCELLED)"),
    ("pending one is unused", "engine/state.h",
     "(HWHEEL_FLAGS_MASK & ~HWHEEL_CANCELLED)) ==\n\t       HWHEEL_EXPIRED;",
     "(HWHEEL_FLAGS_MASK & ~HWHEEL_STATE_MASK)) ==\n\t       HWHEEL_PENDING;"),
    ("queued one is enqueued", "engine/state.h",
     "return !(word & HWHEEL_FLAGS_MASK);",
     "return !(word & HWHEEL_STATE_MASK);"),
    ("closed one is released", "engine/state.h",
     "return (word & HWHEEL_FLAGS_MASK) == HWHEEL_CANCELLED;",
     "return (word & ~HWHEEL_CLOSED & HWHEEL_FLAGS_MASK) == HWHEEL_CANCELLED;"),
    ("queued one is released", "engine/state.h",
     "return (word & HWHEEL_FLAGS_MASK) == HWHEEL_CANCELLED;",
     "return (word & ~HWHEEL_QUEUED & HWHEEL_FLAGS_MASK) == HWHEEL_CANCELLED;"),
    ("armed before it was released", "engine/state.h",
     "armable = has_release ? HWHEEL_ARMABLE_RELEASED :",
     "armable = has_release ? HWHEEL_ARMABLE :"),
    ("CLOSED not honoured by arm", "engine/state.h",
     "armable & BIT(word & HWHEEL_FLAGS_MASK);",
     "armable & BIT(word & (HWHEEL_STATE_MASK | HWHEEL_QUEUED));"),
    ("CLOSED kept by open", "engine/state.h",
     "atomic64_fetch_andnot_acquire(HWHEEL_CLOSED, word);",
     ";"),

    # Submission
    ("kick dropped", "engine/submit.c",
     "if (READ_ONCE(wheel->idle) && xchg_relaxed(&wheel->idle, 0))",
     "if (false)"),
    ("on another clock than the flag says", "engine/wheel.c",
     "params->flags & HWHEEL_BOOTTIME ? CLOCK_BOOTTIME",
     "!(params->flags & HWHEEL_BOOTTIME) ? CLOCK_BOOTTIME"),
    ("limit off by one", "engine/wheel.h",
     "&wheel->pending, 1, wheel->max_pending)",
     "&wheel->pending, 1, wheel->max_pending + 1)"),
    ("counted although it is busy", "engine/submit.c",
     "\tif (!hwheel_word_may_arm(word, timeout->ops->release) ||\n",
     "\tif (!hwheel_pending_begin(wheel))\n\t\treturn -EDQUOT;\n"
     "\tif (!hwheel_word_may_arm(word, timeout->ops->release) ||\n"),
    ("armed before the release op was called", "engine/submit.c",
     " ||\n\t    in_release(wheel, timeout, word))",
     ")"),
    ("limit not rolled back", "engine/submit.c",
     "\t\tif (full)\n\t\t\thwheel_pending_end(wheel);\n\t}\n",
     "\t}\n"),
    ("arm not taken back from the count", "engine/submit.c",
     "\t\tthis_cpu_dec(cpu->armed);\n",
     ""),
    ("armed although stopped", "engine/submit.c",
     "if (READ_ONCE(wheel->special) & HWHEEL_STOPPING)\n\t\treturn",
     "if (false)\n\t\treturn"),
    ("still counted after cancel", "engine/submit.c",
     "cancelled[!queued]);\n\thwheel_pending_end(wheel);\n",
     "cancelled[!queued]);\n"),
    ("rest of a batch lost", "engine/submit.h",
     "*list = node->next;",
     "*list = NULL;"),

    # What nearly all need, in short
    ("simple wheel's deadlines not looked at", "engine/wheel.h",
     "(HWHEEL_SIMPLE | HWHEEL_STOPPING | HWHEEL_LIMITED)\n",
     "(HWHEEL_STOPPING | HWHEEL_LIMITED)\n"),
    ("quick arm although stopped", "engine/wheel.h",
     "(HWHEEL_SIMPLE | HWHEEL_STOPPING | HWHEEL_LIMITED)\n",
     "(HWHEEL_SIMPLE | HWHEEL_LIMITED)\n"),
    ("quick arm although limited", "engine/wheel.h",
     "(HWHEEL_SIMPLE | HWHEEL_STOPPING | HWHEEL_LIMITED)\n",
     "(HWHEEL_SIMPLE | HWHEEL_STOPPING)\n"),
    ("limit not looked at", "engine/wheel.c",
     "wheel->special |= HWHEEL_LIMITED;",
     ";"),
    ("quick arm before the release op was called", "engine/submit.c",
     "(hwheel_word_is_released(word) && !timeout->ops->release)",
     "hwheel_word_is_released(word)"),
    ("arm not counted", "engine/submit.c",
     "\tthis_cpu_inc(cpu->armed);\n",
     ""),
    ("arm not submitted", "engine/submit.c",
     "\tsubmit(wheel, cpu, timeout);\n\treturn 0;\n}\n\nstatic noinline int arm(",
     "\treturn 0;\n}\n\nstatic noinline int arm("),
    ("quick refresh of what is not enqueued", "engine/submit.c",
     "!hwheel_word_is_enqueued(word) || new",
     "new"),
    ("quick refresh to earlier", "engine/submit.c",
     "new <= (u64)word ||",
     "false ||"),
    ("quick refresh beyond the clock wraps", "engine/submit.c",
     " || (s64)deadline_ns < 0 ||",
     " ||"),
    ("quick refresh beyond a revolution", "engine/submit.c",
     "unlikely(wheel->revolution))",
     "false)"),
    ("quick refresh rounded down", "engine/submit.c",
     "hwheel_word(ALIGN(deadline_ns",
     "hwheel_word(ALIGN_DOWN(deadline_ns"),
    ("quick refresh of a word that changed", "engine/submit.c",
     " ||\n\t    !atomic64_try_cmpxchg_release(&timeout->word, &word, new))\n"
     "\t\treturn -EAGAIN;\n",
     ")\n\t\treturn -EAGAIN;\n\tatomic64_xchg(&timeout->word, new);\n"),
    ("refresh not counted", "engine/submit.c",
     "\tthis_cpu_inc(wheel->cpu->refreshed[earlier]);\n",
     ""),
    ("cancel of what is not pending", "engine/submit.c",
     "\t\tif (hwheel_word_state(word) != HWHEEL_PENDING)\n\t\t\treturn -ENOENT;\n",
     ""),
    ("queued one cancelled as enqueued", "engine/submit.c",
     "cancel_from(wheel, timeout, &word, true, full)",
     "cancel_from(wheel, timeout, &word, false, full)"),
    ("enqueued one cancelled as queued", "engine/submit.c",
     "cancel_from(wheel, timeout, &word, false, full)",
     "cancel_from(wheel, timeout, &word, true, full)"),
    ("cancel not submitted", "engine/submit.c",
     "\tif (!queued)\n\t\tsubmit(wheel, cpu, timeout);\n",
     ""),
    ("simple wheel is plain", "engine/wheel.c",
     "wheel->plain = !wheel->revolution && wheel->clock",
     "wheel->plain = wheel->clock"),
    ("wheel of another clock is plain", "engine/wheel.c",
     "wheel->plain = !wheel->revolution && wheel->clock == CLOCK_MONOTONIC;",
     "wheel->plain = !wheel->revolution;"),

    # The worker
    ("unlink skipped on cancel", "engine/worker.c",
     "\thwheel_slots_unlink(&wheel->slots, &timeout->node);\n\tif",
     "\tif (hwheel_word_state(word) != HWHEEL_CANCELLED)\n"
     "\t\thwheel_slots_unlink(&wheel->slots, &timeout->node);\n"
     "\tif"),
    ("cleared before acting", "engine/worker.c",
     "\n\thwheel_slots_unlink(&wheel->slots, &timeout->node);\n"
     "\tif (hwheel_word_state(word) == HWHEEL_PENDING)\n"
     "\t\tworker_enqueue(wheel, timeout, word, first, late);\n"
     "\telse if (unlikely(timeout->ops->release))\n"
     "\t\treturn full && worker_release(wheel, timeout, word);\n"
     "\treturn worker_acted(timeout, word);\n",
     "\tbool release = hwheel_word_state(word) != HWHEEL_PENDING && timeout->ops->release;\n"
     "\tbool acted = !release && worker_acted(timeout, word);\n\n"
     "\thwheel_slots_unlink(&wheel->slots, &timeout->node);\n"
     "\tif (hwheel_word_state(word) == HWHEEL_PENDING)\n"
     "\t\tworker_enqueue(wheel, timeout, word, first, late);\n\telse if (release)\n"
     "\t\treturn full && worker_release(wheel, timeout, word);\n\treturn acted;\n"),
    ("not acted on again when it changed", "engine/worker.c",
     "\t\tif (worker_act(wheel, timeout, wheel->first, true, true))\n",
     "\t\tif (worker_act(wheel, timeout, wheel->first, true, true) || true)\n"),
    ("not acted on at all when it changed", "engine/worker.c",
     "\treturn worker_acted(timeout, word);\n}\n",
     "\tworker_acted(timeout, word);\n\treturn true;\n}\n"),
    ("release owed to what is pending", "engine/worker.c",
     "\telse if (unlikely(timeout->ops->release))\n\t\treturn full &&",
     "\tif (unlikely(timeout->ops->release))\n\t\treturn full &&"),
    ("batch not written back for those who drain inside", "engine/worker.c",
     "\t\t\twheel->taken = next;\n",
     ""),
    ("batch not read again after those who drained inside", "engine/worker.c",
     "\t\t\tnext = wheel->taken;\n",
     ""),
    ("kick forgotten by a drain in a callback", "engine/worker.c",
     "if (!is_drained(wheel, lists))",
     "if (false)"),
    ("rest of a batch forgotten", "engine/worker.c",
     "\twheel->taken = next;\n\treturn max - left;",
     "\treturn max - left;"),
    ("drains without end", "engine/worker.c",
     "n += worker_drain_batch(wheel, lists, min(DRAIN_MAX - n, RESCHED_EVERY));",
     "n += worker_drain_batch(wheel, lists, RESCHED_EVERY);"),
    ("drains a few only", "engine/worker.c",
     "if (is_drained(wheel, *lists) || n == DRAIN_MAX ||\n\t\t    hwheel_is_long(since))",
     "if (true)"),
    ("drains however long it takes", "engine/worker.c",
     "if (is_drained(wheel, *lists) || n == DRAIN_MAX ||\n\t\t    hwheel_is_long(since))",
     "if (is_drained(wheel, *lists) || n == DRAIN_MAX)"),
    ("drain begins again before all was drained", "engine/worker.c",
     "\tif (is_drained(wheel, wheel->lists)) {\n\t\twheel->first",
     "\tif (true) {\n\t\twheel->first"),
    ("RCU Tasks has to wait", "engine/worker.c",
     "cond_resched_tasks_rcu_qs();",
     "cond_resched();"),
    ("expires however long it takes", "engine/wheel.h",
     "return time_after(jiffies, since + HWHEEL_PART_MAX);",
     "return false;"),
    ("slow callbacks in a row", "engine/worker.c",
     "\t\tif (!look_at(wheel, timeout_of(node), full))\n\t\t\tbreak;\n",
     "\t\tlook_at(wheel, timeout_of(node), full);\n"),
    ("slow due op not noticed", "engine/worker.c",
     "\t\treturn worker_call(wheel, timeout, word, full) && quick;\n",
     "\t\treturn worker_call(wheel, timeout, word, full);\n"),
    ("others don't run after a slow callback", "engine/worker.c",
     "% RESCHED_EVERY == 0 || since != wheel->jiffies)",
     "% RESCHED_EVERY == 0)"),
    ("slow release ops in a row", "engine/worker.c",
     "\t\t\t\tmax -= left - 1;\n\t\t\t\tleft = 1;\n",
     ""),
    ("one that keeps changing not queued again", "engine/worker.c",
     "\tworker_requeue(wheel, timeout);\n\treturn since != wheel->jiffies;\n",
     "\treturn since != wheel->jiffies;\n"),
    ("one whose callback runs not queued again", "engine/worker.c",
     "\t\tworker_requeue(wheel, timeout);\n\t\treturn true;\n",
     "\t\treturn true;\n"),
    ("not enqueued again when the exchange failed", "engine/worker.c",
     "\t\t\tcontinue;\n\t\tcount_lateness",
     "\t\t\treturn quick;\n\t\tcount_lateness"),
    ("not enqueued again when not due", "engine/worker.c",
     "\tworker_enqueue(wheel, timeout, word, wheel->first, false);\n\tlocal_inc",
     "\tlocal_inc"),
    ("expired while QUEUED", "engine/worker.c",
     "return !(word & HWHEEL_QUEUED) && word <=",
     "return word <="),
    ("still counted after it expired", "engine/worker.c",
     "\tif (full)\n\t\thwheel_pending_end(wheel);\n\thwheel_batch_exchanged(wheel);\n",
     "\thwheel_batch_exchanged(wheel);\n"),
    ("released twice", "engine/worker.c",
     "\tif (done)\n\t\thwheel_callback_call_timed(wheel, callback, timeout);\n",
     "\tif (done)\n\t\tcallback(timeout), callback(timeout);\n"),
    ("not released", "engine/worker.c",
     "\tif (done)\n\t\thwheel_callback_call_timed(wheel, callback, timeout);\n",
     "\t(void)callback;\n"),
    ("released before QUEUED is cleared", "engine/worker.c",
     "\tdone = worker_acted(timeout, word);\n"
     "\tif (done)\n"
     "\t\thwheel_callback_call_timed(wheel, callback, timeout);\n",
     "\tcallback(timeout);\n\tdone = worker_acted(timeout, word);\n"),
    ("lists not looked at before sleep", "engine/worker.c",
     "(READ_ONCE(wheel->idle) && hwheel_submit_empty(wheel))",
     "READ_ONCE(wheel->idle)"),
    ("idle not looked at before sleep", "engine/worker.c",
     "(READ_ONCE(wheel->idle) && hwheel_submit_empty(wheel))",
     "hwheel_submit_empty(wheel)"),
    ("idle not published", "engine/worker.c",
     "bool idle = edge > soon || wheel->kicked;",
     "bool idle = false;"),
    ("lingers while somebody waits", "engine/worker.c",
     "bool idle = edge > soon || wheel->kicked;",
     "bool idle = edge > soon;"),
    ("idle left set", "engine/worker.c",
     "\tif (idle)\n\t\tWRITE_ONCE(wheel->idle, 0);",
     ";"),
    ("lingers for ever", "engine/worker.c",
     "u64 edge = linger ? soon : next_edge(wheel);",
     "u64 edge = soon;"),
    ("does not linger", "engine/worker.c",
     "u64 edge = linger ? soon : next_edge(wheel);",
     "u64 edge = hwheel_slots_next(&wheel->slots);"),
    ("sleeps after a pass that did not get through", "engine/worker.c",
     "return through && is_drained(wheel, wheel->lists);",
     "return is_drained(wheel, wheel->lists);"),
    ("sleeps with a batch left", "engine/worker.c",
     "return through && is_drained(wheel, wheel->lists);",
     "return through;"),
    ("stop not noticed before sleep", "engine/worker.c",
     "if (!kthread_should_stop() && !READ_ONCE(wheel->urgent) &&",
     "if (!READ_ONCE(wheel->urgent) &&"),

    # Stop
    ("stop does not drain the lists", "engine/stop.c",
     "\tsynchronize_rcu();\n\thand_back_queued(stop);",
     "\tsynchronize_rcu();"),
    ("QUEUED handed back twice", "engine/stop.c",
     "if ((old & HWHEEL_QUEUED) != queued)",
     "if (false)"),
    ("still counted after stop", "engine/stop.c",
     "\t\thwheel_pending_end(wheel);\n\t\tstop->count++;",
     "\t\tstop->count++;"),
    ("still pending after stop", "engine/stop.c",
     "new |= HWHEEL_CANCELLED;",
     ";"),
    ("handed back while enqueued", "engine/stop.c",
     "\thwheel_slots_unlink(&wheel->slots, &timeout->node);\n\thwheel_callback_begin",
     "\thwheel_callback_begin"),
    ("stopped twice", "engine/stop.c",
     "if (!atomic_xchg(&wheel->stopping, 1))",
     "if (true)"),
    ("second stop does not wait for the first", "engine/stop.c",
     "\telse\n\t\twait_for_completion(&wheel->stopped);\n",
     ""),

    # cancel_sync
    ("cancel_sync does not wait for the callback", "engine/cancel_sync.c",
     "return hwheel_callback_running(timeout->wheel, timeout) ||\n",
     "return\n"),
    ("cancel_sync does not wait for the worker", "engine/cancel_sync.c",
     "return hwheel_word_settled(atomic64_read_acquire(&timeout->word)) &&\n",
     "return\n"),
    ("cancel_sync in a callback does not drain", "engine/cancel_sync.c",
     "while (!close_and_look(timeout, &prevented))\n\t\tcancel_sync_drain",
     "while (close_and_look(timeout, &prevented), false)\n\t\tcancel_sync_drain"),
    ("cancel_sync in its own callback goes unnoticed", "engine/cancel_sync.c",
     "return -EDEADLK;",
     "return 0;"),
    ("callbacks nest too deeply", "engine/cancel_sync.c",
     "wheel->depth == HWHEEL_MAX_DEPTH)",
     "wheel->depth > HWHEEL_MAX_DEPTH)"),
    ("first of two who wait opens it", "engine/cancel_sync.c",
     "if (is_last_closer(closer))",
     "if (true)"),
    ("second of two who wait opens it for the first", "engine/cancel_sync.c",
     "\t       !closes(rb_next(&closer->node), closer->timeout);",
     "\t       true;"),
    ("closers looked through one by one", "engine/cancel_sync.c",
     "\treturn !closes(rb_prev(&closer->node), closer->timeout) &&\n"
     "\t       !closes(rb_next(&closer->node), closer->timeout);",
     "\tconst struct rb_node *node = rb_first(&closer->timeout->wheel->closers);\n"
     "\tunsigned int n = 0;\n"
     "\n"
     "\tfor (; node; node = rb_next(node))\n"
     "\t\tn += closes(node, closer->timeout);\n"
     "\treturn n == 1;"),
    ("one without an expire op armed", "engine/timeout.c",
     "\t\tatomic64_set(&timeout->word, HWHEEL_IDLE | HWHEEL_CLOSED);",
     "\t\t;"),
    ("one without an expire op opened", "engine/cancel_sync.c",
     "if (timeout->ops->expire)",
     "if (true)"),
    ("release op called in a callback of the same timeout", "engine/worker.c",
     "wheel->depth && hwheel_callback_running(wheel, timeout)",
     "false"),
    ("drain in a callback enqueues it for the past", "engine/worker.c",
     "\twheel->first = wheel->reached + 1;\n",
     ""),
    ("urgent not set", "engine/submit.c",
     "WRITE_ONCE(wheel->urgent, 1);",
     ";"),
    ("worker not kicked", "engine/submit.c",
     "WRITE_ONCE(wheel->urgent, 1);\n\t\twake_up_process(wheel->worker);",
     "WRITE_ONCE(wheel->urgent, 1);"),
    ("a waiter for a callback kicks the worker", "engine/cancel_sync.c",
     "& HWHEEL_QUEUED &&\n\t       !is_in_callback(timeout);",
     "& HWHEEL_QUEUED;"),
    ("waiters not woken by a drain", "engine/worker.c",
     "\t\twheel->kicked = false;\n\t\thwheel_wake_waiters(wheel);",
     "\t\twheel->kicked = false;"),
    ("waiters not woken by a callback", "engine/callback.h",
     "[--wheel->depth], NULL);\n"
     "\tlock_map_release(&wheel->callbacks);\n"
     "\thwheel_wake_waiters(wheel);",
     "[--wheel->depth], NULL);\n\tlock_map_release(&wheel->callbacks);"),
    ("callback for ever under way", "engine/callback.h",
     "smp_store_release(&wheel->running[--wheel->depth], NULL);",
     "--wheel->depth;"),

    # Rows of callbacks
    ("executor's wheel has batches", "engine/worker.c",
     "return !wheel->executor && !wheel->max_pending &&",
     "return !wheel->max_pending &&"),
    ("limited wheel has batches", "engine/worker.c",
     "return !wheel->executor && !wheel->max_pending &&",
     "return !wheel->executor &&"),
    ("owners that have due ops are in batches", "engine/worker.c",
     "       !READ_ONCE(wheel->asks) &&\n",
     "       true &&\n"),
    ("nobody asks", "engine/timeout.c",
     "WRITE_ONCE(wheel->asks, true);",
     ";"),
    ("expired whenever", "engine/worker.c",
     "return !(word & HWHEEL_QUEUED) && word <= wheel->due_word;",
     "return !(word & HWHEEL_QUEUED);"),
    ("not entered", "engine/worker.c",
     "\thwheel_batch_next(wheel, timeout);\n\tif (unlikely",
     "\tif (unlikely"),
    ("entered after it expired", "engine/worker.c",
     "\thwheel_batch_next(wheel, timeout);\n"
     "\tif (unlikely(!worker_expired(timeout, word)))\n\t\treturn false;\n",
     "\tif (unlikely(!worker_expired(timeout, word)))\n\t\treturn false;\n"
     "\thwheel_batch_next(wheel, timeout);\n"),
    ("lateness not counted", "engine/worker.c",
     "\t\tcount_lateness(wheel, word);\n",
     ""),
    ("callbacks not contained", "engine/worker.c",
     "\tquick = hwheel_callback_call_timed(wheel, callback, timeout);\n\tif (full)\n",
     "\tcallback(timeout);\n\tquick = true;\n\tif (full)\n"),
    ("clock not followed before a batch", "engine/worker.c",
     "\thwheel_clock_follow(wheel);\n\thwheel_batch_begin(wheel);",
     "\thwheel_batch_begin(wheel);"),
    ("waiters not woken in a batch", "engine/worker.c",
     "\thwheel_batch_exchanged(wheel);\n",
     ""),
    ("waiters not woken by the end of a batch", "engine/callback.h",
     "[0], NULL);\n\tlock_map_release(&wheel->callbacks);\n\thwheel_wake_waiters(wheel);",
     "[0], NULL);\n\tlock_map_release(&wheel->callbacks);"),
    ("last of a batch for ever under way", "engine/callback.h",
     "\tsmp_store_release(&wheel->running[0], NULL);\n",
     ""),
    ("batch leaves its depth", "engine/callback.h",
     "\twheel->depth = 0;\n",
     ""),
    ("batch is not a callback", "engine/callback.h",
     "\twheel->depth = 1;\n",
     ""),

    # The executor
    ("nothing handed over", "engine/worker.c",
     "\tif (full && wheel->executor)\n"
     "\t\treturn hwheel_executor_hand_over(wheel, timeout, word);\n",
     ""),
    ("handed over but not QUEUED", "engine/state.h",
     "u64 new = hwheel_word_expired(*old) | HWHEEL_QUEUED;",
     "u64 new = hwheel_word_expired(*old);"),
    ("not started at the end of a pass", "engine/worker.c",
     "\thwheel_executor_start(wheel);\n\t/* Before the sources",
     "\t/* Before the sources"),
    ("one runner only", "engine/executor.c",
     "list_empty(&executor->handed) || i >= HWHEEL_RUNNERS",
     "list_empty(&executor->handed) || i >= 1"),
    ("runner does not start another", "engine/executor.c",
     "\t\t*word = hwheel_word_begin(&timeout->word);\n\t\tstart_another(executor);",
     "\t\t*word = hwheel_word_begin(&timeout->word);"),
    ("callbacks of one timeout overlap", "engine/executor.c",
     "\t\tif (!runner) {\n",
     "\t\tif (true) {\n"),
    ("blocked one forgotten", "engine/executor.c",
     "\tlist_splice_init(&runner->blocked, &executor->handed);\n",
     "\tINIT_LIST_HEAD(&runner->blocked);\n"),
    ("runner stays busy", "engine/executor.c",
     "__clear_bit(runner - executor->runners, executor->busy);",
     ";"),
    ("runner ends when others have their turn", "engine/executor.c",
     "\t\tcond_resched();\n\t}\n\tqueue_runner(runner);\n",
     "\t\tcond_resched();\n\t}\n"),
    ("release op does not wait for the callback", "engine/executor.c",
     "\t\trunner->owed = true;\n\tspin_unlock(&executor->lock);\n\treturn runner;",
     "\t\trunner->owed = false;\n\tspin_unlock(&executor->lock);\n\treturn false;"),
    ("release op is owed for ever", "engine/executor.c",
     "\tif (runner->owed)\n",
     "\tif (false)\n"),
    ("release op is owed again", "engine/executor.c",
     "\trunner->owed = false;\n",
     ""),
    ("nothing is taken back", "engine/executor.c",
     "handed = hwheel_word_is_handed(atomic64_read(&timeout->word));",
     "handed = false;"),
    ("taken back, but not counted", "engine/executor.c",
     "atomic_long_inc(&wheel->recalled);",
     ";"),
    ("taken back stays EXPIRED", "engine/submit.c",
     "hwheel_word_recall(&timeout->word);",
     ";"),
    ("what is taken back is left on the list", "engine/executor.c",
     "\tif (handed) {\n\t\tunlink_handed(timeout);\n",
     "\tif (handed) {\n"),
    ("links of a handed over one stay", "engine/executor.c",
     "timeout->node = (struct hwheel_node) { };",
     ";"),
    ("running callback is not waited for", "engine/executor.c",
     "== timeout)\n\t\t\treturn true;",
     "== timeout)\n\t\t\treturn false;"),
    ("own callback on the executor not known", "engine/executor.c",
     "READ_ONCE(executor->runners[i].task) == current",
     "READ_ONCE(executor->runners[i].task) == NULL"),
    ("those who wait not woken by a runner", "engine/executor.c",
     "\t\thwheel_wake_waiters(wheel);\n",
     ""),
    ("idle while runners are busy", "engine/executor.c",
     " &&\n\t       bitmap_empty(executor->busy, HWHEEL_RUNNERS);",
     ";"),
    ("stop does not wait for the executor", "engine/stop.c",
     "\tfinish_executor(wheel);\n",
     ""),
    ("stop waits for the executor and does not drain", "engine/stop.c",
     "\t\thwheel_worker_drain(wheel);\n\t\twait_event",
     "\t\twait_event"),
    ("stop in a callback on the executor", "engine/stop.c",
     "hwheel_is_owner(wheel) || hwheel_executor_calls(wheel)",
     "hwheel_is_owner(wheel)"),
    ("release op on the worker waits without draining", "engine/cancel_sync.c",
     "wait_event_timeout(wheel->waiters, is_settled(timeout), 1);",
     "wait_event(wheel->waiters, is_settled(timeout));"),
    ("runner not contained", "engine/executor.c",
     "\thwheel_callback_call_here(wheel, callback, timeout);\n",
     "\tcallback(timeout);\n"),
    ("runs in softirq", "engine/executor.c",
     "if (likely(in_task())) {",
     "if (true) {"),

    # Debug objects
    ("arm not told to debug objects", "engine/submit.c",
     "\thwheel_debug_reference(timeout);\n\tsubmit(wheel, cpu, timeout);",
     "\tsubmit(wheel, cpu, timeout);"),
    ("setting up again not told to debug objects", "engine/timeout.c",
     "\thwheel_debug_init(timeout);\n",
     ""),
    ("expiry not told to debug objects", "engine/worker.c",
     "\thwheel_debug_unreference(timeout);\n\tif (likely(hwheel_word_expire(",
     "\tif (likely(hwheel_word_expire("),
    ("release not told to debug objects", "engine/worker.c",
     "\tif (unreferences)\n\t\thwheel_debug_unreference(timeout);\n",
     ""),
    ("change of mind not told to debug objects", "engine/worker.c",
     "\tif (unreferences)\n\t\thwheel_debug_reference(timeout);\n",
     ""),
    ("runner's callback not told to debug objects", "engine/executor.c",
     "\t\thwheel_debug_unreference(timeout);\n",
     ""),
    ("handback not told to debug objects", "engine/stop.c",
     "\thwheel_debug_unreference(timeout);\n",
     ""),

    # Placement
    ("niceness not set", "engine/worker.c",
     "set_user_nice(current, params->nice);",
     ";"),
    ("priority not set", "engine/worker.c",
     "err = sched_setattr_nocheck(current, &attr);",
     ";"),
    ("CPUs not set", "engine/worker.c",
     "err = set_cpus_allowed_ptr(current, params->cpus);",
     ";"),
    ("worker without a place stays", "engine/worker.c",
     "\t\thwheel_worker_stop(wheel);\n\t\tput_task_struct(task);",
     ";"),
    ("any niceness", "engine/wheel.c",
     "params->nice < MIN_NICE || params->nice > MAX_NICE",
     "params->nice < MIN_NICE"),
    ("niceness and priority", "engine/wheel.c",
     "return !params->nice || !params->rt_priority;",
     "return true;"),

    # Containment
    ("preempt count stays", "engine/callback.c",
     "preempt_count_set(count);",
     ";"),
    ("preempt count from before the callback lost", "engine/callback.c",
     "preempt_count_set(count);",
     "preempt_count_set(0);"),
    ("interrupts stay off", "engine/callback.c",
     "\telse\n\t\tlocal_irq_enable();",
     "\t;"),
    ("interrupts not looked at", "engine/callback.h",
     "preempt_count() != count || irqs_disabled() != irqs_off",
     "preempt_count() != count"),
    ("preempt count not looked at", "engine/callback.h",
     "preempt_count() != count || irqs_disabled() != irqs_off",
     "irqs_disabled() != irqs_off"),
    ("preempt count taken to be 0 everywhere", "engine/callback.h",
     "timeout, preempt_count(),\n\t\t\t\t  irqs_disabled());",
     "timeout, 0, false);"),
    ("release op of a stop not contained", "engine/stop.c",
     "hwheel_callback_call(wheel, release, timeout);",
     "release(timeout);"),
    ("a tick is overlong", "engine/callback.c",
     "took <= wheel->tick + TICK_NSEC",
     "took < wheel->tick / 2"),
    ("overlong ones not counted", "engine/callback.c",
     "took <= wheel->tick + TICK_NSEC",
     "true"),
    ("preempted ones blamed", "engine/callback.c",
     "if (wheel->preempted != preempted)",
     "if (false)"),
    ("preempted ones never blamed", "engine/callback.c",
     "min(took, wheel->ran - ran);",
     "0;"),
    ("device's callbacks blamed", "engine/callback.c",
     " || wheel->own)",
     ")"),
    ("nested ones timed on their own", "engine/callback.c",
     "\tif (wheel->depth > 1)\n\t\treturn;\n",
     ""),
    ("clock not followed", "engine/callback.h",
     "hwheel_clock_follow(struct hwheel *wheel)\n{\n\tif (hwheel_clock_is_old(wheel))",
     "hwheel_clock_follow(struct hwheel *wheel)\n{\n\tif (false)"),
    ("clock not followed before a release op", "engine/worker.c",
     "\tif (!wheel->depth)\n",
     "\tif (false)\n"),
    ("clock followed before a nested release op", "engine/worker.c",
     "\tif (!wheel->depth)\n",
     "\tif (true)\n"),

    # Statistics
    ("later and earlier mixed up", "engine/submit.c",
     "this_cpu_inc(wheel->cpu->refreshed[earlier]);",
     "this_cpu_inc(wheel->cpu->refreshed[!earlier]);"),
    ("queued and enqueued mixed up", "engine/submit.c",
     "cancelled[!queued]",
     "cancelled[queued]"),
    ("handed back not counted", "engine/stop.c",
     "local_inc(&wheel->counts.handed_back);",
     ";"),
    ("passes not counted", "engine/worker.c",
     "local_inc(&wheel->counts.passes);",
     ";"),
    ("wake-ups not counted", "engine/worker.c",
     "local_inc(&wheel->counts.wakeups);",
     ";"),
    ("drained not counted", "engine/worker.c",
     "local_add(n, &wheel->counts.drained);",
     ";"),
    ("most drained is the last", "engine/stats.h",
     "\tif (n > local_read(max))\n",
     ""),
    ("pending after stop", "engine/stats.c",
     "if (is_stopped(wheel))",
     "if (false)"),
    ("lag counts the edge it slept for", "engine/worker.c",
     "local_add(wheel->reached - planned, &wheel->counts.lag);",
     "local_add(wheel->reached - planned + 1, &wheel->counts.lag);"),
    ("lateness a tick too long", "engine/worker.c",
     "hwheel_count_lateness(&wheel->counts, wheel->now_word - word,",
     "hwheel_count_lateness(&wheel->counts, wheel->now_word - word + 2 * wheel->tick,"),
    ("lateness rounded down", "engine/stats.h",
     "hwheel_fraction(2 * HWHEEL_LATENESS_FINEST, tick) + 1;",
     "hwheel_fraction(2 * HWHEEL_LATENESS_FINEST, tick);"),
    ("last bin left out", "engine/stats.c",
     "min(i, HWHEEL_LATENESS_BINS - 1U)",
     "min(i, HWHEEL_LATENESS_BINS - 2U)"),
    ("pending does not leave out what was handed back", "engine/stats.c",
     "stats->expired + stats->handed_back +",
     "stats->expired +"),

    # Sets, of files
    ("offset of the other clock", "device/timens.c",
     "wheel->clock == CLOCK_BOOTTIME ? timens",
     "wheel->clock != CLOCK_BOOTTIME ? timens"),
    ("offset added, not subtracted", "device/timens.c",
     "return ns - min_t(u64, ns, offset);",
     "return ns + offset;"),
    ("far deadline of others wraps", "device/timens.c",
     "return min(ns, HWHEEL_NEVER) + -offset;",
     "return ns + -offset;"),
    ("our past wraps for others", "device/timens.c",
     "ns - min_t(u64, ns, -offset)",
     "ns + offset"),
    # Files: what ended, at the end of the pass, and those who wait for it
    ("all waiters looked at on the worker", "device/waiters.c",
     "min(hwheel_user_waiters_left(user), HWHEEL_WAITERS_MAX)",
     "hwheel_user_waiters_left(user)"),
    ("a few waiters of each of many files", "device/waiters.c",
     "\thwheel_user_looked(user, walk_cost(&walk, max - walk.max));\n",
     ""),
    ("all users share one budget", "device/waiters.c",
     "\tstruct hwheel_user *user = waiters->user;\n\tstruct walk walk",
     "\tstatic struct hwheel_user all = { .slow = LONG_MIN }, *user = &all;\n\tstruct walk walk"),
    ("a budget used up for ever", "device/user.h",
     "\tif (READ_ONCE(user->jiffy) != now)\n\t\treturn HWHEEL_USER_WAITERS;\n",
     ""),
    ("the budget of a jiffy counts the last wake-up only", "device/user.h",
     "\t\twaiters += READ_ONCE(user->looked);",
     "\t\t;"),
    ("the rest of many waiters not woken", "device/waiters.c",
     "\tif (walk->from)\n\t\tleave_to_work(waiters, walk->events);\n",
     ""),
    ("many waiters walked in one part only", "device/waiters.c",
     "\tif (more)\n\t\tqueue_work(walkers, work);",
     "\t(void)more;"),
    ("every event wakes all readers", "device/waiters.c",
     "if (waiters_wake(entry, key) && key && !--walk->events)",
     "if (waiters_wake(entry, key) && !key)"),
    ("the end wakes one reader", "device/waiters.c",
     "if (waiters_wake(entry, key) && key && !--walk->events)",
     "if (waiters_wake(entry, key) && !--walk->events)"),
    ("slow waiters woken by the worker for ever", "device/waiters.c",
     "|| walk_jiffies(walk) > 1",
     "|| false"),
    ("waiters that take a jiffy cost a user nothing", "device/waiters.c",
     "return walk_jiffies(walk) ? HWHEEL_USER_WAITERS : looked;",
     "return looked;"),
    ("slow waiters of a work item not noted", "device/waiters.c",
     "hwheel_user_was_slow(waiters->user);\n\tif (more)",
     ";\n\tif (more)"),
    ("the first waiter may take as long as it likes", "device/waiters.c",
     "(entry && ktime_get_mono_fast_ns() > deadline)",
     "(entry && walk->from->prev != waiters->queue.head.next &&\n"
     "\t\t     ktime_get_mono_fast_ns() > deadline)"),
    ("slow users slow for ever", "device/user.h",
     "slow + HWHEEL_USER_SLOW",
     "slow + LONG_MAX / 2"),
    ("new account in the same tick", "device/user.c",
     "\t\t\tnew->mapped = freed.mapped;\n",
     "\t\t\t;\n"),
    ("account of another user", "device/user.c",
     "if (uid_eq(uid, freed.uid))",
     "if (true)"),
    ("account added twice", "device/user.c",
     "if (!user && new) {",
     "if (new) {"),
    ("one wheel too many for a user", "device/user.c",
     "user->wheels < max &&",
     "user->wheels <= max &&"),
    ("one wheel too many for all users", "device/user.c",
     "nr_wheels < max_of_all",
     "nr_wheels <= max_of_all"),
    ("stop waits with the lock", "device/file_stop.c",
     "\tmutex_unlock(&file->lock);\n"
     "\treturn file->mapping ? hwheel_mapped_file_stop(file) : stop_all(file, true);",
     "\tlong ret = file->mapping ? hwheel_mapped_file_stop(file) : stop_all(file, true);\n\n"
     "\tmutex_unlock(&file->lock);\n\treturn ret;"),
    ("cancelled one told as pending", "device/entry.c",
     "[HWHEEL_CANCELLED]\t= -ENOENT,",
     "[HWHEEL_CANCELLED]\t= HWHEEL_STATE_PENDING,"),
    ("full of cancelled ones", "device/entry.c",
     "if (full && !owes_room_locked(file))",
     "if (full)"),
    ("waits for room that nothing will make", "device/entry.c",
     "file->enqueued != file->counts.pending;",
     "file->enqueued;"),
    ("waits for room for a tick", "device/entry.c",
     "\tif (owes)\n\t\thwheel_submit_kick(file->wheel);\n",
     ""),
    ("work of a pass left to the next one", "engine/worker.c",
     "\tthrough &= hwheel_pass_work_run(wheel);\n",
     ""),
    ("work goes on however long it takes", "engine/pass_work.c",
     "if (hwheel_is_long(since)) {",
     "if (false) {"),
    ("work that is not done is forgotten", "engine/pass_work.c",
     "\t\tif (!work->run(work, wait))\n\t\t\tlist_add_tail(&work->link, &wheel->pass_work);",
     "\t\twork->run(work, wait);"),
    ("ids go on when they are used up", "device/table.h",
     "if (unlikely(!upper_32_bits(entry->id)))",
     "if (false)"),
    ("generation stays", "device/table.h",
     "\tentry->id += 1ULL << 32;\n",
     ""),
    ("stale id found", "device/table.h",
     "return entry && entry->id == id ? entry : NULL;",
     "return entry;"),
    ("free one keeps its state", "device/table.h",
     "\tatomic64_set(&entry->timeout.word, HWHEEL_IDLE);\n",
     ""),
    ("free one stays stopped", "device/table.h",
     "\tentry->stopped = false;\n",
     ""),
    ("index beyond the table", "device/table.h",
     "if (page >= table->nr)",
     "if (page > table->nr)"),
    ("free ones lost when it grows", "device/table.c",
     "entries[n - 1].next = table->free;",
     "entries[n - 1].next = NULL;"),
    ("limit one too high", "device/table.c",
     "min_t(unsigned int, max - first, HWHEEL_TABLE_PER_PAGE)",
     "min_t(unsigned int, max - first + 1, HWHEEL_TABLE_PER_PAGE)"),
    ("grows beyond the limit", "device/table.c",
     "if (first >= max)",
     "if (first > max)"),
    ("what is about to be armed found", "device/entry.c",
     "[HWHEEL_IDLE]\t\t= -ENOENT",
     "[HWHEEL_IDLE]\t\t= HWHEEL_STATE_EXPIRED"),
    ("added to a stopped file", "device/entry.c",
     "while (!file->stopped) {",
     "while (true) {"),
    ("armed in a stopped file", "device/entry.c",
     "if (!file->stopped)\n\t\terr = hwheel_arm_at(",
     "if (true)\n\t\terr = hwheel_arm_at("),
    ("not dropped when it can't be armed", "device/entry.c",
     "if (err) {\n\t\thwheel_entry_drop_locked(entry);",
     "if (err) {"),
    ("configured after an id was made", "device/file.c",
     "!file->table.nr",
     "true"),
    ("configured twice", "device/file.c",
     "hwheel_file_is_on_shared_wheel(file) &&",
     "true &&"),
    ("any wheel's timeout found", "device/entry.c",
     "return hwheel_of(&entry->timeout) == wheel ? entry : NULL;",
     "return entry;"),
    ("stop does not kick the worker", "device/file_stop.c",
     "if (!is_unreferenced(file, all))\n\t\thwheel_submit_kick(file->wheel);",
     ""),
    ("stopped one is no event", "device/publish.c",
     "\t\t\tlist_add_tail(&entry->event, &file->events);\n\t\t\t++*stopped;",
     "\t\t\thwheel_table_put(&file->table, entry);\n\t\t\t++*stopped;"),
    ("the end not told when the last one is unreferenced", "device/publish.c",
     "hwheel_waiters_end(&file->wait);",
     ";"),
    ("slots kept when the wheel is stopped", "engine/stop.c",
     "\thwheel_slots_free(&wheel->slots);\n\tWRITE_ONCE(wheel->owner, NULL);",
     "\tWRITE_ONCE(wheel->owner, NULL);"),
    ("stop does not wait", "device/file_stop.c",
     "return !READ_ONCE(file->stopping) && !(all && READ_ONCE(file->enqueued));",
     "return true;"),
    ("stop does not wait for what was cancelled before", "device/file_stop.c",
     "return !READ_ONCE(file->stopping) && !(all && READ_ONCE(file->enqueued));",
     "return !READ_ONCE(file->stopping);"),
    ("stop leaves what is beyond a batch", "device/file.c",
     "return end < size;",
     "return false;"),
    ("close leaves what is pending", "device/file_stop.c",
     "stop_all(file, false);",
     ""),
    ("end before all is read", "device/file.h",
     "smp_load_acquire(&file->stopped) && !READ_ONCE(file->counts.held)",
     "smp_load_acquire(&file->stopped)"),
    ("read events stay", "device/event.c",
     "hwheel_entry_drop_locked(entries[i]);",
     ";"),
    ("part of an event is read", "device/event.c",
     "if (iov_iter_count(to) < sizeof(struct hwheel_event))",
     "if (!iov_iter_count(to))"),
    ("stopped events said to have expired", "device/event.c",
     "entry->stopped ? HWHEEL_EVENT_STOPPED :",
     "!entry ? HWHEEL_EVENT_STOPPED :"),

    # Sources
    ("sources before the work of the pass", "engine/worker.c",
     "\tthrough &= hwheel_pass_work_run(wheel);\n\tthrough &= hwheel_sources_run(wheel);\n",
     "\tthrough &= hwheel_sources_run(wheel);\n\tthrough &= hwheel_pass_work_run(wheel);\n"),
    ("source kicked twice is added twice", "engine/source.c",
     "\tif (!test_and_set_bit(HWHEEL_SOURCE_IS_ACTIVE, &source->flags))\n"
     "\t\thwheel_submit_source(",
     "\tif (!test_bit(HWHEEL_SOURCE_IS_ACTIVE, &source->flags))\n"
     "\t\thwheel_submit_source("),
    ("kicked source overlooked before sleep", "engine/submit.c",
     "return llist_empty(&wheel->source_queue);",
     "return true;"),
    ("source leaves at the next edge", "engine/source.c",
     "\thwheel_source_kick(source);\n\thwheel_submit_kick(wheel);",
     "\thwheel_source_kick(source);"),
    ("kicked source waits for its edge, too", "engine/source.c",
     "\thwheel_slots_unlink(&wheel->slots, &source->timeout.node);\n",
     ""),
    ("source that is due and kicked added twice", "engine/source.c",
     "\tif (!test_and_set_bit(HWHEEL_SOURCE_IS_ACTIVE, &source->flags))\n"
     "\t\tsource_add(wheel, source);",
     "\tset_bit(HWHEEL_SOURCE_IS_ACTIVE, &source->flags);\n\tsource_add(wheel, source);"),
    ("source that is due not marked as active", "engine/source.c",
     "\tif (!test_and_set_bit(HWHEEL_SOURCE_IS_ACTIVE, &source->flags))\n"
     "\t\tsource_add(wheel, source);",
     "\tif (!test_bit(HWHEEL_SOURCE_IS_ACTIVE, &source->flags))\n"
     "\t\tsource_add(wheel, source);"),
    ("source that is due is woken", "engine/source.c",
     "\tif (!test_and_set_bit(HWHEEL_SOURCE_IS_ACTIVE, &source->flags))\n"
     "\t\tsource_add(wheel, source);",
     "\tif (!test_and_set_bit(HWHEEL_SOURCE_IS_ACTIVE, &source->flags))\n"
     "\t\tsource_wake(wheel, source);"),
    ("source enqueued for an edge that is past", "engine/source.c",
     "max(source->edge, wheel->slots.cursor + 1)",
     "source->edge"),
    ("source parked before kicks count", "engine/source.c",
     "\tclear_bit_unlock(HWHEEL_SOURCE_IS_ACTIVE, &source->flags);\n"
     "\t/* Pairs with the kick, also of hwheel_source_leave(). */\n"
     "\tsmp_mb__after_atomic();\n"
     "\tif (source->ops->park(source) && !READ_ONCE(source->leaving))\n"
     "\t\treturn;\n",
     "\tbool parked = source->ops->park(source) && !READ_ONCE(source->leaving);\n\n"
     "\tclear_bit_unlock(HWHEEL_SOURCE_IS_ACTIVE, &source->flags);\n"
     "\tif (parked)\n"
     "\t\treturn;\n"),
    ("parked source stays marked as active", "engine/source.c",
     "\tclear_bit_unlock(HWHEEL_SOURCE_IS_ACTIVE, &source->flags);\n",
     ""),
    ("source parked that is to leave", "engine/source.c",
     "if (source->ops->park(source) && !READ_ONCE(source->leaving))",
     "if (source->ops->park(source))"),
    ("source parked that has something", "engine/source.c",
     "if (source->ops->park(source) && !READ_ONCE(source->leaving))",
     "source->ops->park(source);\n\tif (!READ_ONCE(source->leaving))"),
    ("source added that was kicked when it was parked", "engine/source.c",
     "\tif (!test_and_set_bit(HWHEEL_SOURCE_IS_ACTIVE, &source->flags))\n"
     "\t\tsource_wake(wheel, source);",
     "\tset_bit(HWHEEL_SOURCE_IS_ACTIVE, &source->flags);\n\tsource_wake(wheel, source);"),
    ("source that has left can be kicked", "engine/source.c",
     "\tlist_del_init(&source->link);\n\tcomplete_all(",
     "\tlist_del_init(&source->link);\n"
     "\tclear_bit(HWHEEL_SOURCE_IS_ACTIVE, &source->flags);\n\tcomplete_all("),
    ("only the last source is run again", "engine/source.c",
     "through &= source_run(wheel, source, first);",
     "through = source_run(wheel, source, first);"),
    ("source without time comes last", "engine/source.c",
     "list_move_tail(&source->link, &first[source->busy]);",
     ";"),

    # Mapped files: lists, and how they are drained
    ("first list woken only", "device/map_list.c",
     "cmpxchg(map->heads[i], HWHEEL_MAP_ASLEEP, 0);",
     "cmpxchg(map->heads[0], HWHEEL_MAP_ASLEEP, 0);"),
    ("lists parked if the last one is empty", "device/map_list.c",
     "parked &= is_empty(",
     "parked = is_empty("),
    ("records of a second MAP not known", "device/map_list.c",
     "map->known = smp_load_acquire(&map->nr);",
     "map->known = map->known ?: smp_load_acquire(&map->nr);"),
    ("cancelled record stays filed", "device/map_drain.c",
     "\thwheel_map_node_unlink(map, node);\n\tif (likely(",
     "\tif (hwheel_word_state(word) == HWHEEL_PENDING)\n"
     "\t\thwheel_map_node_unlink(map, node);\n\tif (likely("),
    ("record stays QUEUED", "device/map_drain.c",
     "word & ~(u64)HWHEEL_QUEUED);",
     "word);"),
    ("record that changes all the time looked at for ever", "device/map_drain.c",
     "for (tries = 1; tries < HWHEEL_MAP_TRIES; tries++)",
     "for (tries = 1; tries; tries++)"),
    ("record that changes all the time dropped", "device/map_drain.c",
     "\t\t\treturn;\n\tact_again(map, node);",
     "\t\t\treturn;"),
    ("parked with a record that changes all the time", "device/map_source.c",
     " || !hlist_empty(&map->again))\n\t\treturn",
     ")\n\t\treturn"),
    ("link one beyond the records", "device/map_drain.c",
     "if (unlikely(i >= nr)) {",
     "if (unlikely(i > nr)) {"),
    ("link to none ends a list", "device/map_drain.c",
     "if (unlikely(left && link))",
     "if (false)"),
    ("list may be of any length", "device/map_drain.c",
     "if (map->length > map->known)",
     "if (false)"),
    ("list with all records is damaged", "device/map_drain.c",
     "if (map->length > map->known)",
     "if (map->length >= map->known)"),
    ("lists bounded together", "device/map_drain.c",
     "\t\tmap->length = 0;\n",
     ""),
    ("each part of a list a batch", "device/map_drain.c",
     "\tmap->length += n;\n",
     "\tmap->length += n;\n\tmap->batch += 2;\n"),
    ("all lists one batch", "device/map_drain.c",
     "\t\tmap->length = 0;\n\t\tmap->batch += 2;\n",
     "\t\tmap->length = 0;\n"),
    ("given up and nobody told", "device/map_source.c",
     "\thwheel_waiters_end(&map->file->wait);\n\treturn go(map);\n",
     "\treturn go(map);\n"),
    ("kicked for each record that comes alone", "device/map_source.c",
     "return !was_alone || !map->alone;",
     "return !map->alone;"),
    ("lingers for records that come alone", "device/map_source.c",
     "return !was_alone || !map->alone;",
     "return true;"),
    ("one record in each tick is alone", "device/map_source.c",
     "map->alone = rested && drained <= 1;",
     "map->alone = drained <= 1;"),
    ("two records are alone", "device/map_source.c",
     "map->alone = rested && drained <= 1;",
     "map->alone = rested;"),
    ("program that only kicks is never polled", "device/map_source.c",
     "if (!drained && !kicked)",
     "if (!drained)"),
    ("program that has kicked is always polled", "device/map_source.c",
     "\tmap->kicked = false;\n",
     ""),
    ("drained while the order is being found", "device/map_source.c",
     "if (!map->place)",
     "if (true)"),

    # Mapped files: what ends
    ("later one not filed again", "device/map_expire.c",
     "\thwheel_map_node_file(map, node, word, max(wheel->reached, map->slots.cursor) + 1,\n"
     "\t\t\t     HWHEEL_MAP_ALONE, false);\n",
     ""),
    ("filed again in the batch of others", "device/map_expire.c",
     "\t\t\t     HWHEEL_MAP_ALONE, false);",
     "\t\t\t     node->batch, false);"),
    ("filed again between the parts of a batch", "device/map_expire.c",
     "if (unlikely(batch == HWHEEL_MAP_ALONE))",
     "if (false)"),
    ("lists are open when the program is left alone", "device/map_source.c",
     "\thwheel_map_lists_close(map);\n",
     "\t;\n"),
    ("time of the edge told", "device/map_expire.c",
     "WRITE_ONCE(record->fired_ns, wheel->now);",
     "WRITE_ONCE(record->fired_ns, wheel->due);"),
    ("QUEUED lost at expiry", "device/map_expire.c",
     "hwheel_word_expired(word))",
     "hwheel_word_expired(word) & ~(u64)HWHEEL_QUEUED)"),
    ("expired records not counted", "device/map_expire.c",
     "\tmap->now.expired++;\n",
     ""),
    ("record counts as filed for ever", "device/map_node.h",
     "\tmap->now.filed--;\n\treturn hwheel_map_node_of(node);",
     "\treturn hwheel_map_node_of(node);"),
    ("latest batch first", "device/map_expire.c",
     "map->placed == batch ? map->place : &map->ready.first",
     "map->place"),
    ("run goes beyond its batch", "device/map_expire.c",
     " && batch_of(node->next) == batch",
     ""),
    ("run before the rest of its batch", "device/map_expire.c",
     "map->place = &last->next;",
     "map->place = &map->ready.first;"),
    ("looked at before the order is found", "device/map_expire.c",
     "if (!map->place && !hlist_empty(&map->ready))",
     "if (!hlist_empty(&map->ready))"),
    ("ring half as large", "device/map_ring.h",
     "map->put++ & map->ring_mask;",
     "map->put++ & map->ring_mask >> 1;"),
    ("tail not published", "device/map_ring.h",
     "\t\thwheel_map_word_store(&map->header->tail, map->put);\n",
     ""),
    ("events of a mapped file wake nobody", "device/map_source.c",
     "\tif (events)\n\t\thwheel_waiters_wake(&map->file->wait, min_t(u64, events, UINT_MAX));\n",
     ""),
    ("woken for no event of a mapped file", "device/map_source.c",
     "\tif (events)\n\t\thwheel_waiters_wake(",
     "\tif (true)\n\t\thwheel_waiters_wake("),
    ("poll says stopped before all is read", "device/mapped_file.c",
     "\tif (hwheel_mapping_unread(map))\n",
     "\tif (hwheel_mapping_unread(map) && !map->stopped)\n"),

    # Mapped files: STOP and close
    ("stopped record told as expired", "device/map_stop.c",
     "hwheel_map_ring_put(map, i | HWHEEL_MAP_STOPPED);",
     "hwheel_map_ring_put(map, i);"),
    ("lists are open when the file is stopped", "device/map_stop.c",
     "\t\thwheel_map_lists_close(map);\n",
     "\t\t;\n"),
    ("stop misses the last of a part", "device/map_stop.c",
     "i < end; i++)",
     "i < end - 1; i++)"),
    ("stop goes beyond a segment", "device/map_stop.c",
     "u32 end = min(segment->first + segment->nr, map->walked + HWHEEL_MAP_BATCH);",
     "u32 end = map->walked + HWHEEL_MAP_BATCH;"),
    ("stop sees what was known before", "device/map_stop.c",
     "map->known = smp_load_acquire(&map->nr);",
     ";"),
    ("stopped file has records filed", "device/map_stop.c",
     "\tmap->now.filed = 0;\n",
     ""),
    ("stop of a mapped file wakes nobody", "device/map_source.c",
     "\tsmp_store_release(&map->stopped, true);\n\thwheel_waiters_end(&map->file->wait);\n",
     "\tsmp_store_release(&map->stopped, true);\n"),
    ("stopped file is never at its end", "device/map_source.c",
     "\tsmp_store_release(&map->stopped, true);\n",
     ""),
    ("second stop counts those of the first", "device/mapped_file.c",
     "return READ_ONCE(map->source.counts.stopped) - before;",
     "return READ_ONCE(map->source.counts.stopped);"),
    ("closed file leaves timeouts filed", "device/map_source.c",
     "\tmap->now.filed = 0;\n",
     "\t;\n"),
    ("wheel counts no file that leaves", "device/map_source.c",
     "\tmap->now.filed = 0;\n\thwheel_source_tell(&map->source, &map->now);\n",
     "\tmap->now.filed = 0;\n"),
    ("wheel counts the last file alone", "engine/source.c",
     "*of_wheel + now - *of_source",
     "now"),
    ("closed file works on", "device/map_source.c",
     "if (READ_ONCE(map->closing))",
     "if (false)"),
    ("records stay reserved when a file is closed", "device/mapped_file.c",
     "\thwheel_pending_unreserve(file->wheel, map->nr);\n",
     ""),
    ("records that are reserved are pending", "engine/stats.c",
     "return pending - reserved;",
     "return pending;"),
    ("mapping counted when a file is closed", "device/mapped_file.c",
     "map->nr);\n\tif (hwheel_file_is_on_shared_wheel(file))\n"
     "\t\thwheel_user_remove_mapping(file->user);",
     "map->nr);"),

    # Mapped files: how long the worker works for them
    ("a user has half a tick", "device/map_budget.c",
     "#define USER_PART\t4",
     "#define USER_PART\t2"),
    ("all users have a tick", "device/map_budget.c",
     "#define ALL_PART\t2",
     "#define ALL_PART\t1"),
    ("time spent in earlier ticks counts", "device/map_budget.c",
     "\ttime->spent -= min(time->spent, paid);\n",
     ""),
    ("excess is forgotten", "device/map_budget.c",
     "\ttime->spent -= min(time->spent, paid);\n",
     "\ttime->spent = 0;\n"),
    ("excess counts in all ticks that follow", "device/map_budget.c",
     "\ttime->spent = min(time->spent, CARRIED * limit);\n",
     ""),
    ("no run is a busy one", "device/map_source.c",
     "\tsource->busy = hwheel_map_budget_end(map);",
     "\thwheel_map_budget_end(map);"),
    ("busy source before the others", "engine/source.c",
     "\tlist_splice_init(&wheel->sources[false], &round);\n"
     "\tlist_splice_tail_init(&wheel->sources[true], &round);\n",
     "\tlist_splice_init(&wheel->sources[true], &round);\n"
     "\tlist_splice_tail_init(&wheel->sources[false], &round);\n"),
    ("busy source without time before the others", "engine/source.c",
     "list_move_tail(&source->link, &first[source->busy]);",
     "list_move_tail(&source->link, &first[false]);"),
    ("clock looked at before the first timeout ends", "device/map_expire.c",
     "if (++steps >= LEAST_STEPS && hwheel_map_budget_is_used(map))",
     "if (hwheel_map_budget_is_used(map))"),
    ("place of a stopped file given back twice", "device/mapped_file.c",
     "\tif (map->released)\n\t\treturn;\n",
     ""),
    ("place of a stopped file kept", "device/mapped_file.c",
     "\trelease(file, map);\n\treturn READ_ONCE",
     "\treturn READ_ONCE"),
    ("time of a user not counted", "device/map_budget.c",
     "\tmap->file->user->mapped.spent += spent;\n",
     ""),
    ("time of all users not counted", "device/map_budget.c",
     "\tall.spent += spent;\n",
     ""),
    ("time of a user or of all", "device/map_budget.c",
     "left = min(left_of(&map->file->user->mapped, wheel, USER_PART),\n\t\t   left_of(",
     "left = max(left_of(&map->file->user->mapped, wheel, USER_PART),\n\t\t   left_of("),
    ("parked when there is no time", "device/map_source.c",
     "\tif (!hwheel_map_budget_begin(map))\n\t\treturn HWHEEL_SOURCE_FIRST;",
     "\tif (!hwheel_map_budget_begin(map))\n\t\treturn HWHEEL_SOURCE_IDLE;"),
    ("wheel of its own shared with others", "device/map_budget.c",
     "if (!hwheel_file_is_on_shared_wheel(map->file))\n\t\treturn OWN_NS;",
     "if (false)\n\t\treturn OWN_NS;"),
    ("goes on in the next tick on a wheel of its own", "device/map_source.c",
     "HWHEEL_SOURCE_ACTIVE : HWHEEL_SOURCE_AGAIN;",
     "HWHEEL_SOURCE_ACTIVE : HWHEEL_SOURCE_ACTIVE;"),
    ("drain leaves expiry no time", "device/map_budget.c",
     "map->may = left / 2;",
     "map->may = left;"),
    ("drain takes its time", "device/map_drain.c",
     "while (!hwheel_map_budget_is_used(map) && drain_some(map))",
     "while (drain_some(map))"),
    ("expiry takes its time", "device/map_expire.c",
     "if (++steps >= LEAST_STEPS && hwheel_map_budget_is_used(map))",
     "if (false)"),
    ("stop takes its time", "device/map_stop.c",
     "if (hwheel_map_budget_is_used(map))",
     "if (false)"),

    # Mapped files: MAP
    ("MAP takes flags", "device/mapped_file.c",
     "arg->lists > HWHEEL_MAP_LISTS || arg->flags || ",
     "arg->lists > HWHEEL_MAP_LISTS || "),
    ("MAP does not look at all outputs", "device/mapped_file.c",
     "\t    arg->records_offset || arg->size)",
     "\t    arg->records_offset)"),
    ("MAP takes too many lists", "device/mapped_file.c",
     "arg->lists > HWHEEL_MAP_LISTS ||",
     "false ||"),
    ("first MAP makes no lists", "device/mapped_file.c",
     "\tif (!arg->lists)\n\t\treturn -EINVAL;\n",
     ""),
    ("mapped on a simple wheel", "device/mapped_file.c",
     "if (file->wheel->revolution)",
     "if (false)"),
    ("mapping counted that was not made", "device/mapped_file.c",
     "\tif (err && hwheel_file_is_on_shared_wheel(file))\n\t\thwheel_user_remove_mapping(file->user);\n",
     ""),
    ("mapping told without its header", "device/mapping.c",
     "= hwheel_mapping_nr_pages(map) * PAGE_SIZE,",
     "= (map->nr / HWHEEL_MAP_PAGE) * PAGE_SIZE,"),
    ("mask told for the ring's size", "device/mapping.c",
     ".ring_size\t= map->ring_mask + 1,",
     ".ring_size\t= map->ring_mask,"),
    ("records told that were asked for", "device/mapping.c",
     ".records\t= map->nr,",
     ".records\t= out->records,"),
    ("ring not a power of two", "device/mapping.c",
     "roundup_pow_of_two(map->max)",
     "map->max"),
    ("room for no whole page", "device/mapping.c",
     "map->max = round_up(max, HWHEEL_MAP_PAGE);",
     "map->max = max;"),
    ("version not in the header", "device/mapping.c",
     "\tmap->header->version = HWHEEL_MAP_VERSION;\n",
     ""),
    ("offset of the clock not in the header", "device/mapping.c",
     "\tmap->header->clock_offset_ns = hwheel_timens_offset(&map->file->timens,\n"
     "\t\t\t\t\t\t\t    hwheel_mapping_wheel(map));\n",
     ""),
    ("first of a segment found in the one before", "device/mapping.c",
     "if (map->segments[middle]->first <= i)",
     "if (map->segments[middle]->first < i)"),
    ("more records than the file may have", "device/mapped_file.c",
     "if (map->nr > file->max - records)",
     "if (map->nr >= file->max)"),
    ("another wheel for a mapped file", "device/file.c",
     " && !file->mapping && !file->table.nr;",
     " && !file->table.nr;"),
    ("private memory mapped", "device/mapped_file.c",
     "if (!map || !(vma->vm_flags & VM_MAYSHARE))",
     "if (!map)"),
    ("mapped beyond what there is", "device/mapped_file.c",
     "if (vma->vm_pgoff + vma_pages(vma) > hwheel_mapping_nr_pages(map))",
     "if (vma->vm_pgoff > hwheel_mapping_nr_pages(map))"),
    ("fault beyond the pages", "device/mmap_pages.c",
     "if (vmf->pgoff >= pages->max)",
     "if (vmf->pgoff > pages->max)"),
    ("fault of a page that is not there", "device/mmap_pages.c",
     "\tif (!page)\n\t\treturn VM_FAULT_SIGBUS;",
     "\tif (IS_ERR(page))\n\t\treturn VM_FAULT_SIGBUS;"),
    ("page given away", "device/mmap_pages.c",
     "\tget_page(page);\n",
     ""),

    # Deadlines of the owner's own
    ("owner not asked", "engine/worker.c",
     "if (full && timeout->ops->due && is_due(wheel, word))",
     "if (false)"),
    ("owner asked as long as he says later", "engine/worker.c",
     "if (full && timeout->ops->due && is_due(wheel, word))",
     "while (full && timeout->ops->due && is_due(wheel, word))"),
)] + [Mutant(*fields) for fields in BARRIERS]


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
        if has_litmus_test(mutant):
            litmus.line_of(mutant.model)


def has_litmus_test(mutant):
    return re.match(r"\w+ P\d: ", mutant.model)


def judge_barrier(mutant):
    if has_litmus_test(mutant):
        return Result(mutant, *litmus.judge(mutant.model))
    return Result(mutant, "spare", mutant.model)


def complaint(line):
    found = SPLAT.search(line)
    return found[1] if found else None


class Run:
    """What a run has printed up to now."""

    def __init__(self, order):
        self.order = order
        self.started = self.finished = self.heard = self.gap = 0
        self.catcher = ""
        self.asked_for = False
        self.begun = []
        self.passed = collections.defaultdict(list)

    def next_case(self):
        """Which case is running, if the order is known."""
        if not self.begun:
            return "boot"
        suite = self.begun[-1]
        cases = self.order.get(suite, [])
        at = len(self.passed[suite])
        return f"{suite}.{cases[at]}" if at < len(cases) else suite

    def hear(self):
        """Keeps the longest time in which nothing was printed."""
        now = time.monotonic()
        self.gap = max(self.gap, now - (self.heard or now))
        self.heard = now

    def is_silent(self, seconds):
        return self.heard and time.monotonic() - self.heard > seconds

    def read(self, line):
        """Takes lines before the kernel's start for the build's."""
        if self.started:
            self.hear()
        if not self.started:
            self.started = time.monotonic() if START in line else 0
        elif match := SUITE.match(line):
            self.begun.append(match[1])
        elif match := CASE.match(line):
            self.read_case(*match.groups())
        elif any(mark in line for mark in ASKED_FOR):
            self.asked_for = ASKED_FOR[0] in line
        elif what := not self.asked_for and complaint(line):
            self.catcher = f"{self.next_case()} ({what})"
        elif END in line:
            self.finished = time.monotonic()

    def read_case(self, failed, name):
        suite = self.begun[-1] if self.begun else ""
        if failed:
            self.catcher = f"{suite}.{name}"
        else:
            self.passed[suite].append(name)


class Job:
    """A scratch copy of the project; one with a number has a build folder of its own, too."""

    def __init__(self, number, timeout, silence):
        self.silence = silence
        self.top = SCRATCH / str(number)
        self.output = self.top / "output.txt"
        self.objects = self.top / "build/kunit"
        self.kept = self.top / "objects"
        self.env = {**SETTINGS, "TIMEOUT": f"{timeout:.0f}",
                    **{name: value for name, value in os.environ.items() if value},
                    "RAW": "1", "HWHEEL_JOB": f"-mutants-{number}" if number else ""}
        self.process = None
        self.given_up = False
        self.copy_project()

    def copy_project(self):
        """With the times of now, as objects of an earlier run may be younger than the sources."""
        shutil.rmtree(self.top, ignore_errors=True)
        for part in PARTS:
            source, target = TOP / part, self.top / part
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, copy_function=shutil.copy)
            else:
                shutil.copy(source, target)

    def start(self, suite):
        return subprocess.Popen([self.top / "kunit/run.sh"], stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                encoding="utf-8", errors="replace", start_new_session=True,
                                env={**self.env, "FILTER": suite})

    def stop(self):
        """kunit.py ends its kernel when it is interrupted, and prints until then."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGINT)

    def give_up(self):
        self.given_up = True
        if self.process and self.process.poll() is None:
            self.stop()

    def stop_if_silent(self, process, run):
        """A kernel in which a test hangs prints nothing any more."""
        while process.poll() is None and not run.is_silent(self.silence):
            time.sleep(0.5)
        if process.poll() is None:
            self.stop()

    def run_tests(self, order, suite=""):
        """Until they end or one notices."""
        run = Run(order)
        with open(self.output, "w", encoding="utf-8") as output, \
             self.start(suite) as self.process:
            threading.Thread(target=self.stop_if_silent, args=(self.process, run),
                             daemon=True).start()
            for line in self.process.stdout:
                output.write(line)
                if not run.catcher:
                    run.read(line)
                    if run.catcher:
                        self.stop()
        return run

    def test(self, order):
        """Returns a verdict and who caught it."""
        run = self.run_tests(order)
        if not run.started:
            return "does not build", ""
        if run.catcher or run.finished:
            return ("caught", run.catcher) if run.catcher else ("survived", "")
        return ("given up", "") if self.given_up else ("caught", f"{run.next_case()} hangs")

    def keep_objects(self):
        """Those without a fault, once."""
        if not self.kept.exists():
            self.run_tests({}, NO_SUITE)
            shutil.copytree(self.objects, self.kept)

    def restore_objects(self):
        """With their times, so that only the next fault is compiled."""
        folder = self.objects.resolve()
        shutil.rmtree(folder)
        shutil.copytree(self.kept, folder)

    def spare_objects(self, header):
        """Makes the objects of suites that call nothing of the header as new as its fault."""
        needed = {"race_test", f"{header.stem}_test"} | INLINE_SUITES.get(header.name, set())
        for path in self.objects.resolve().glob("kunit/*/*_test.o"):
            if path.stem not in needed:
                os.utime(path)

    def test_mutant(self, mutant, order):
        """Leaves all as it was, also its times."""
        self.keep_objects()
        path = self.top / "module" / mutant.file
        text = path.read_text(encoding="utf-8")
        times = path.stat()
        path.write_text(mutate(mutant, text), encoding="utf-8")
        if path.suffix == ".h":
            self.spare_objects(path)
        try:
            return Result(mutant, *self.test(order))
        finally:
            path.write_text(text, encoding="utf-8")
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
            self.restore_objects()


def unmutated():
    """The order of all cases, once they have passed, the seconds that they took, and the
    longest time in which nothing was printed."""
    job = Job(0, 600, 600)
    run = job.run_tests({})
    if run.catcher or not run.finished or not run.passed:
        sys.exit(f"mutants: the tests do not pass without a fault, see {job.output}")
    count = sum(map(len, run.passed.values()))
    print(f"  without a fault: {count} test cases pass, in {run.finished - run.started:.0f} s, "
          f"{run.gap:.0f} s of them silent", flush=True)
    return run.passed, run.finished - run.started, run.gap


def report(result, file):
    print(f"{result.verdict:9} {result.mutant.name} ({result.mutant.file})", file=file)
    if result.catcher:
        print(f"          {result.catcher}", file=file, flush=True)


def show(result):
    print(f"  {result.verdict:9} {result.mutant.name}" +
          (f": {result.catcher}" if result.catcher else ""), flush=True)


def test_in_one_of(idle, order, mutant):
    job = idle.get()
    try:
        return job.test_mutant(mutant, order)
    finally:
        idle.put(job)


def results_of(mutants, order, jobs):
    """In the table's order, each as soon as it and those before it are known."""
    idle = queue.SimpleQueue()
    for job in jobs:
        idle.put(job)
    with concurrent.futures.ThreadPoolExecutor(len(jobs)) as pool:
        try:
            yield from pool.map(functools.partial(test_in_one_of, idle, order), mutants)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for job in jobs:
                job.give_up()
            raise


def test_by_kunit(mutants, count):
    """Alone, as all checkouts share the scratch copies."""
    if not mutants:
        return
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / "mutants.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        order, seconds, gap = unmutated()
        jobs = [Job(i + 1, max(PATIENCE, 3 * seconds), max(SILENCE, 5 * gap))
                for i in range(count)]
        yield from results_of(mutants, order, jobs)


def test_all(mutants):
    RESULTS.parent.mkdir(exist_ok=True)
    begin = time.monotonic()
    verdicts = collections.Counter()
    judged = [mutant for mutant in mutants if mutant.model]
    run = [mutant for mutant in mutants if not mutant.model]
    with open(RESULTS, "w", encoding="utf-8") as file:
        for result in itertools.chain(map(judge_barrier, judged),
                                      test_by_kunit(run, jobs_wanted(run))):
            verdicts[result.verdict] += 1
            show(result)
            report(result, file)
        minutes = (time.monotonic() - begin) / 60
        summary = (f"{verdicts['caught']} of {len(mutants)} mutants caught, "
                   f"{verdicts['spare']} spare, in {minutes:.0f} minutes")
        print(summary, file=file)
    print(summary)
    return verdicts["caught"] + verdicts["spare"] == len(mutants)


def jobs_wanted(mutants):
    jobs = int(os.environ.get("JOBS") or len(os.sched_getaffinity(0)))
    return max(1, min(jobs, len(mutants)))


def main():
    only = os.environ.get("ONLY") or "*"
    mutants = [mutant for mutant in MUTANTS if fnmatch.fnmatch(mutant.name, only)]
    try:
        check_table()
    except (Stale, litmus.NoLine) as error:
        sys.exit(f"mutants: the table is stale: {error}")
    if not mutants:
        sys.exit(f"mutants: none is called {only}")
    if sys.argv[1:] == ["check"]:
        return 0
    return 0 if test_all(mutants) else 1


if __name__ == "__main__":
    sys.exit(main())
