# SPDX-License-Identifier: GPL-2.0-only
"""Faults of nodes and servers while clients work: each begins, lasts, and is put right again."""
import contextlib
import signal
import time

from daemon import until
from history import Fault

# A node that is away for so many sessions has lost its own.
BEYOND = 1.5


class Disturbances:
    def __init__(self, campaign):
        self.cluster = campaign.cluster
        self.history = campaign.history
        self.chance = campaign.chance
        self.clients = campaign.putters

    def kinds(self):
        """Those that these nodes allow"""
        kinds = [self.kill, self.restart, self.restart_beside_paused, self.pause,
                 self.pause_briefly, self.kill_server, self.kill_leader, self.kill_leaders,
                 self.kill_all_servers, self.pause_leader, self.cut_off_leader, self.fill_disk,
                 self.restore_backup, self.step_clock, self.step_server_clocks,
                 self.ask_too_much]
        if hasattr(self.cluster.nodes[0], "drop"):
            kinds += [self.cut_off_from_servers, self.cut_off_from_nodes, self.cut_off_from_all]
        return kinds

    @contextlib.contextmanager
    def fault(self, name, takes_over=False, all_away=False):
        begin = time.monotonic()
        try:
            yield
        finally:
            self.history.add(Fault(begin, time.monotonic(), name, takes_over, all_away))

    def last(self, sessions):
        time.sleep(sessions * self.cluster.session)

    def node(self):
        return self.chance.choice(self.cluster.nodes)

    # Nodes

    def kill(self):
        node = self.node()
        with self.fault("a node is killed", True):
            node.kill()
            self.last(BEYOND)
            node.start()
            self.cluster.settle()

    def restart(self):
        """It leaves as it should, and its shards with it."""
        node = self.node()
        with self.fault("a node is restarted", True):
            node.stop()
            self.last(0.05)
            node.start()
            self.cluster.settle()

    def restart_beside_paused(self):
        """A node comes for shards whose owner does not know yet, and has requests to answer."""
        node, owner = self.chance.sample(self.cluster.nodes, 2)
        with self.fault("a node is restarted while another is paused", True):
            node.stop()
            owner.pause()
            node.start()
            owner.go_on()
            self.cluster.settle()

    def away(self, name, begin, end, sessions):
        with self.fault(name, True):
            begin()
            self.last(sessions)
            end()
            self.cluster.settle()

    def pause(self):
        node = self.node()
        self.away("a node is paused beyond its session", node.pause, node.go_on, BEYOND)

    def pause_briefly(self):
        node = self.node()
        self.away("a node is paused", node.pause, node.go_on, 0.3)

    # Packets are lost in the machines, in both directions; nobody is told.

    def cut(self, name, drops):
        """drops: (node, ports) for each node that drops packets"""
        def begin():
            for node, ports in drops:
                node.drop(*ports)

        def end():
            for node, _ in drops:
                node.drop_nothing()

        self.away(f"a node is cut off from {name}", begin, end, self.chance.choice((0.5, BEYOND)))

    def server_ports(self):
        etcd = self.cluster.etcd
        return [etcd.reached_by(server.port) for server in etcd.servers]

    def others(self, node):
        return [other for other in self.cluster.nodes if other is not node]

    def cut_off_from_servers(self):
        self.cut("servers", [(self.node(), self.server_ports())])

    def cut_off_from_nodes(self):
        node = self.node()
        others = self.others(node)
        self.cut("other nodes", [(node, [other.port for other in others])] +
                 [(other, [node.port]) for other in others])

    def cut_off_from_all(self):
        node = self.node()
        self.cut("all", [(node, [*self.server_ports(), node.own_port,
                                 *(other.port for other in self.others(node))])])

    def step_clock(self):
        node = self.node()
        hours = self.chance.choice((-5, -1, 1, 5))
        with self.fault("a node's wall clock is stepped"):
            node.step_clock(hours * 3600)
            self.last(0.3)
            node.step_clock(-hours * 3600)

    # Servers

    def away_servers(self, name, choose, sessions):
        with self.fault(name):
            for server in choose():
                server.kill()
            self.last(sessions)
            self.cluster.etcd.start()
            self.cluster.settle()

    def leader(self):
        found = []
        until(lambda: found or found.extend(filter(None, [self.cluster.etcd.leader()])),
              "there is a leader")
        return found

    def kill_server(self):
        self.away_servers("a server is killed",
                          lambda: [self.chance.choice(self.cluster.etcd.servers)], 0.3)

    def kill_leader(self):
        self.away_servers("the leader is killed", self.leader, 0.3)

    def kill_leaders(self):
        """The next leader, too, as soon as the first one is back: clients work all the time."""
        etcd = self.cluster.etcd
        with self.fault("leaders are killed one after the other"):
            for _ in range(2 * len(etcd.servers)):
                self.leader()[0].kill()
                etcd.start()
            self.cluster.settle()

    def kill_all_servers(self):
        self.away_servers("all servers are killed", lambda: self.cluster.etcd.servers,
                          self.chance.choice((0.1, BEYOND)))

    def pause_leader(self):
        """It comes back as a leader that does not know of the next one."""
        leader, = self.leader()
        with self.fault("the leader is paused"):
            leader.signal(signal.SIGSTOP)
            self.last(self.chance.choice((0.3, BEYOND)))
            leader.signal(signal.SIGCONT)
            self.cluster.settle()

    def cut_off_leader(self):
        """A majority of nodes reaches that leader, and the others reach the next one."""
        leader, = self.leader()
        nodes = self.chance.sample(self.cluster.nodes, len(self.cluster.nodes) // 2 + 1)
        with self.fault("the leader is cut off with most nodes", True):
            with self.cluster.etcd.cut_off(leader, nodes):
                self.last(self.chance.choice((0.5, BEYOND)))
            self.cluster.settle()

    def step_server_clocks(self):
        with self.fault("the wall clocks of servers are stepped"):
            for _ in self.cluster.etcd.servers:
                self.cluster.etcd.turn_clocks()
                self.last(0.1)

    def restore_backup(self):
        """Each node notices it, and writes nothing; then an operator puts right what was done."""
        etcd = self.cluster.etcd
        with self.fault("a backup is restored", all_away=True):
            etcd.save()
            self.last(0.3)
            with etcd.backup_is_restored():
                until(lambda: all(node.is_broken() for node in self.cluster.nodes),
                      "the nodes notice that")
                for node in self.cluster.nodes:
                    node.stop()
            for node in self.cluster.nodes:
                node.start()
            self.cluster.settle()

    def fill_disk(self):
        server = self.chance.choice(self.cluster.etcd.servers)
        with self.fault("a server's disk is full"):
            server.limit_files(1)
            until(lambda: not server.is_running(), "the server ends, as its disk is full")
            self.last(0.2)
            self.cluster.etcd.start()
            self.cluster.settle()

    # Clients

    def ask_too_much(self):
        with self.fault("requests are as large as a commit"):
            for _ in range(3):
                for client in self.clients:
                    client.large.set()
                until(lambda: not any(client.large.is_set() for client in self.clients),
                      "the clients have asked for much")
