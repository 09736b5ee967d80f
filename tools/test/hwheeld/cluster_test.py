#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""cluster_test.py HWHEELD FOLDER ROUNDS [SEED [TEST...]]: nodes that keep timeouts in ZooKeeper.

Three servers and the nodes are processes of this machine. A node that is killed, stopped, or that
has lost its server, loses nothing, and another node goes on. Prints TAP.
"""
import os
import random
import signal
import subprocess
import sys
import threading
import time

from daemon import Client, Daemon, Tap, equal, true, until
from ensemble import Ensemble
from worker import CLIENTS, Worker

SESSION = 3

# By how many seconds the wall clocks of the servers differ, if they do
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
        super().__init__(cluster.program, f"{cluster.folder}/{name}", node=name,
                         zookeeper=cluster.ensemble.addresses, cluster=cluster.name,
                         session=f"{SESSION}s", shards=16, **settings)

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

    def shards(self):
        return self.ask("/cluster").json["shards_here"]


class Cluster:
    """A tree of its own in the ensemble, and nodes that end with it"""

    def __init__(self, program, folder, ensemble, name):
        self.program = program
        self.folder = f"{folder}/{name}"
        self.ensemble = ensemble
        self.name = name
        self.nodes = []

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
    server = cluster.ensemble.servers[0]
    begin = server.number("zk_znode_count")
    for turn in range(40):
        answer = client.put_many([{"key": f"k{i}", "delay": 3600, "payload": f"{turn}"}
                                  for i in range(1000)])
        equal((answer.status, answer.text if answer.status != 200 else b""), (200, b""))
    until(lambda: client.put("more", delay=3600).status and
          client.metric("hwheeld_log_records") < 20000, "the log gets short")
    until(lambda: server.number("zk_znode_count") < begin + 30 * 16, "the commits are removed")
    equal(node.stop(), 0)
    client = node.start().client()
    equal(node.ask("/health").json["timeouts"], 1001)
    for i in range(1000):
        equal(client.get(f"k{i}").json["payload"], "39")


def put(clients, key, **wish):
    """To the node that has the key"""
    statuses = [client.put(key, **wish).status for client in clients]
    return [status for status in statuses if status != 503]


def get(clients, key):
    """From the node that has the key, once one has it"""
    answers = []

    def found():
        answers[:] = [answer for answer in (client.get(key) for client in clients)
                      if answer.status != 503]
        return answers

    until(found, f"a node has {key}")
    return answers[0]


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
        equal(put(clients, f"k{i}", delay=3600), [200])
    one.kill()
    begin = time.monotonic()
    until(lambda: two.shards() == 16, "two has all shards")
    print(f"# {time.monotonic() - begin:.2f} s until the other node has all, session {SESSION} s")
    for i in range(100):
        equal(clients[1].get(f"k{i}").status, 200)


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
    one.signal(signal.SIGCONT)
    statuses = [client.connection.getresponse().status for client in clients]
    for i in moved:
        equal(statuses[i], 503)
        equal(get([client, one.client()], f"k{i}").json["payload"], "two")


def an_owner_of_an_old_epoch_writes_nothing(cluster):
    """It has its session and its locks, and thinks that the shards are its own."""
    node = cluster.node("one").start()
    client = node.client()
    equal(client.put("a", delay=3600, payload="before").status, 201)
    subprocess.run([f"{os.path.dirname(cluster.program)}/new_epoch", cluster.ensemble.addresses,
                    cluster.name, "16"], check=True)
    equal(client.cancel("a").status, 503)
    until(lambda: client.get("a").status == 200, "it has loaded the shard anew")
    equal(client.get("a").json["payload"], "before")
    equal(client.put("a", delay=3600, payload="after").status, 200)


def a_node_without_the_secret_is_refused(cluster):
    os.makedirs(cluster.folder)
    for name in ("right", "wrong"):
        with open(f"{cluster.folder}/{name}", "w", encoding="ascii") as stream:
            print(f"hwheeld:{name}", file=stream)
    one = cluster.node("one", zookeeper_secret_file=f"{cluster.folder}/right").start()
    equal(one.client().put("a", delay=3600).status, 201)
    for settings in {}, {"zookeeper_secret_file": f"{cluster.folder}/wrong"}:
        other = cluster.node(f"other{len(settings)}", **settings)
        other.launch()
        equal(other.wait(), 1)
        true("not authenticated" in other.said(), other.said())
    equal(one.client().get("a").status, 200)


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


def put_delays(clients, name, delays):
    put_at = {}
    for key in [key for key in delays if key.startswith(name)]:
        put_at[key] = time.monotonic()
        equal(put(clients, key, delay=delays[key]), [201])
    return put_at


def other_clocks(program):
    library = f"{os.path.dirname(program)}/other_clock.so"
    return [os.environ | {"LD_PRELOAD": library, "CLOCK_AHEAD": str(ahead)}
            for ahead in (STEP, 0, -STEP)]


def a_leader_with_another_clock_moves_no_delay(cluster):
    """All servers have other clocks. A delay goes on from one leader, and node, to the next."""
    delays = {f"{name}-{i}": least + i / 10 for name, least in
              (("before", 8), ("after", 3)) for i in range(20)}
    with Ensemble(f"{cluster.folder}/servers", other_clocks(cluster.program)) as ensemble:
        cluster.ensemble = ensemble
        one, two = cluster.node("one").start(), cluster.node("two").start()
        until(one.is_settled, "one has given some shards back")
        clients = [one.client(), two.client()]
        put_at = put_delays(clients, "before", delays)
        offset = clients[0].metric("hwheeld_clock_offset_seconds")
        ensemble.leader().kill()
        until(lambda: clients[0].metric("hwheeld_clock_corrections_total") >= 1 and
              clients[1].metric("hwheeld_clock_corrections_total") >= 1, "both have corrected")
        until(lambda: one.is_settled() and two.is_settled(), "both go on")
        moved = clients[0].metric("hwheeld_clock_offset_seconds") - offset
        put_at |= put_delays(clients, "after", delays)
        one.kill()
        least, most = take_timed(clients[1], put_at, delays)
        print(f"# {least:.3f} to {most:.3f} s late, the time moved by {moved:.3f} s")
        true(least >= 0, f"{-least} s early")
        true(most < STEP / 2, f"{most} s late")
        true(abs(moved) < STEP / 2, f"the time moved by {moved} s")
        two.kill()


def a_node_shows_its_clock(cluster):
    """What it does not know exactly grows while the servers are away."""
    node = cluster.node("one").start()
    client = node.client()
    bound = client.metric("hwheeld_clock_bound_seconds")
    true(0.0005 <= bound < 30, bound)
    true(abs(client.metric("hwheeld_clock_offset_seconds")) < 30, "all have one wall clock")
    true(client.metric("hwheeld_clock_leader_epoch") > 0, "there is a leader")
    here = client.request("GET", "/cluster").json["here"]
    true(0.0005 <= here["bound"] < 30, here)
    true(abs(here["offset"]) < 30, here)
    equal(here["epoch"], client.metric("hwheeld_clock_leader_epoch"))
    print(f"# bound {bound * 1000:.3f} ms, offset {here['offset'] * 1000:.3f} ms")
    for server in cluster.ensemble.servers:
        server.signal(signal.SIGSTOP)
    try:
        until(lambda: not node.is_settled(), "the node tells that its store is lost")
        bound = client.metric("hwheeld_clock_bound_seconds")
        until(lambda: client.metric("hwheeld_clock_bound_seconds") > bound + 0.001, "it grows")
    finally:
        for server in cluster.ensemble.servers:
            server.signal(signal.SIGCONT)


def a_lost_server_loses_nothing(cluster, seed):
    """The leader is killed while clients work: some do not learn what became of a request."""
    workers = [PatientWorker(number, seed) for number in range(CLIENTS)]
    node = cluster.node("one").start()
    leader = cluster.ensemble.leader()
    begin = []

    def disturb():
        leader.kill()
        begin.append(time.monotonic())
        until(lambda: not node.is_settled(), "the node tells that its store is lost")
        until(node.is_settled, "the node goes on")
        print(f"# {time.monotonic() - begin[0]:.2f} s from the leader's end until it goes on")

    try:
        work(node, workers, 1, disturb)
    finally:
        leader.start()
        until(cluster.ensemble.serves, "the servers have a leader")
    node = cluster.node("two").start()
    for worker in workers:
        worker.check(node.client())
        worker.drain(node.client())


def main():
    program, folder, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
    tap = Tap()
    seed = tap.begin(4)
    tests = {a_restarted_node_has_all: (), the_log_is_cleaned: (),
             shards_move_to_a_second_node_and_back: (),
             a_stopped_owner_writes_nothing_later: (),
             an_owner_of_an_old_epoch_writes_nothing: (),
             a_node_without_the_secret_is_refused: (),
             a_delay_is_not_short_on_another_node: (),
             a_leader_with_another_clock_moves_no_delay: (),
             a_node_shows_its_clock: (),
             a_lost_server_loses_nothing: (seed,),
             a_killed_node_loses_nothing: (rounds, seed)}
    with Ensemble(folder) as ensemble:
        for test, arguments in tests.items():
            if sys.argv[5:] and test.__name__ not in sys.argv[5:]:
                continue
            with Cluster(program, folder, ensemble, test.__name__) as cluster:
                tap.run(test, cluster, *arguments)
    sys.exit(tap.end())


main()
