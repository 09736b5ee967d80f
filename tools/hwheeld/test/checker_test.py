#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The checker passes histories that keep the promises, and names the one that is broken."""
import sys
import unittest

import unit
from checker import Checker
from clocks import NS
from history import (REFUSED, UNKNOWN, Ack, Cancel, Clock, Delivery, Fault, History, LostTake,
                     Put)


MS = 1000000


def put(begin, version="v1", delay=5, status=201, key="k"):
    return Put(begin, begin + 0.1, key, version, delay, status)


def cancel(begin, status=204, key="k"):
    return Cancel(begin, begin + 0.1, key, status)


def delivery(end, version="v1", number=1, lease=3, key="k"):
    return Delivery(end - 0.05, end, key, version, lease, number, "node")


def ack(begin, version="v1", number=1, status=204, key="k"):
    return Ack(begin, begin + 0.1, key, version, number, status)


def kill(begin, end):
    return Fault(begin, end, "a node is killed", True)


class Promises(unittest.TestCase):
    def all_rules(self, *events):
        history = History()
        for event in events:
            history.add(event)
        return [violation.rule for violation in Checker(history).check()]

    def rules(self, *events):
        """What is delivered in the end may be acknowledged."""
        last = [ack(100, event.version, event.number, UNKNOWN, event.key)
                for event in events if isinstance(event, Delivery)]
        return self.all_rules(*events, *last)

    def passes(self, *events):
        self.assertEqual(self.rules(*events), [])

    def breaks(self, rule, *events):
        self.assertEqual(self.rules(*events), [rule])


class Lost(Promises):
    def test_each_is_delivered(self):
        self.passes(put(0), delivery(5.2), ack(5.3))

    def test_one_is_lost(self):
        self.breaks("lost", put(0))

    def test_one_does_not_come_again(self):
        self.assertEqual(self.all_rules(put(0), delivery(5.2)), ["lost"])

    def test_a_take_without_an_answer_does_not_explain_it(self):
        self.breaks("lost", put(0), LostTake(6, 9))

    def test_a_restarted_one_is_lost(self):
        self.breaks("lost", put(0), put(1, "v2", status=200))

    def test_only_the_old_one_is_delivered(self):
        self.breaks("lost", put(0, delay=0), delivery(0.5), put(4, "v2", status=200))

    def test_a_cancelled_one_need_not_be(self):
        self.passes(put(0), cancel(1))

    def test_nor_one_that_may_be_cancelled(self):
        self.passes(put(0), cancel(1, UNKNOWN))

    def test_nor_one_that_may_not_have_been_put(self):
        self.passes(put(0, status=UNKNOWN))
        self.passes(put(0, status=REFUSED))

    def test_a_refused_cancel_changes_nothing(self):
        self.breaks("lost", put(0), cancel(1, REFUSED))

    def test_one_of_two_is_enough_if_the_restart_is_unknown(self):
        unknown = put(1, "v2", status=UNKNOWN)
        self.passes(put(0), unknown, delivery(5.3))
        self.passes(put(0), unknown, delivery(6.3, "v2"))
        self.breaks("lost", put(0), unknown)

    def test_a_restart_does_not_find_it(self):
        self.breaks("lost", put(0), put(1, "v2"), delivery(6.3, "v2"))

    def test_a_cancel_does_not_find_it(self):
        self.breaks("lost", put(0), cancel(1, 404))

    def test_it_may_be_acknowledged_meanwhile(self):
        self.passes(put(0, delay=0), delivery(1), Ack(1, 2, "k", "v1", 1, 204), cancel(1.5, 404))
        self.passes(put(0, delay=0), delivery(1), Ack(1, 2, "k", "v1", 1, UNKNOWN),
                    cancel(3, 404))


class Gone(Promises):
    def test_a_cancelled_one_comes(self):
        self.breaks("gone", put(0), cancel(1), delivery(5.2))

    def test_one_comes_while_its_cancel_is_on_its_way(self):
        self.passes(put(0, delay=0), Delivery(0.2, 3.3, "k", "v1", 1, 1, "node"), cancel(3.1))

    def test_the_old_one_comes_after_a_restart(self):
        self.breaks("gone", put(0, delay=0), put(1, "v2", delay=0, status=200),
                    delivery(2), delivery(6.3, "v2"))

    def test_a_refused_one_comes(self):
        self.breaks("gone", put(0, status=REFUSED), delivery(5.3))

    def test_one_comes_that_was_never_put(self):
        self.breaks("gone", put(0), delivery(5.2), delivery(5.3, "v2"))

    def test_an_unknown_put_comes(self):
        self.passes(put(0, status=UNKNOWN), delivery(5.2))

    def test_an_unknown_put_comes_twice(self):
        """It happened once, whenever that was."""
        self.breaks("gone", put(0, delay=0, status=UNKNOWN), delivery(1), ack(1.1), delivery(9))

    def test_an_acknowledged_one_comes_again(self):
        self.breaks("gone", put(0), delivery(5.2), ack(5.3), delivery(9, number=2))

    def test_a_cancelled_one_is_there_again(self):
        self.breaks("gone", put(0), cancel(1), cancel(2))
        self.breaks("gone", put(0), cancel(1), put(2, "v2", status=200), delivery(7.3, "v2"))

    def test_an_acknowledged_one_is_there_again(self):
        self.breaks("gone", put(0, delay=0), delivery(1), ack(1.1), cancel(2))

    def test_two_deliveries_have_one_number(self):
        self.breaks("gone", put(0), delivery(5.2), delivery(9))


class Early(Promises):
    def test_one_is_early(self):
        self.breaks("early", put(0), delivery(4.9))

    def test_an_unknown_one_is_early(self):
        self.breaks("early", put(0, status=UNKNOWN), delivery(4.9))

    def test_the_request_is_where_a_delay_may_begin(self):
        self.passes(put(0), delivery(5.01))

    def test_what_cannot_be_leased_yet_is_not_said_to_be(self):
        self.breaks("early", put(0), cancel(1, 409), delivery(5.2))


class Leased(Promises):
    def test_two_have_leases(self):
        self.breaks("leased", put(0), delivery(5.2), delivery(6, number=2))

    def test_one_comes_again_when_its_lease_has_ended(self):
        self.passes(put(0), delivery(5.2), delivery(8.3, number=2), ack(8.4, number=2))

    def test_or_when_the_acknowledgement_may_not_have_happened(self):
        self.passes(put(0), delivery(5.2), ack(5.3, status=UNKNOWN), delivery(8.3, number=2))
        self.passes(put(0), delivery(5.2), ack(8.3, status=410), delivery(9, number=2))

    def test_an_acknowledgement_is_refused_within_the_lease(self):
        self.breaks("leased", put(0), delivery(5.2), ack(6, status=410), delivery(9, number=2))

    def test_a_take_without_an_answer_may_have_leased_it(self):
        self.passes(put(0), LostTake(5.5, 9), delivery(8, number=2))
        self.breaks("several", put(0), LostTake(9, 12), delivery(8, number=2))
        self.breaks("several", put(0), delivery(8, number=2))


class Orders(Promises):
    def test_one_order_explains_all_answers(self):
        """Each of them has one of its own."""
        self.breaks("gone", Put(0, 9, "k", "v1", 0, 201), cancel(1, 404), cancel(2), cancel(3, 404),
                    cancel(4))

    def test_requests_that_overlap_have_any_order(self):
        self.passes(Put(0, 9, "k", "v1", 0, 201), Cancel(1, 9, "k", 204), Cancel(1, 9, "k", 404))

    def test_those_that_follow_do_not(self):
        self.breaks("gone", cancel(0, 204), put(1, "v1", 0), delivery(2))

    def test_two_promises_are_broken(self):
        self.breaks("several", put(0), cancel(1, 404), put(2, "v2"), delivery(3, "v2"))


class Takeover(unittest.TestCase):
    def waited(self, *events):
        history = History()
        for event in events:
            history.add(event)
        return Checker(history).takeovers()

    def test_a_timeout_waits_from_the_fault(self):
        waited = self.waited(put(0), kill(4, 20), delivery(17.2))
        self.assertAlmostEqual(waited["a node is killed"], 17.2 - 5.1)

    def test_one_due_later_waits_from_then(self):
        waited = self.waited(put(0, delay=9), kill(4, 30), delivery(21.2))
        self.assertAlmostEqual(waited["a node is killed"], 21.2 - 9.1)

    def test_a_lost_server_is_no_takeover(self):
        fault = Fault(4, 20, "all servers are killed", False)
        self.assertEqual(self.waited(put(0), fault, delivery(30)), {})

    def test_a_second_attempt_does_not_count(self):
        self.assertEqual(self.waited(put(0), kill(4, 20), delivery(17, number=2)), {})


def clock(begin, ahead, bound=0, epoch=1, node="keeper"):
    """ahead, bound: milliseconds; the node reads its clock in the middle of the 10 ms of a question."""
    now = int((begin + 0.005) * NS)
    return Clock(begin, begin + 0.01, node, epoch, now + ahead * MS, bound * MS)


class Time(Promises):
    def test_a_node_is_wrong_within_its_bound(self):
        self.passes(clock(1, 0), clock(2, 20, bound=15, node="other"), clock(3, 0))

    def test_a_node_is_wrong_by_more(self):
        self.breaks("clock", clock(1, 0), clock(2, 20, bound=9, node="other"))

    def test_a_keeper_steps(self):
        self.breaks("clock", clock(1, 0), clock(2, 11))

    def test_a_keeper_goes_on_from_what_it_knew(self):
        self.passes(clock(1, 0), clock(2, 20, bound=15, node="other"),
                    clock(3, 5, epoch=2, node="other"), clock(4, 5, epoch=2, node="other"))

    def test_what_it_knew_grows_with_time(self):
        """By 50 ms in 100 s"""
        self.passes(clock(0, 0), clock(100, 50, epoch=2, node="other"))
        self.breaks("clock", clock(0, 0), clock(100, 70, epoch=2, node="other"))

    def test_a_keeper_goes_on_from_another_time(self):
        self.breaks("clock", clock(1, 0), clock(2, 20, bound=15, node="other"),
                    clock(3, 50, epoch=2, node="other"))

    def test_a_node_has_not_heard_of_the_next_keeper(self):
        self.passes(clock(1, 0), clock(2, 9, epoch=2, node="other"), clock(3, 0))


    def test_all_nodes_were_away(self):
        away = Fault(2, 4, "a backup is restored", False, all_away=True)
        self.passes(clock(1, 0), away, clock(3, 5000, epoch=2))
        self.breaks("clock", clock(1, 0), away, clock(5, 5000), clock(6, 9000, epoch=2))


class Lateness(unittest.TestCase):
    def test_it_is_told_by_fault(self):
        history = History()
        for event in (put(0), delivery(5.3), put(10, "v2", key="l"), kill(14, 20),
                      delivery(20.1, "v2", key="l")):
            history.add(event)
        checker = Checker(history)
        late = checker.lateness()
        self.assertAlmostEqual(late["no fault"][0], 0.2)
        self.assertAlmostEqual(late["a node is killed"][0], 5)
        self.assertAlmostEqual(checker.takeovers()["a node is killed"], 5)


if __name__ == "__main__":
    sys.exit(unit.main("checker"))
