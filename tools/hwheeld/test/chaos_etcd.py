# SPDX-License-Identifier: GPL-2.0-only
"""Servers of etcd that fail: by their disks, by the network, and by who restores a backup."""
import contextlib
import os
import resource
import shutil

from etcd import Etcd, Server, run
from links import Links


class ChaosServer(Server):
    def limit_files(self, size):
        """A write beyond that fails, as on a full disk."""
        resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


class ChaosEtcd(Etcd):
    make = ChaosServer

    def __init__(self, folder, *options):
        self.links = Links()
        self.folder = folder
        super().__init__(folder, *options)

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
