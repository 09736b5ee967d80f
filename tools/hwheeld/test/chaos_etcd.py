# SPDX-License-Identifier: GPL-2.0-only
"""Servers of etcd that fail: by their disks, by the network, and by who restores a backup."""
import contextlib
import os
import resource
import shutil

from etcd import Etcd, Server, run
from links import Links
from other_clock import OtherClock

# Seconds by which the wall clocks of two servers differ, at least. No certificate begins later.
APART = 100


class ChaosServer(Server):
    def limit_files(self, size):
        """A write beyond that fails, as on a full disk."""
        resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


class ChaosEtcd(Etcd):
    make = ChaosServer

    def __init__(self, folder, programs, *options):
        """programs: the folder that has other_clock.so"""
        self.links = Links()
        self.folder = folder
        super().__init__(folder, *options)
        for number, server in enumerate(self.servers):
            server.clock = OtherClock(f"{server.folder}.clock", programs, wall=number * APART)
            server.environment = server.clock.environment

    def turn_clocks(self):
        """Each server has the wall clock of the next one."""
        walls = [server.clock.wall for server in self.servers]
        for server, wall in zip(self.servers, walls[1:] + walls[:1]):
            server.clock.set(wall)

    def reached_by(self, port):
        return self.links.port_to(port)

    def count(self):
        """Of the servers that serve"""
        return sum(1 for server in self.servers if self.status(server))

    def cut_off(self, server, nodes):
        """That server and the nodes reach each other, and nobody else of servers does."""
        others = [other for other in self.servers if other is not server]
        return self.links.are_cut(
            [(server.process.pid, other.peer_port) for other in others] +
            [(other.process.pid, server.peer_port) for other in others] +
            [(node.network_process(), other.port) for node in nodes for other in others])

    def save(self):
        """A backup, as of now"""
        run(*self.control_command(self.servers[0].address), "snapshot", "save",
            f"{self.folder}/backup")

    @contextlib.contextmanager
    def backup_is_restored(self):
        """Meanwhile the servers have what they had when it was saved."""
        self.stop()
        for server in self.servers:
            os.rename(server.folder, f"{server.folder}.kept")
            run(os.environ["ETCD"] + "/etcdutl", "snapshot", "restore", f"{self.folder}/backup",
                "--name", server.name, "--data-dir", server.folder,
                "--initial-cluster", server.initial_cluster,
                "--initial-advertise-peer-urls", self.peers[server.name])
        self.start()
        try:
            yield
        finally:
            self.stop()
            for server in self.servers:
                shutil.rmtree(server.folder)
                os.rename(f"{server.folder}.kept", server.folder)
            self.start()

    def stop(self):
        for server in self.servers:
            server.kill()

    def __exit__(self, *details):
        super().__exit__(*details)
        self.links.close()
