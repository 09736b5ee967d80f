#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""cluster_test.py HWHEELD FOLDER ROUNDS [SEED [TEST...]]: nodes that keep timeouts in etcd.

Three servers and the nodes are processes of this machine. A node that is killed, stopped, or that
has lost its server, loses nothing, and another node goes on. Prints TAP.
"""
import http.client
import json
import os
import random
import signal
import sys
import threading
import time

import openapi
from daemon import (PATIENCE, Client, Daemon, Tap, certify, equal, free_ports, listed, pages, true,
                    until)
from etcd import Etcd
from other_clock import OtherClock
from proxy import Proxy
from transfer import compare, moved, put_all_sorts, run_import, timeouts
from worker import CLIENTS, Worker

SESSION = 3

# By how many seconds the clocks of nodes differ, if they do
STEP = 100


class PatientClient(Client):
    """Asks again after 503, and knows whether an earlier try may have happened."""

    def __init__(self, path):
        super().__init__(path)
        self.is_unknown = False

    def request(self, *arguments, **options):
        self.is_unknown = False
        while (answer := super().request(*arguments, **options)).status == 503:
            self.is_unknown |= "may have happened" in answer.text.decode()
            time.sleep(0.01)
        if self.is_unknown and arguments[0] == "DELETE" and answer.status in (404, 410):
            answer.status = 204
        return answer


class PatientWorker(Worker):
    client = None

    def connect(self, path):
        self.client = PatientClient(path)
        return self.client

    def work(self, path):
        super().work(path)
        self.client = None

    def know(self, key, values):
        if self.client and self.client.is_unknown:
            values = values | self.may_be[key]
        super().know(key, values)


class Node(Daemon):
    def __init__(self, cluster, name, **settings):
        address = f"127.0.0.1:{free_ports(1)[0]}"
        super().__init__(cluster.program, f"{cluster.folder}/{name}", **{
            "node": name, "cluster": cluster.name,
            "mark": f"{cluster.folder}/{name}/mark", "listen": address,
            "peer_token_file": cluster.token_file, "session": f"{SESSION}s"} |
            cluster.etcd.settings() | settings)

    def ask(self, path):
        client = Client(self.socket)
        try:
            return client.request("GET", path)
        finally:
            client.close()

    def is_settled(self):
        return self.ask("/health").status == 200

    def start(self):
        super().start()
        until(self.is_settled, "all shards are loaded")
        return self

    def knows(self, count):
        nodes = self.ask("/cluster").json["nodes"]
        return len(nodes) == count and all(node["address"] for node in nodes)

    def shards(self):
        return self.ask("/cluster").json["shards_here"]


class Cluster:
    """Keys of its own in etcd, and nodes that end with it"""

    def __init__(self, program, folder, etcd, name):
        self.program = program
        self.folder = f"{folder}/{name}"
        self.etcd = etcd
        self.name = name
        self.nodes = []
        self.token_file = self.keep("token", "the secret of the nodes")

    def keep(self, name, text):
        """A file with a secret, and its path"""
        os.makedirs(self.folder, exist_ok=True)
        path = f"{self.folder}/{name}"
        with open(path, "w", encoding="ascii") as stream:
            print(text, file=stream)
        return path

    def keys(self, below):
        """How many there are"""
        return self.etcd.count(f"{self.name}/{below}")

    def node(self, name, **settings):
        self.nodes.append(Node(self, name, **settings))
        return self.nodes[-1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for node in self.nodes:
            node.hang_up()
            if node.process and node.process.poll() is None:
                node.kill()


def work(node, workers, seconds, disturb):
    """The workers work, and are disturbed; they end when the node is killed."""
    threads = [threading.Thread(target=worker.work, args=(node.socket,)) for worker in workers]
    for thread in threads:
        thread.start()
    threads[0].join(seconds)
    disturb()
    node.kill()
    for thread in threads:
        thread.join()


def a_killed_node_loses_nothing(cluster, rounds, seed):
    chance = random.Random(seed)
    workers = [PatientWorker(number, seed) for number in range(CLIENTS)]
    for number in range(rounds):
        node = cluster.node(f"node{number}").start()
        for worker in workers:
            worker.check(node.client())
        work(node, workers, chance.random() * 2, lambda: None)
    node = cluster.node("last").start()
    for worker in workers:
        worker.check(node.client())
        worker.drain(node.client())
    print(f"# {rounds} kills, {sum(w.done for w in workers)} operations, seed {seed}")
    equal(node.stop(), 0)


def a_restarted_node_has_all(cluster):
    node = cluster.node("one").start()
    client = node.client()
    for part in range(20):
        answer = client.put_many([{"key": f"{part}-{i}", "delay": 3600, "payload": "x" * 100}
                                  for i in range(1000)])
        equal((answer.status, answer.text if answer.status != 200 else b""), (200, b""))
    equal(node.stop(), 0)
    begin = time.monotonic()
    node.start()
    equal(node.ask("/health").json["timeouts"], 20000)
    print(f"# {time.monotonic() - begin:.2f} s from the start until 20,000 timeouts are loaded")


def the_log_is_cleaned(cluster):
    """The same timeouts again and again: most of the log means nothing."""
    node = cluster.node("one").start()
    client = node.client()
    for turn in range(40):
        answer = client.put_many([{"key": f"k{i}", "delay": 3600, "payload": f"{turn}"}
                                  for i in range(1000)])
        equal((answer.status, answer.text if answer.status != 200 else b""), (200, b""))
    until(lambda: client.put("more", delay=3600).status and
          client.metric("hwheeld_log_records") < 20000, "the log gets short")
    until(lambda: cluster.keys("log/") < 30 * 16, "the commits are removed")
    equal(node.stop(), 0)
    client = node.start().client()
    equal(node.ask("/health").json["timeouts"], 1001)
    for i in range(1000):
        equal(client.get(f"k{i}").json["payload"], "39")


def full_servers_take_no_more_but_end_what_there_is(cluster):
    """The second node has the least quota that there is."""
    node = cluster.node("one").start()
    for key in "taken", "cancelled":
        equal(node.client().put(key, delay=0 if key == "taken" else 3600).status, 201)
    equal(node.stop(), 0)
    node = cluster.node("two", etcd_quota=1 << 24).start()
    client = node.client()
    numbers = iter(range(10000))
    until(lambda: client.put(f"k{next(numbers)}", delay=3600, payload="x" * 65000).status == 507,
          "new ones are refused")
    quota = client.metric("hwheeld_servers_quota_bytes")
    equal(quota, 1 << 24)
    until(lambda: client.metric("hwheeld_servers_bytes") >= 0.75 * quota, "three quarters are there")
    equal(node.ask("/health").status, 200)
    equal(node.ask("/health/accept").status, 503)
    timeout, = client.take(wait=30)
    equal(timeout["key"], "taken")
    equal(client.ack(timeout["token"]), 204)
    equal(client.cancel("cancelled").status, 204)


def churn(socket, number, turns):
    """Some timeouts are put and live, others are put again and again."""
    client = Client(socket)
    for turn in range(turns):
        for name, count in (f"live-{number}-{turn}", 20), (f"churn-{number}", 500):
            equal(client.put_many([{"key": f"{name}-{i}", "delay": 3600, "payload": f"{turn}"}
                                   for i in range(count)]).status, 200)
    client.close()


def cleaning_keeps_all_that_live(cluster):
    """It goes on beside commits, for several turns of the log."""
    node = cluster.node("one").start()
    threads = [threading.Thread(target=churn, args=(node.socket, number, 60))
               for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    client = node.client()
    equal(node.ask("/health").json["timeouts"], 4 * (60 * 20 + 500))
    until(lambda: client.put("more", delay=3600).status and
          client.metric("hwheeld_log_records") < 40000, "the log gets short")
    node.kill()
    node = cluster.node("two").start()
    equal(node.ask("/health").json["timeouts"], 4 * (60 * 20 + 500) + 1)
    client = node.client()
    for number in range(4):
        equal(client.get(f"churn-{number}-7").json["payload"], "59")


def a_node_that_crashed_does_not_wait_for_its_session(cluster):
    """The session that its mark has would last longer than this test waits."""
    node, = settled(cluster, "one")
    equal(node.client().put("a", delay=3600).status, 201)
    equal(node.stop(), 0)
    lease = cluster.etcd.control("lease", "grant", "3600").split()[1]
    cluster.etcd.control("put", f"--lease={lease}", f"{cluster.name}/members/one", "a" * 16)
    mark = node.settings["mark"]
    with open(mark, encoding="ascii") as stream:
        identity, revision, _ = stream.read().split()
    with open(mark, "w", encoding="ascii") as stream:
        print(identity, revision, lease, file=stream)
    node.start()
    equal(node.client().get("a").status, 200)


def a_name_that_another_node_has_is_refused(cluster):
    settled(cluster, "one")
    other = cluster.node("other", node="one")
    other.launch()
    equal(other.wait(), 1)
    true("another node has the name one" in other.said(), other.said())


def a_mark_that_another_node_has_is_refused(cluster):
    one, = settled(cluster, "one")
    other = cluster.node("other", mark=one.settings["mark"])
    other.launch()
    equal(other.wait(), 1)
    true("another hwheeld uses it" in other.said(), other.said())


def a_disk_that_hangs_keeps_nothing_waiting(cluster):
    """The mark is there, and written again in its place."""
    node = cluster.node("one")
    flag = f"{node.folder}/sync"
    node.environment = {"LD_PRELOAD": f"{os.path.dirname(node.program)}/fail_sync.so",
                        "HANG_SYNC": flag}
    start(node)

    def mark():
        with open(node.settings["mark"], encoding="ascii") as stream:
            return stream.read()
    before = mark()
    open(f"{flag}.loop", "w", encoding="ascii").close()
    client = node.client()
    until(lambda: client.put("a", delay=3600).status in (200, 201) and mark() != before,
          "the mark is written")
    true(os.path.exists(f"{flag}.loop"), "a write of the mark waited for the disk")


def shards_move_to_a_second_node_and_back(cluster):
    one = cluster.node("one").start()
    equal(one.shards(), 16)
    client = one.client()
    for i in range(100):
        equal(client.put(f"k{i}", delay=3600).status, 201)
    two = cluster.node("two").start()
    until(one.is_settled, "one has given some back")
    equal(one.shards() + two.shards(), 16)
    true(0 < two.shards() < 16, two.shards())
    counts = [node.ask("/health").json["timeouts"] for node in (one, two)]
    equal(sum(counts), 100)
    true(all(counts), counts)
    clients = [one.client(), two.client()]
    for i in range(100):
        equal([client.put(f"k{i}", delay=3600).status for client in clients], [200, 200])
    one.kill()
    begin = time.monotonic()
    until(lambda: two.shards() == 16, "two has all shards")
    print(f"# {time.monotonic() - begin:.2f} s until the other node has all, session {SESSION} s")
    for i in range(100):
        equal(clients[1].get(f"k{i}").status, 200)


def a_takeover_by_a_full_wheel_loses_nothing(cluster):
    """The other node's wheel has room for half of what it gets."""
    one = cluster.node("one").start()
    client = one.client()
    for part in range(10):
        due = time.monotonic() + 10
        equal(client.put_many([{"key": f"{part}-{i}", "delay": 3600 if part < 9 else 10}
                               for i in range(200)]).status, 200)
    one.kill()
    two = cluster.node("two")
    two.environment = {"WHEEL_ROOM": "1000"}
    client = two.start().client()
    equal(two.ask("/health").json["timeouts"], 2000)
    true(client.metric("hwheeld_alarms_beside_wheel") > 900, "the wheel is full")
    equal(client.put("new", delay=1).status, 507)
    batch = client.put_many([{"key": f"new-{i}", "delay": 1} for i in range(10)])
    equal(batch.status, 507)
    taken = set()
    while len(taken) < 200:
        for timeout in client.take(max=1000, wait=30):
            true(time.monotonic() > due - 0.01, "it is early")
            taken.add(timeout["key"])
            equal(client.ack(timeout["token"]), 204)
    equal(taken, {f"9-{i}" for i in range(200)})
    for i in range(200):
        equal([client.cancel(f"{part}-{i}").status for part in range(5)], [204] * 5)
    until(lambda: client.metric("hwheeld_alarms_beside_wheel") == 0, "all have room")
    equal(client.put("new", delay=3600).status, 201)
    equal(two.stop(), 0)


def start(*nodes):
    """Until all know of each other, and have their shards"""
    for node in nodes:
        node.start()
    for node in nodes:
        until(lambda node=node: node.is_settled() and node.knows(len(nodes)),
              "all know each other")
    return nodes


def settled(cluster, *names, **settings):
    return start(*(cluster.node(name, **settings) for name in names))


def any_node_answers_for_any_timeout(cluster):
    nodes = settled(cluster, "one", "two", "three")
    clients = [node.client() for node in nodes]
    keys = [f"k/{i} \N{GREEK SMALL LETTER ALPHA}" for i in range(60)]
    for i, key in enumerate(keys):
        one, two, three = clients[i % 3:] + clients[:i % 3]
        equal(one.put(key, delay=3600, payload=f"p{i}").status, 201)
        equal(two.put(key, {"If-None-Match": "*"}, delay=1).status, 412)
        equal(two.get(key).json["payload"], f"p{i}")
        equal(three.put(key, delay=-1).status, 400)
        equal(two.put(key, delay=3600, payload="again").status, 200)
        equal(three.get(key).json["payload"], "again")
    counts = [node.ask("/health").json["timeouts"] for node in nodes]
    equal(sum(counts), len(keys))
    true(all(counts), counts)
    for i, key in enumerate(keys):
        equal(clients[i % 3].cancel(key).status, 204)
        equal(clients[(i + 1) % 3].cancel(key).status, 404)


def requests_that_go_together_have_answers_of_their_own(cluster):
    """They wait together while the other node is stopped; some of their clients hang up."""
    one, two = settled(cluster, "one", "two", session="30s")
    client = one.client()
    for i in range(200):
        equal(client.put(f"k{i}", delay=3600).status, 201)
    there = own_keys(two)
    moves = [("PUT", '{"delay":3600,"payload":"again"}', 200), ("DELETE", None, 204),
             ("PUT", "no JSON", 400), ("PUT", '{"delay":-1}', 400)]
    asked = []
    two.signal(signal.SIGSTOP)
    for i, key in enumerate(there):
        method, text, status = moves[i % len(moves)]
        asked.append((one.client(), key, method, status))
        asked[-1][0].connection.request(method, f"/timeouts/{key}", text)
    gone = one.client()
    gone.connection.request("PUT", f"/timeouts/{there[0]}", '{"delay":3600,"payload":"gone"}')
    gone.close()
    two.signal(signal.SIGCONT)
    for client, key, method, status in asked:
        answer = client.connection.getresponse()
        text = answer.read()
        equal((key, method, answer.status), (key, method, status))
        true(status == 204 or json.loads(text).get("key", key) == key, text)
        client.close()
    client = two.client()
    for i, key in enumerate(there[1:], 1):
        found = client.get(key)
        equal(found.status, 404 if i % len(moves) == 1 else 200)
        if i % len(moves) == 0:
            equal(found.json["payload"], "again")


def cancel_at_once(node, keys):
    """Returns the answers, and their texts."""
    clients = [node.client() for _ in keys]
    for client, key in zip(clients, keys):
        client.connection.request("DELETE", f"/timeouts/{key}")
    answers = [client.connection.getresponse() for client in clients]
    return answers, [answer.read().decode() for answer in answers]


def requests_for_a_node_that_is_gone_go_to_the_next(cluster):
    """It is stopped beyond its session: what was sent may have happened, what waits goes elsewhere."""
    one, two = settled(cluster, "one", "two", request_time="1h")
    client = one.client()
    for i in range(200):
        equal(client.put(f"k{i}", delay=3600).status, 201)
    there = own_keys(two)
    two.signal(signal.SIGSTOP)
    answers, texts = cancel_at_once(one, there)
    true(all(answer.status == 204 or "may have happened" in text or "nothing has changed" in text
             for answer, text in zip(answers, texts)), texts)
    true(any(answer.status == 204 or "nothing has changed" in text
             for answer, text in zip(answers, texts)), "each one was sent")
    until(one.is_settled, "it has all shards")
    client = one.client()
    for answer, text, key in zip(answers, texts, there):
        equal(client.get(key).status, 404 if answer.status == 204 else 200)
    two.signal(signal.SIGCONT)


def a_request_that_waits_for_a_node_too_long_has_not_happened(cluster):
    """It is stopped: what was sent to it may have happened, what was to be sent next has not."""
    one, two = settled(cluster, "one", "two", session="60s", request_time="2s", body=1024)
    client = one.client()
    for i in range(300):
        equal(client.put(f"k{i}", delay=3600).status, 201)
    there = own_keys(two)
    two.signal(signal.SIGSTOP)
    answers, texts = cancel_at_once(one, there)
    equal({answer.status for answer in answers}, {503})
    two.signal(signal.SIGCONT)
    kept = [key for key, text in zip(there, texts) if "nothing has changed" in text]
    equal(len(kept) + sum("may have happened" in text for text in texts), len(there))
    true(0 < len(kept) < len(there), f"{len(kept)} of {len(there)} were not sent")
    for key in kept:
        equal(one.client().get(key).status, 200)


def a_node_that_does_not_answer_is_named_once(cluster):
    """And once more when it does"""
    one, two = settled(cluster, "one", "two", session="60s", request_time="1s")
    client = one.client()
    for i in range(20):
        equal(client.put(f"k{i}", delay=3600).status, 201)
    there = own_keys(two)
    two.kill()
    for key in there[:3]:
        equal(one.client().get(key).status, 503)

    def named():
        return [line for line in one.said().splitlines() if two.settings["listen"] in line]
    equal(len(named()), 1)
    two.start()
    until(lambda: len(named()) > 1, "it answers")
    equal(len(named()), 2)


def a_parcel_of_requests_that_is_none_is_refused(cluster):
    node = cluster.node("one").start()
    path = "/peer/requests"
    for body in ("", "x", "PUT", "PUT /timeouts/a\n", "PUT /timeouts/a -1\n", "PUT /timeouts/a 9\nx",
                 "GET /timeouts/a 0\n", "POST /queues/q/take 0\n", "PUT /timeouts/a 0\nx",
                 "DELETE /timeouts/a 0\n" * 257, "PUT /timeouts/a 99999999999999999999\n",
                 f"PUT /timeouts/{'a' * 2000} 0\n"):
        equal(ask_as_a_node(node, path, body)[0], 400)
    put = '{"delay":3600}'
    status, text = ask_as_a_node(node, path, f"PUT /timeouts/a {len(put)}\n{put}"
                                 "DELETE /timeouts/b 0\nPUT /other 0\n")
    equal(status, 200)
    equal([line.split(b" ")[0] for line in text.split(b"\n")[::2]], [b"201", b"404", b"404", b""])
    equal(node.client().get("a").status, 200)
    equal(node.client().request("POST", path, "").status, 404)


def a_key_is_passed_on_as_it_is(cluster):
    nodes = settled(cluster, "one", "two")
    clients = [node.client() for node in nodes]
    for i in range(20):
        for key in (f"{i}/../a", f"{i}/./b", f"{i}#c", f"../leases/{i}"):
            equal(clients[i % 2].request("PUT", f"/timeouts/{key}", {"delay": 3600}).status, 201)
            for client in clients:
                equal(client.get(key).json["key"], key)


def a_node_ends_while_another_one_keeps_it_waiting(cluster):
    one, two = settled(cluster, "one", "two", grace="500ms")
    client = one.client()
    equal(client.put_many([{"key": f"k{i}", "delay": 3600} for i in range(50)]).status, 200)
    there = own_keys(two)
    two.signal(signal.SIGSTOP)
    waiting = [one.client() for _ in range(2)]
    waiting[0].connection.request("DELETE", f"/timeouts/{there[0]}")
    waiting[1].connection.request("POST", "/queues/default/take?wait=60")
    until(lambda: polls(one) == 1, "it waits")
    equal(one.stop(), 0)
    two.signal(signal.SIGCONT)


def a_batch_goes_to_all_nodes(cluster):
    nodes = settled(cluster, "one", "two", "three")
    client = nodes[0].client()
    wishes = [{"key": f"k{i}", "delay": 3600, "payload": f"p{i}"} for i in range(300)]
    answer = client.put_many(wishes)
    equal(answer.status, 200)
    equal(answer.json["results"], [{"key": f"k{i}", "status": 201} for i in range(300)])
    counts = [node.ask("/health").json["timeouts"] for node in nodes]
    equal(sum(counts), 300)
    true(all(counts), counts)
    wishes = [{"key": f"n{i}", "delay": 3600 if i else -1} for i in range(300)]
    equal(client.put_many(wishes).status, 400)
    equal(sum(node.ask("/health").json["timeouts"] for node in nodes), 300)
    other = nodes[1].client()
    for i in range(300):
        equal(other.get(f"k{i}").json["payload"], f"p{i}")
    wishes = [{"key": f"{name}{i}", "delay": 1, "payload": "new"} for i in range(100) for name in "kn"]
    answer = other.request("POST", "/timeouts", {"timeouts": wishes}, {"If-None-Match": "*"})
    equal([result["status"] for result in answer.json["results"]], 100 * [412, 201])
    equal([client.get(f"k{i}").json["payload"] for i in range(300)], [f"p{i}" for i in range(300)])
    before = nodes[0].ask("/health").json["timeouts"]
    nodes[2].signal(signal.SIGSTOP)
    client.send("POST", "/timeouts",
                {"timeouts": [{"key": f"late{i}", "delay": 3600} for i in range(300)]})
    until(lambda: nodes[0].ask("/health").json["timeouts"] > before, "its own part is done")
    nodes[2].signal(signal.SIGKILL)
    equal({result["status"] for result in client.answer().json["results"]}, {201, 503})


class Batcher(threading.Thread):
    """A client that puts many timeouts at once, again and again, and asks one node only"""

    def __init__(self, name, node):
        super().__init__(name=name, daemon=True)
        self.node = node
        self.ended = threading.Event()
        self.requests = 0
        self.failed = []

    def run(self):
        client = Client(self.node.socket)
        while not self.ended.wait(0.002):
            self.requests += 1
            answer = client.put_many([{"key": f"{self.name}-{i}", "delay": 3600}
                                      for i in range(40)])
            bad = [answer.json] if answer.status != 200 else [
                result for result in answer.json["results"] if result["status"] not in (200, 201)]
            self.failed += bad[:1]
        client.close()


def a_handover_costs_no_batch(cluster):
    """Shards go to a second node and to a third one."""
    nodes = [*settled(cluster, "one")]
    batchers = [Batcher(f"b{number}", nodes[0]) for number in range(CLIENTS)]
    for batcher in batchers:
        batcher.start()
    for name in "two", "three":
        nodes.append(cluster.node(name).start())
        until(lambda: all(node.is_settled() and node.knows(len(nodes)) for node in nodes),
              "all serve")
    for batcher in batchers:
        batcher.ended.set()
    for batcher in batchers:
        batcher.join()
    failed = [one for batcher in batchers for one in batcher.failed]
    print(f"# {sum(batcher.requests for batcher in batchers)} batches, {len(failed)} failed")
    equal(failed[:5], [])
    true(all(node.ask("/health").json["timeouts"] for node in nodes), "a node has none")


def any_node_lists_all_timeouts(cluster):
    """In the same order, in pages that are full but for the last one"""
    nodes = settled(cluster, "one", "two", "three")
    clients = [node.client() for node in nodes]
    known = {f"{'ab'[i % 50 == 49]}/{i}": f"p{i}" for i in range(1000)}
    equal(clients[0].put_many([{"key": key, "delay": 3600, "payload": payload, "queue": f"q{i // 100}"}
                               for i, (key, payload) in enumerate(known.items())]).status, 200)
    due = clients[0].put("due", delay=0, queue="due")
    until(lambda: clients[0].get("due").json["state"] == "due", "it is due")
    known["due"] = ""
    first = None
    for node, client in zip(nodes, clients):
        true(0 < len(own_keys(node)) < len(known), "the node has a part")
        sizes = [len(page) for page in pages(client, "limit=100")]
        equal(sizes, 10 * [100] + [1])
        found = [(timeout["key"], timeout["payload"])
                 for timeout in listed(client, "payload=1&limit=300")]
        equal((len(found), dict(found)), (len(known), known))
        first = first or found
        equal(found, first)
        for query, expected in (("queue=q7", [key for key in known if key[2:].startswith("7") and
                                              len(key) == 5]),
                                ("prefix=b%2F", [key for key in known if key[0] == "b"]),
                                ("prefix=b/5&queue=q5", ["b/549", "b/599"]), ("state=due", ["due"]),
                                ("state=leased", []), ("prefix=c", [])):
            for limit in 1, 7, 1000:
                got = [len(page) for page in pages(client, f"{query}&limit={limit}")]
                equal(got, [limit] * (len(expected) // limit) +
                      [len(expected) % limit] * bool(len(expected) % limit or not expected))
            equal((query, sorted(timeout["key"] for timeout in listed(client, query))),
                  (query, sorted(expected)))
    equal(due.status, 201)


def a_page_has_so_many_payloads_of_all_nodes(cluster):
    nodes = settled(cluster, "one", "two", "three")
    client = nodes[0].client()
    known = {f"k{i}": 60000 * chr(1 + i) for i in range(30)}
    for key, payload in known.items():
        equal(client.put(key, delay=3600, payload=payload).status, 201)
    found = list(pages(nodes[1].client(), "payload=1&limit=1000"))
    equal([len(page) for page in found], 7 * [4] + [2])
    equal({timeout["key"]: timeout["payload"] for page in found for timeout in page}, known)


def a_node_asked_for_a_part_asks_no_other_one(cluster):
    nodes = settled(cluster, "one", "two")
    keys = [f"k{i}" for i in range(200)]
    equal(nodes[0].client().put_many([{"key": key, "delay": 3600} for key in keys]).status, 200)
    one, two = map(own_keys, nodes)
    equal(sorted(one + two), sorted(keys))
    for node in nodes:
        for shard in range(SHARDS):
            status, text = ask_as_a_node(node, f"/timeouts?limit=0&after={place(shard)}")
            true(status in (200, 421), status)
            if status == 200:
                part = json.loads(text)
                equal((part["timeouts"], part["more"]), ([], True))
        for path in ("limit=1001", "bytes=x", "after=x"):
            equal(ask_as_a_node(node, f"/timeouts?{path}")[0], 400)
        part = json.loads(ask_as_a_node(node, f"/timeouts?after={place(SHARDS)}")[1])
        equal(part, {"timeouts": [], "more": False})


def pages_until_503(client):
    """What was listed, and the answer that is none"""
    found, after = [], ""
    while True:
        answer = client.request("GET", f"/timeouts?limit=1000{after}")
        if answer.status != 200:
            equal(answer.status, 503)
            return found, answer.json["error"]
        page = answer.json
        true("next" in page, "the list ends without what a node has")
        true(page["timeouts"], "an empty page, and more")
        found += [timeout["key"] for timeout in page["timeouts"]]
        after = f"&after={page['next']}"


def a_list_does_not_pass_over_a_node(cluster):
    """Which does not answer, or is gone; all is listed when it goes on."""
    one, two, three = settled(cluster, "one", "two", "three", request_time="2s", session="20s")
    client = one.client()
    keys = {f"k{i}" for i in range(300)}
    equal(client.put_many([{"key": key, "delay": 3600} for key in keys]).status, 200)
    own = set(own_keys(two))
    two.signal(signal.SIGSTOP)
    found, error = pages_until_503(client)
    two.signal(signal.SIGCONT)
    true("node" in error, error)
    equal(set(found) & own, set())
    equal({timeout["key"] for timeout in listed(client)}, keys)
    two.kill()
    found, error = pages_until_503(client)
    true("node" in error, error)
    equal(set(found) & own, set())
    two.start()
    until(lambda: all(node.is_settled() for node in (one, two, three)), "it has its shards again")
    equal({timeout["key"] for timeout in listed(three.client())}, keys)


def a_list_has_all_while_shards_move(cluster):
    """Nodes come and go, and other timeouts come, go and are restarted."""
    nodes = settled(cluster, "one", "two")
    client = PatientClient(nodes[0].socket)
    keys = {f"kept{i}" for i in range(1000)}
    equal(client.put_many([{"key": key, "delay": 3600} for key in keys]).status, 200)
    ended = threading.Event()
    failed = []

    def disturb():
        mover = PatientClient(nodes[1].socket)
        turn = 0
        try:
            while not ended.is_set():
                turn += 1
                true(mover.put(f"kept{turn % 1000}", delay=3600).status in (200, 201), "restarted")
                true(mover.put(f"other{turn % 50}", delay=3600).status in (200, 201), "put")
                true(mover.cancel(f"other{(turn + 25) % 50}").status in (204, 404), "cancelled")
        except Exception as error:  # told by the thread that waits
            failed.append(error)
        finally:
            mover.close()

    thread = threading.Thread(target=disturb)
    thread.start()
    lists = 0
    try:
        third = cluster.node("three")
        for step in (third.launch, None, lambda: third.signal(signal.SIGTERM), None) * 2:
            if step:
                step()
            before = lists
            while lists < before + 3:
                got = {timeout["key"] for timeout in listed(client, "limit=90")}
                equal(keys - got, set())
                lists += 1
            if step == third.launch:
                until(lambda: third.is_up() and third.is_settled() and third.knows(3), "it is there")
            elif step:
                equal(third.wait(), 0)
    finally:
        ended.set()
        thread.join()
        client.close()
    equal(failed, [])
    print(f"# {lists} lists")


def an_export_goes_to_a_cluster_and_back(cluster):
    with Daemon(cluster.program, f"{cluster.folder}/from") as one, \
            Daemon(cluster.program, f"{cluster.folder}/to") as two:
        put_all_sorts(one.client())
        lines = one.export()
        nodes = settled(cluster, "one", "two", "three")
        half = "".join(line + "\n" for line in lines.split("\n")[:700])
        equal(run_import(nodes[0], half), (0, 700, 0))
        equal(run_import(nodes[1], lines), (0, len(timeouts(lines)) - 700, 700))
        middle = moved(nodes[2])
        compare(lines, middle)
        equal(run_import(two, middle), (0, len(timeouts(lines)), 0))
        compare(lines, moved(two))
        compare(middle, moved(two))
        for daemon in one, two:
            daemon.is_sound()


def a_take_finds_what_any_node_has(cluster):
    nodes = settled(cluster, "one", "two", "three")
    clients = [node.client() for node in nodes]
    keys = {f"k{i}" for i in range(60)}
    equal(clients[0].put_many([{"key": key, "delay": 0, "payload": key}
                               for key in keys]).status, 200)
    found = []
    while len(found) < len(keys):
        for timeout in clients[1].take(max=7):
            equal(timeout["payload"], timeout["key"])
            found.append(timeout)
    equal({timeout["key"] for timeout in found}, keys)
    equal(clients[1].take(), [])
    for i, timeout in enumerate(found):
        equal(clients[i % 3].ack(timeout["token"]), 204)
        equal(clients[(i + 1) % 3].ack(timeout["token"]), 410)


def a_long_poll_gets_what_becomes_due_anywhere(cluster):
    """The one that waits is at one node, and a timeout of each node comes."""
    nodes = settled(cluster, "one", "two", "three")
    waiting, other = nodes[0].client(), nodes[1].client()
    for i in range(30):
        equal(other.put(f"k{i}", delay=0.1).status, 201)
        timeouts = waiting.take(wait=30)
        equal([timeout["key"] for timeout in timeouts], [f"k{i}"])
        equal(timeouts[0]["deliveries"], 1)
        equal(other.ack(timeouts[0]["token"]), 204)
    equal(waiting.take(wait=0.05), [])


def a_client_that_hangs_up_keeps_nothing_of_another_node(cluster):
    nodes = settled(cluster, "one", "two", "three")
    other = nodes[1].client()
    for i in range(20):
        gone = nodes[0].client()
        gone.connection.request("POST", "/queues/default/take?wait=30&lease=3600")
        until(lambda: polls(nodes[0]) == 1, "it waits")
        gone.close()
        equal(other.put(f"k{i}", delay=0).status, 201)
        equal([timeout["key"] for timeout in other.take(wait=30)], [f"k{i}"])


def a_missing_commit_is_not_passed_over(cluster):
    """The shard is served when an operator accepts what is missing, and the others are all the time."""
    node, = settled(cluster, "one")
    client = node.client()
    for turn in range(3):
        equal(client.put_many([{"key": f"k{i}-{turn}", "delay": 3600}
                               for i in range(100)]).status, 200)
    equal(client.request("POST", "/cluster/shards/3/accept").status, 404)
    equal(node.stop(), 0)
    commits = cluster.etcd.keys(f"{cluster.name}/log/0003/")
    true(len(commits) >= 4, commits)
    cluster.etcd.control("del", commits[-2])
    node.launch()
    until(node.is_up, "it listens")
    until(lambda: "shard 3: a commit is missing or damaged" in node.said(), "it says so")
    until(lambda: node.shards() == 15, "all other shards are loaded")
    equal(node.ask("/cluster").json["shards_broken"], [3])
    true(not node.is_settled(), "a shard is not served")
    client = node.client()
    statuses = {key: client.get(key).status for key in (f"k{i}-0" for i in range(100))}
    equal(set(statuses.values()), {200, 503})
    found, error = pages_until_503(client)
    true("missing" in error, error)
    equal({statuses.get(key, 200) for key in found}, {200})
    for shard, status in (("16", 404), ("x", 400), ("4", 404), ("3", 204)):
        equal(client.request("POST", f"/cluster/shards/{shard}/accept").status, status)
    until(node.is_settled, "it is served")
    equal(set(statuses) - {timeout["key"] for timeout in listed(client)}, set())
    for key in statuses:
        equal(client.get(key).status, 200)
    found = [client.get(f"k{i}-{turn}").status for turn in (1, 2) for i in range(100)]
    equal(set(found), {200, 404})
    equal(node.restart().ask("/cluster").json["shards_broken"], [])


def ask_as_a_node(node, path, body=None):
    """The status, and the answer"""
    connection = http.client.HTTPConnection(node.settings["listen"], timeout=PATIENCE)
    connection.request("POST" if body is not None else "GET", path, body, {"Authorization": "Bearer the secret of the nodes"})
    answer = connection.getresponse()
    found = answer.status, answer.read()
    connection.close()
    return found


SHARDS = 16


def place(shard):
    """Where a list of that shard, and of those behind it, begins"""
    return shard << 52


def own_parts(node):
    """The parts of a list that the node has, as another node is told"""
    shard = 0
    while shard < SHARDS:
        status, text = ask_as_a_node(node, f"/timeouts?limit=1000&after={place(shard)}")
        if status == 421:
            shard += 1
            continue
        equal(status, 200)
        part = json.loads(text)
        equal(part["more"], False)
        shard = part.get("next", place(SHARDS)) >> 52
        yield part["timeouts"]


def own_keys(node):
    return [timeout["key"] for part in own_parts(node) for timeout in part]


def tails(node):
    """As another node is told: those that it has, and the shards that it owns"""
    found = json.loads(ask_as_a_node(node, "/peer/tails", '{"from":0,"tails":[]}')[1])["tails"]
    return {one["tail"] for one in found}, [one["shard"] for one in found if one["owner"]]


def a_lost_end_is_noticed_by_a_node_that_heard_of_it(cluster):
    """A node dies, and so do its last commits: what the store has looks whole."""
    one, two = settled(cluster, "one", "two", session="10s")
    shard = tails(one)[1][0]
    log, tail = f"{cluster.name}/log/{shard:04}/", f"{cluster.name}/shards/{shard:04}"
    before, kept = cluster.etcd.value(tail), set(cluster.etcd.keys(log))
    equal(one.client().put_many([{"key": f"k{i}", "delay": 3600}
                                 for i in range(100)]).status, 200)
    after = cluster.etcd.value(tail).hex()
    true(after != before.hex(), "the shard has no commit")
    until(lambda: after in tails(two)[0], "the other node has heard of it")
    one.kill()
    for key in set(cluster.etcd.keys(log)) - kept:
        cluster.etcd.control("del", key)
    cluster.etcd.control("put", tail, value=before)
    until(lambda: f"shard {shard}: the end of its log, which a node has heard of, is missing"
          in two.said(), "the other node says so")
    equal(two.ask("/cluster").json["shards_broken"], [shard])
    equal(two.client().request("POST", f"/cluster/shards/{shard}/accept").status, 204)
    until(two.is_settled, "it is served")


def another_store_is_noticed(cluster):
    """As one that was restored from a backup: the node has seen what that does not have."""
    node, = settled(cluster, "one")
    equal(node.client().put("a", delay=3600).status, 201)
    equal(node.stop(), 0)
    with Etcd(f"{cluster.folder}/other") as other:
        node.settings |= other.settings()
        node.launch()
        equal(node.wait(), 1)
        true("the store was restored from a backup" in node.said(), node.said())
        equal(other.keys(""), [])
        os.unlink(node.settings["mark"])
        node.start()
        equal(node.client().get("a").status, 404)
        equal(node.stop(), 0)


def beside_proxy(cluster, proxy):
    """Two nodes; the proxy can hold the second one's answers to the first one."""
    two = cluster.node("two", advertise=proxy.address)
    proxy.target = two.settings["listen"].split(":")
    return start(cluster.node("one"), two)


def put_some(node, count):
    """Returns those that the node has itself."""
    client = node.client()
    for i in range(count):
        equal(client.put(f"k{i}", delay=3600).status, 201)
    return own_keys(node)


def a_lease_lasts_as_long_as_a_client_asked_that_came_later(cluster):
    """Another node's answer is on its way while one client leaves and another one comes."""
    with Proxy() as proxy:
        one, two = beside_proxy(cluster, proxy)
        there, first, later = two.client(), one.client(), one.client()
        keys = put_some(two, 20)
        first.send("POST", "/queues/default/take?wait=60&lease=2")
        until(lambda: polls(one) == 1 and polls(two) == 1, "one waits at two")
        proxy.hold()
        equal(there.put(keys[0], delay=0).status, 200)
        again = there.take(wait=30, lease=3600)
        equal([(timeout["key"], timeout["deliveries"]) for timeout in again], [(keys[0], 2)])
        until(lambda: polls(one) == 1, "two does not wait at one any more")
        later.send("POST", "/queues/default/take?wait=60&lease=2")
        until(lambda: polls(one) == 2, "another client waits")
        first.close()
        until(lambda: polls(one) == 1, "the first one has gone")
        proxy.release()
        equal(there.put(keys[1], delay=0).status, 200)
        timeout = later.answer().json["timeouts"][0]
        equal((timeout["key"], timeout["deliveries"]), (keys[1], 1))
        true(0 < timeout["lease"] < 3, timeout)
        true("end_ns" not in timeout, timeout)


def clients_that_wait_for_moments_get_what_another_node_has(cluster):
    """Each has gone when an answer for it comes, and the next one has come."""
    one, two = settled(cluster, "one", "two")
    client = one.client()
    for key in put_some(two, 40)[:10]:
        equal(client.put(key, delay=0).status, 200)
        found = []
        until(lambda found=found: found or found.extend(client.take(wait=0.002)),
              "one of them gets it")
        equal([timeout["key"] for timeout in found], [key])
        equal(client.ack(found[0]["token"]), 204)


def polls(node):
    return sum(queue["polls"] for queue in node.ask("/queues").json["queues"])


def a_lease_that_is_returned_is_due_again(cluster):
    nodes = settled(cluster, "one", "two")
    clients = [node.client() for node in nodes]
    for i in range(10):
        equal(clients[0].put(f"k{i}", delay=0).status, 201)
        token = clients[0].take(wait=30)[0]["token"]
        equal(clients[1].request("POST", f"/leases/{token}/return").status, 204)
        equal(clients[0].request("POST", f"/leases/{token}/return").status, 410)
        again = clients[1].take(wait=30)[0]
        equal((again["key"], again["deliveries"]), (f"k{i}", 2))
        equal(clients[0].ack(again["token"]), 204)


def each_node_tells_how_all_are(cluster):
    nodes = settled(cluster, "one", "two", "three")
    client = nodes[0].client()
    equal(client.put_many([{"key": f"k{i}", "delay": 3600} for i in range(100)]).status, 200)
    seen = nodes[1].ask("/cluster").json
    equal([node["name"] for node in seen["nodes"]], ["one", "three", "two"])
    equal({node["state"] for node in seen["nodes"]}, {"ready"})
    equal(sum(node["timeouts"] for node in seen["nodes"]), 100)
    equal(sum(node["shards"] for node in seen["nodes"]), 16)
    nodes[2].signal(signal.SIGKILL)
    seen = nodes[1].ask("/cluster").json
    equal([node["state"] for node in seen["nodes"]], ["ready", "it does not answer", "ready"])


def a_node_with_another_secret_is_not_served(cluster):
    one = cluster.node("one").start()
    two = cluster.node("two", peer_token_file=cluster.keep("other", "not the secret at all"))
    two.launch()
    until(lambda: "has another secret in its peer_token_file" in two.said(), "it is refused")
    client = one.client()
    for i in range(60):
        equal(client.put(f"k{i}", delay=3600).status, 201)
    true(one.knows(1), "the other one owns nothing")


def with_certificate(cluster, name):
    folder = f"{cluster.folder}/{name}.tls"
    os.makedirs(folder)
    certify(folder)
    return {"certificate": f"{folder}/certificate", "certificate_key": f"{folder}/key"}


def nodes_know_each_other_by_certificates(cluster):
    """Two have certificates that both trust; a third one has a certificate that none does."""
    common = with_certificate(cluster, "common")
    one, two = settled(cluster, "one", "two", peer_ca=common["certificate"], **common)
    client = one.client()
    for i in range(30):
        equal(client.put(f"k{i}", delay=3600).status, 201)
    counts = [node.ask("/health").json["timeouts"] for node in (one, two)]
    true(all(counts), counts)
    three = cluster.node("three", peer_ca=common["certificate"],
                         **with_certificate(cluster, "three")).start()
    until(lambda: one.is_settled() and two.is_settled() and three.knows(3), "all know each other")
    statuses = {client.put(f"n{i}", delay=3600).status for i in range(60)}
    equal(statuses, {201, 503})


def a_stopped_owner_writes_nothing_later(cluster):
    """SIGSTOP for longer than its session: what it has on its way then comes too late."""
    one = cluster.node("one").start()
    client = one.client()
    for i in range(50):
        equal(client.put(f"k{i}", delay=3600).status, 201)
    clients = [one.client() for _ in range(50)]
    one.signal(signal.SIGSTOP)
    for i, client in enumerate(clients):
        client.connection.request("DELETE", f"/timeouts/k{i}")
    two = cluster.node("two").start()
    until(lambda: two.shards() == 16 or two.is_settled() and two.shards() > 0, "two has shards")
    client = two.client()
    moved = [i for i in range(50) if client.get(f"k{i}").status == 200]
    true(moved, "no shard moved")
    for i in moved:
        equal(client.put(f"k{i}", delay=3600, payload="two").status, 200)
    for i in range(50):
        equal(client.put(f"new{i}", delay=3600).status in (201, 503), True)
    new = [i for i in range(50) if client.get(f"new{i}").status == 200]
    asking = [one.client() for _ in new]
    for i, it in zip(new, asking):
        it.connection.request("GET", f"/timeouts/new{i}")
    one.signal(signal.SIGCONT)
    # It does not tell what it knew before it was stopped.
    true({it.connection.getresponse().status for it in asking} <= {200, 503}, "an old answer")
    statuses = [client.connection.getresponse().status for client in clients]
    until(one.is_settled, "one knows what it has")
    # Two may be giving a shard back.
    client = PatientClient(two.socket)
    for i in moved:
        # Once it knows that it is not the owner, it passes a request on.
        true(statuses[i] in (503, 204), statuses[i])
        answer = client.get(f"k{i}")
        equal(answer.status, 200 if statuses[i] == 503 else 404)
        true(answer.status == 404 or answer.json["payload"] == "two", answer.text)
    client.close()


def away():
    """An address at which no server listens"""
    return {"etcd": f"https://127.0.0.1:{free_ports(1)[0]}"}


def a_stop_ends_a_start(cluster):
    """While no server answers"""
    node = cluster.node("one", **away())
    node.launch()
    until(lambda: f"no server of {node.settings['etcd']} answers" in node.said(), "it waits")
    node.signal(signal.SIGTERM)
    equal(node.wait(), 0)


def servers_that_do_not_answer_end_nothing(cluster):
    """The node answers 503 meanwhile, and goes on; it also ends without them."""
    node = cluster.node("one").start()
    client = node.client()
    equal(client.put("a", delay=3600).status, 201)
    for ends in False, True:
        for server in cluster.etcd.servers:
            server.signal(signal.SIGSTOP)
        try:
            until(lambda: not node.is_settled(), "the node tells that its store is lost")
            equal(client.get("a").status, 503)
            equal(client.put("b", delay=3600).status, 503)
            if ends:
                equal(node.stop(), 0)
        finally:
            for server in cluster.etcd.servers:
                server.signal(signal.SIGCONT)
        if not ends:
            until(node.is_settled, "it goes on")
            equal(client.get("a").status, 200)
            equal(client.put("b", delay=3600).status, 201)
            equal(client.cancel("b").status, 204)


def a_take_gets_what_one_commit_holds(cluster):
    """More leases are due than the servers take at once."""
    node, = settled(cluster, "one", take=100000, batch=100000)
    client = node.client()
    known = {f"{number:04}" + 252 * "k" for number in range(4000)}
    for start in range(0, 4000, 1000):
        equal(client.put_many([{"key": key, "delay": 0}
                               for key in sorted(known)[start:start + 1000]]).status, 200)
    until(lambda: client.request("GET", "/queues").json["queues"][0]["due"] == 4000, "due")
    taken = []
    while found := client.take(max=100000, lease=1000):
        taken += [timeout["key"] for timeout in found]
    equal(sorted(taken), sorted(known))


def a_delay_is_not_short_on_another_node(cluster):
    """All of them become due, on the node that takes over, after the delay that was asked for."""
    one = cluster.node("one").start()
    client = one.client()
    put = {}
    for i in range(20):
        put[f"k{i}"] = time.monotonic()
        equal(client.put(f"k{i}", delay=4 + i / 100).status, 201)
    one.kill()
    client = cluster.node("two").start().client()
    while put:
        for timeout in client.take(max=20, wait=30):
            i = int(timeout["key"][1:])
            waited = time.monotonic() - put.pop(timeout["key"])
            true(waited >= 4 + i / 100, f"{i}: {waited}")
            equal(client.ack(timeout["token"]), 204)


def take_timed(client, put, delays):
    """Takes all of them. Returns how late they are: at least, and at most."""
    late = []
    while put:
        for timeout in client.take(max=20, wait=30):
            key = timeout["key"]
            late.append(time.monotonic() - put.pop(key) - delays[key])
            equal(client.ack(timeout["token"]), 204)
    return min(late), max(late)


def put_delays(node, name, delays):
    """Returns when each delay had not begun yet."""
    client = PatientClient(node.socket)
    put_at = {}
    for key in [key for key in delays if key.startswith(name)]:
        put_at[key] = time.monotonic()
        true(client.put(key, delay=delays[key]).status in (200, 201), key)
    client.close()
    return put_at


def other_clock(node, ahead):
    """A wall clock of its own, and a machine that booted at another time"""
    clock = OtherClock(f"{node.folder}/clock", os.path.dirname(node.program), ahead, abs(ahead))
    node.environment = clock.environment
    return node


def a_keeper_with_another_clock_moves_no_delay(cluster):
    """A delay goes on from one keeper of the time to the next, whatever their clocks have."""
    delays = {f"{name}-{i}": least + i / 10 for name, least in
              (("before", 8), ("after", 3)) for i in range(20)}
    one = other_clock(cluster.node("one"), STEP).start()
    two = other_clock(cluster.node("two"), -STEP).start()
    until(lambda: one.is_settled() and two.is_settled() and one.knows(2), "both are there")
    client = two.client()
    put_at = put_delays(one, "before", delays)
    offset = client.metric("hwheeld_clock_offset_seconds")
    true(offset > STEP, "the first one keeps the time")
    put_at |= put_delays(two, "after", delays)
    one.kill()
    until(lambda: client.metric("hwheeld_clock_corrections_total") >= 2, "the second one does")
    until(two.is_settled, "it goes on")
    moved = client.metric("hwheeld_clock_offset_seconds") - offset
    least, most = take_timed(client, put_at, delays)
    print(f"# {least:.3f} to {most:.3f} s late, the time moved by {moved:.3f} s")
    true(least >= 0, f"{-least} s early")
    true(most < STEP / 2, f"{most} s late")
    true(abs(moved) < STEP / 2, f"the time moved by {moved} s")


def a_node_shows_its_clock(cluster):
    """The keeper's is exact."""
    one, two = settled(cluster, "one", "two")
    for node in one, two:
        client = node.client()
        here = client.request("GET", "/cluster").json["here"]
        true(0 <= here["bound"] < 30, here)
        true(abs(here["offset"]) < 30, here)
        equal(here["epoch"], client.metric("hwheeld_clock_leader_epoch"))
        true(here["epoch"] > 0, "there is a keeper")
        print(f"# bound {here['bound'] * 1000:.3f} ms, offset {here['offset'] * 1000:.3f} ms")


class Passer(threading.Thread):
    """
    A client that goes to another node, once, when a node does not answer or says 503. It puts one
    timeout or, each other time, many.
    """

    def __init__(self, name, nodes):
        super().__init__(name=name, daemon=True)
        self.nodes = nodes
        self.ended = threading.Event()
        self.requests = self.retries = 0
        self.failed = []

    def ask(self, node, number):
        client = Client(node.socket)
        try:
            if number % 2:
                answer = client.put(f"{self.name}-{number % 50}", delay=3600)
                return answer.status, answer.text
            answer = client.put_many([{"key": f"{self.name}-{i}", "delay": 3600}
                                      for i in range(20)])
            results = answer.json.get("results", [answer.json])
            return max(result["status"] for result in results), answer.text
        except (OSError, http.client.HTTPException) as error:
            return 503, repr(error)
        finally:
            client.close()

    def run(self):
        while not self.ended.wait(0.002):
            self.requests += 1
            one, other = random.sample(self.nodes, 2)
            status, first = self.ask(one, self.requests)
            if status != 503:
                continue
            self.retries += 1
            status, text = self.ask(other, self.requests)
            if status == 503:
                self.failed.append((one.settings["node"], other.settings["node"], first,
                                    text))


def a_rolling_restart_costs_no_request_that_a_retry_does_not_mend(cluster):
    nodes = settled(cluster, "one", "two", "three")
    passers = [Passer(f"p{number}", nodes) for number in range(CLIENTS)]
    for passer in passers:
        passer.start()
    for node in nodes:
        equal(node.stop(), 0)
        node.start()
        until(lambda: all(other.is_settled() and other.knows(3) for other in nodes), "all serve")
    for passer in passers:
        passer.ended.set()
    for passer in passers:
        passer.join()
    failed = [one for passer in passers for one in passer.failed]
    print(f"# {sum(passer.requests for passer in passers)} requests, "
          f"{sum(passer.retries for passer in passers)} tried again, {len(failed)} failed")
    equal(failed[:5], [])


def a_lost_server_loses_nothing(cluster, seed):
    """The leader is killed while clients work: some do not learn what became of a request."""
    workers = [PatientWorker(number, seed) for number in range(CLIENTS)]
    node = cluster.node("one").start()
    leader = cluster.etcd.leader()
    begin = []

    def disturb():
        leader.kill()
        begin.append(time.monotonic())
        until(lambda: cluster.etcd.leader() and node.is_settled(), "the node goes on")
        print(f"# {time.monotonic() - begin[0]:.2f} s from the leader's end until it goes on")

    try:
        work(node, workers, 1, disturb)
    finally:
        leader.start()
        until(cluster.etcd.serves, "the servers have a leader")
    node = cluster.node("two").start()
    for worker in workers:
        worker.check(node.client())
        worker.drain(node.client())


def an_ended_session_loses_nothing(cluster, seed):
    """The node is stopped for longer than its session while clients work, and goes on."""
    workers = [PatientWorker(number, seed) for number in range(CLIENTS)]
    node = cluster.node("one").start()

    def disturb():
        for _ in range(2):
            node.signal(signal.SIGSTOP)
            until(lambda: not cluster.keys("members/"), "its session ends")
            node.signal(signal.SIGCONT)
            until(node.is_settled, "it goes on")

    work(node, workers, 1, disturb)
    node = cluster.node("two").start()
    for worker in workers:
        worker.check(node.client())
        worker.drain(node.client())


def main():
    program, folder, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
    tap = Tap()
    seed = tap.begin(4)
    tests = {a_restarted_node_has_all: (), the_log_is_cleaned: (),
             cleaning_keeps_all_that_live: (),
             full_servers_take_no_more_but_end_what_there_is: (),
             a_node_that_crashed_does_not_wait_for_its_session: (),
             a_name_that_another_node_has_is_refused: (),
             a_mark_that_another_node_has_is_refused: (),
             a_disk_that_hangs_keeps_nothing_waiting: (),
             shards_move_to_a_second_node_and_back: (),
             a_missing_commit_is_not_passed_over: (),
             a_lost_end_is_noticed_by_a_node_that_heard_of_it: (),
             another_store_is_noticed: (),
             a_takeover_by_a_full_wheel_loses_nothing: (),
             any_node_answers_for_any_timeout: (),
             requests_that_go_together_have_answers_of_their_own: (),
             requests_for_a_node_that_is_gone_go_to_the_next: (),
             a_request_that_waits_for_a_node_too_long_has_not_happened: (),
             a_node_that_does_not_answer_is_named_once: (),
             a_parcel_of_requests_that_is_none_is_refused: (),
             a_key_is_passed_on_as_it_is: (),
             a_node_ends_while_another_one_keeps_it_waiting: (),
             a_batch_goes_to_all_nodes: (),
             a_handover_costs_no_batch: (),
             any_node_lists_all_timeouts: (),
             a_page_has_so_many_payloads_of_all_nodes: (),
             a_node_asked_for_a_part_asks_no_other_one: (),
             a_list_does_not_pass_over_a_node: (),
             a_list_has_all_while_shards_move: (),
             an_export_goes_to_a_cluster_and_back: (),
             a_take_finds_what_any_node_has: (),
             a_long_poll_gets_what_becomes_due_anywhere: (),
             a_client_that_hangs_up_keeps_nothing_of_another_node: (),
             a_lease_lasts_as_long_as_a_client_asked_that_came_later: (),
             clients_that_wait_for_moments_get_what_another_node_has: (),
             a_lease_that_is_returned_is_due_again: (),
             each_node_tells_how_all_are: (),
             a_node_with_another_secret_is_not_served: (),
             nodes_know_each_other_by_certificates: (),
             a_stopped_owner_writes_nothing_later: (),
             a_stop_ends_a_start: (),
             servers_that_do_not_answer_end_nothing: (),
             a_take_gets_what_one_commit_holds: (),
             a_delay_is_not_short_on_another_node: (),
             a_keeper_with_another_clock_moves_no_delay: (),
             a_node_shows_its_clock: (),
             a_rolling_restart_costs_no_request_that_a_retry_does_not_mend: (),
             a_lost_server_loses_nothing: (seed,),
             an_ended_session_loses_nothing: (seed,),
             a_killed_node_loses_nothing: (rounds, seed)}
    with Etcd(f"{folder}/etcd") as etcd:
        for number, (test, arguments) in enumerate(tests.items()):
            if sys.argv[5:] and test.__name__ not in sys.argv[5:]:
                continue
            # The path of a socket has 107 bytes.
            with Cluster(program, folder, etcd, f"test{number}") as cluster:
                tap.run(test, cluster, *arguments)
    if not sys.argv[5:]:
        tap.run(openapi.all_of_it_was_seen, True)
    sys.exit(tap.end())


main()
