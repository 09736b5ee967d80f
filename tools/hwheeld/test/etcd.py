# SPDX-License-Identifier: GPL-2.0-only
"""Three etcd servers on this machine's loopback, with TLS: of the folder that ETCD names."""
import base64
import contextlib
import json
import os
import signal
import subprocess
import sys

from daemon import free_ports, until

SERVERS = 3


def run(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


# How the machines of machine.py reach this one
HOST = "10.0.2.2"


class Certificates:
    """An authority, and one certificate for servers and clients of this machine"""

    def __init__(self, folder):
        os.makedirs(folder, exist_ok=True)
        self.ca, self.certificate, self.key = (f"{folder}/{name}.pem" for name in ("ca", "it", "key"))
        ca_key, request, extensions = (f"{folder}/{name}" for name in ("ca.key", "request", "extensions"))
        with open(extensions, "w", encoding="ascii") as stream:
            print(f"subjectAltName=IP:127.0.0.1,IP:{HOST},DNS:localhost", file=stream)
        run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
            "-nodes", "-days", "2", "-subj", "/CN=test authority", "-keyout", ca_key, "-out", self.ca)
        run("openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
            "-subj", "/CN=localhost", "-keyout", self.key, "-out", request)
        run("openssl", "x509", "-req", "-days", "2", "-in", request, "-CA", self.ca, "-CAkey", ca_key,
            "-CAcreateserial", "-extfile", extensions, "-out", self.certificate)


class Server:
    def __init__(self, name, folder, ports, peers, certificates, options):
        self.name = name
        self.folder = f"{folder}/{self.name}"
        self.port, self.peer_port = ports
        self.address = f"https://127.0.0.1:{self.port}"
        self.initial_cluster = ",".join(f"{peer}={url}" for peer, url in peers.items())
        self.process = None
        self.environment = {}
        self.command = [
            os.environ["ETCD"] + "/etcd", "--name", self.name, "--data-dir", self.folder,
            "--listen-client-urls", self.address, "--advertise-client-urls", self.address,
            "--listen-peer-urls", f"http://127.0.0.1:{self.peer_port}",
            "--initial-advertise-peer-urls", peers[name],
            "--initial-cluster", self.initial_cluster,
            "--cert-file", certificates.certificate, "--key-file", certificates.key,
            "--trusted-ca-file", certificates.ca, "--client-cert-auth", "--log-level", "warn", *options]

    def start(self):
        with open(f"{self.folder}.log", "ab") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log,
                                            env=os.environ | self.environment)

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        if self.process:
            self.process.kill()
            self.process.wait()


class Etcd:
    make = Server

    def __init__(self, folder, *options):
        os.makedirs(folder, exist_ok=True)
        self.certificates = Certificates(f"{folder}/certificates")
        free = free_ports(2 * SERVERS)
        ports = {f"server{i + 1}": free[2 * i:2 * i + 2] for i in range(SERVERS)}
        self.peers = {name: f"http://127.0.0.1:{self.reached_by(peer)}"
                      for name, (_, peer) in ports.items()}
        self.servers = [self.make(name, folder, ports[name], self.peers, self.certificates, options)
                        for name in ports]
        self.addresses = ",".join(server.address for server in self.servers)

    def reached_by(self, port):
        """The port by which nodes and servers reach that one"""
        return port

    def settings(self, host="127.0.0.1"):
        """Of a node, which reaches the servers at that address"""
        addresses = ",".join(f"https://{host}:{self.reached_by(server.port)}"
                             for server in self.servers)
        return {"etcd": addresses, "etcd_ca": self.certificates.ca,
                "etcd_certificate": self.certificates.certificate, "etcd_key": self.certificates.key}

    def control_command(self, addresses):
        certificates = self.certificates
        return [os.environ["ETCD"] + "/etcdctl", "--endpoints", addresses, "--cacert", certificates.ca,
                "--cert", certificates.certificate, "--key", certificates.key]

    def status_of(self, server):
        command = ["endpoint", "status", "-w", "json", "--command-timeout=1s"]
        return subprocess.run(self.control_command(server.address) + command, check=True,
                              capture_output=True, text=True, timeout=30).stdout

    def status(self, server):
        """Nothing if it does not serve"""
        with contextlib.suppress(subprocess.SubprocessError, ValueError):
            return json.loads(self.status_of(server))[0]["Status"]
        return None

    def leader(self):
        """None during an election"""
        for server in self.servers:
            status = self.status(server)
            if status and status.get("leader") == status["header"]["member_id"]:
                return server
        return None

    def control(self, *command, value=None):
        """What etcdctl prints; a value of put is bytes."""
        return subprocess.run([*self.control_command(self.addresses), *command], check=True,
                              input=value, capture_output=True, timeout=30).stdout.decode()

    def count(self, prefix):
        """How many keys there are"""
        text = self.control("get", "--prefix", "--count-only", "--write-out", "fields", prefix)
        return int(text.split('"Count" : ')[1].split()[0])

    def value(self, key):
        """Bytes"""
        found = json.loads(self.control("get", "--write-out", "json", key))
        return base64.b64decode(found["kvs"][0]["value"])

    def keys(self, prefix):
        return self.control("get", "--prefix", "--keys-only", prefix).split()

    def serves(self):
        return all(self.status(server) for server in self.servers) and self.leader()

    def start(self):
        for server in self.servers:
            if not server.is_running():
                server.start()
        until(self.serves, "the servers have a leader")

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for server in self.servers:
            with contextlib.suppress(ProcessLookupError, AttributeError):
                server.signal(signal.SIGCONT)
            server.kill()


def main():
    """etcd.py FOLDER QUOTA COMMAND...: runs it with servers, which ETCD_SERVERS and others name."""
    with Etcd(sys.argv[1], "--quota-backend-bytes", sys.argv[2]) as etcd:
        found = {"ETCD_SERVERS": etcd.addresses, "ETCD_CA": etcd.certificates.ca,
                 "ETCD_CERTIFICATE": etcd.certificates.certificate, "ETCD_KEY": etcd.certificates.key,
                 "ETCD_CONTROL": " ".join(etcd.control_command(etcd.addresses)) +
                                 " --command-timeout=30s >/dev/null 2>&1",
                 "ETCD_PIDS": ",".join(str(server.process.pid) for server in etcd.servers)}
        return subprocess.run(sys.argv[3:], env=os.environ | found, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
