# SPDX-License-Identifier: GPL-2.0-only
"""Three ZooKeeper servers on this machine's loopback, of Debian's package.

Those of Debian 12 are older than hwheeld takes: nodes need zookeeper_may_lose = yes.
"""
import os
import socket
import subprocess

from daemon import until

JAVA = "/usr/share/java"
JARS = ("zookeeper", "zookeeper-jute", "slf4j-api", "slf4j-nop", "netty-all", "jackson-databind",
        "jackson-core", "jackson-annotations", "commons-cli", "snappy-java", "metrics-core",
        "log4j-1.2")
SERVERS = 3
CONFIGURATION = """tickTime=500
initLimit=20
syncLimit=10
dataDir={folder}
clientPort={port}
clientPortAddress=127.0.0.1
admin.enableServer=false
4lw.commands.whitelist=srvr,mntr
"""


def free_ports(count):
    """They may be taken by others until the servers have them; these do not start then."""
    probes = [socket.socket() for _ in range(count)]
    for probe in probes:
        probe.bind(("127.0.0.1", 0))
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ports


class Server:
    def __init__(self, number, folder, port, peers, memory, environment=None):
        self.environment = environment
        self.port = port
        self.folder = folder
        self.memory = memory
        self.process = None
        os.makedirs(folder)
        with open(f"{folder}/myid", "w", encoding="ascii") as stream:
            print(number, file=stream)
        with open(f"{folder}/cfg", "w", encoding="ascii") as stream:
            stream.write(CONFIGURATION.format(folder=folder, port=port) + peers)

    def start(self):
        path = ":".join(f"{JAVA}/{jar}.jar" for jar in JARS)
        with open(f"{self.folder}/log", "ab") as log:
            self.process = subprocess.Popen(
                ["java", f"-Xmx{self.memory}", "-cp", path,
                 "org.apache.zookeeper.server.quorum.QuorumPeerMain", f"{self.folder}/cfg"],
                stdout=log, stderr=log, env=self.environment)

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def ask(self, word):
        try:
            with socket.create_connection(("127.0.0.1", self.port), 5) as connection:
                connection.sendall(word.encode())
                return b"".join(iter(lambda: connection.recv(4096), b"")).decode()
        except OSError:
            return ""

    def number(self, name):
        """One of the server's own figures"""
        for line in self.ask("mntr").splitlines():
            if line.startswith(name + "\t"):
                return int(float(line.split("\t")[1]))
        raise KeyError(name)

    def mode(self):
        """leader, follower, or nothing if it serves nobody"""
        for line in self.ask("srvr").splitlines():
            if line.startswith("Mode: "):
                return line.split()[1]
        return ""


class Ensemble:
    make = Server

    def __init__(self, folder, memory="600m", environments=(None,) * SERVERS):
        """The processes of the servers have these environments, or that of the test."""
        ports = free_ports(3 * SERVERS)
        peers = "".join(f"server.{i + 1}=127.0.0.1:{ports[3 * i + 1]}:{ports[3 * i + 2]}\n"
                        for i in range(SERVERS))
        self.servers = [self.make(i + 1, f"{folder}/server{i + 1}", ports[3 * i], peers, memory,
                               environments[i]) for i in range(SERVERS)]
        self.addresses = ",".join(f"127.0.0.1:{server.port}" for server in self.servers)

    def serves(self):
        return all(server.mode() for server in self.servers)

    def leader(self):
        return next(server for server in self.servers if server.mode() == "leader")

    def __enter__(self):
        for server in self.servers:
            server.start()
        try:
            until(self.serves, "the servers have a leader")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for server in self.servers:
            server.kill()
