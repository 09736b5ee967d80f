# SPDX-License-Identifier: GPL-2.0-only
"""Servers of etcd that fail, by their disks as well."""
import resource

from etcd import Etcd, Server


class ChaosServer(Server):
    def limit_files(self, size):
        """A write beyond that fails, as on a full disk."""
        resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


class ChaosEtcd(Etcd):
    make = ChaosServer

    def count(self):
        """Of the servers that serve"""
        return sum(1 for server in self.servers if self.status(server))
