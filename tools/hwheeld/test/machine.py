# SPDX-License-Identifier: GPL-2.0-only
"""A node that is a machine: a user-mode kernel with the module, and a network of its own.

The kernel's network card is a socket, with slirp4netns at its other end: Debian's program makes
connections of what arrives there, and needs neither privileges nor a device such as /dev/net/tun,
which not every machine that builds this has. The machine reaches this one's loopback, and so the
servers and the forwarded ports of the others, at one address. QEMU has such a network as well, but
without KVM its machines run at a tenth of the speed: three of them and three servers do not keep
their sessions on two CPUs.
"""
import contextlib
import http.client
import json
import os
import queue
import secrets
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import threading

from asked import Asked
from daemon import PATIENCE, Client, equal, true, until
from etcd import HOST

HERE = os.path.dirname(os.path.realpath(__file__))
CHECKOUT = os.path.realpath(f"{HERE}/../../..")
# Of slirp4netns: the machine, and how it reaches this one
ADDRESS = "10.0.2.100"
PORT = 7420
MEMORY = "192M"


class Network:
    """What the machine's card is connected to; it is there longer than the machine."""

    def __init__(self, folder, port):
        self.folder = folder
        self.socket = f"{folder}/card"
        self.api = f"{folder}/api"
        self.port = port
        self.process = None
        # slirp4netns ends when the other end is closed, so a killed test leaves none behind.
        self.exit, self.alive = os.pipe()

    def start(self):
        for path in (self.socket, self.api):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
        with open(f"{self.folder}/log", "ab") as log:
            self.process = subprocess.Popen(
                ["slirp4netns", "--target-type=bess", f"--exit-fd={self.exit}",
                 f"--api-socket={self.api}", self.socket],
                stdout=log, stderr=log, pass_fds=[self.exit])
        until(lambda: os.path.exists(self.socket), "slirp4netns listens")

    def ask(self, request):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(self.api)
            connection.sendall(json.dumps(request).encode())
            connection.shutdown(socket.SHUT_WR)
            answer = json.loads(b"".join(iter(lambda: connection.recv(4096), b"")))
        true("error" not in answer, answer)

    def forward(self):
        """Connections to the port of this machine go to the node."""
        until(lambda: os.path.exists(self.api), "slirp4netns can be asked")
        self.ask({"execute": "add_hostfwd",
                  "arguments": {"proto": "tcp", "host_addr": "127.0.0.1", "host_port": self.port,
                                "guest_addr": ADDRESS, "guest_port": PORT}})

    def end(self):
        if self.process:
            self.process.kill()
            self.process.wait()


class MachineClient(Client):
    """By TLS, with the token"""

    def __init__(self, port, keys, patience):
        super().__init__(None)
        self.connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=patience,
                                                      context=keys.context)
        self.headers = {"Authorization": f"Bearer {keys.token}"}
        self.connection.connect()

    def request(self, method, path, body=None, headers=None):
        return super().request(method, path, body, self.headers | (headers or {}))


def keep(path, secret):
    with open(path, "w", encoding="ascii") as stream:
        print(secret, file=stream)
    return path


class Keys:
    """A certificate and secrets that all nodes have"""

    def __init__(self, folder):
        os.makedirs(folder, exist_ok=True)
        self.certificate = f"{folder}/certificate"
        self.key = f"{folder}/key"
        self.token = secrets.token_hex(16)
        self.token_file = keep(f"{folder}/token", self.token)
        self.secret = secrets.token_hex(16)
        self.peer_token_file = keep(f"{folder}/peer_token", self.secret)
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:P-256", "-nodes", "-keyout", self.key, "-out",
                        self.certificate, "-subj", "/CN=hwheeld", "-addext",
                        f"subjectAltName=IP:127.0.0.1,IP:{HOST}", "-days", "30000"],
                       check=True, stderr=subprocess.DEVNULL)
        self.context = ssl.create_default_context(cafile=self.certificate)


class Console:
    """Lines that the machine's init reads and answers"""

    def __init__(self, process):
        self.process = process
        self.lines = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            line = line.decode(errors="replace").strip()
            if line.startswith("machine: "):
                self.lines.put(line.split()[1])
        self.lines.put("ended")

    def expect(self, answer):
        equal(self.lines.get(timeout=PATIENCE), answer)

    def do(self, command):
        self.process.stdin.write(command.encode() + b"\n")
        self.process.stdin.flush()
        self.expect("0")


class Machine(Asked):
    """What a node may be asked for: start, kill, pause, go_on, connect, is_settled, drop"""

    def __init__(self, kernel, module, program, folder, name, port, keys, disk=None, **settings):
        self.kernel = kernel
        self.module, self.program, self.folder = (
            os.path.realpath(path) for path in (module, program, f"{folder}/{name}"))
        self.name = name
        self.port = port
        self.own_port = PORT
        self.keys = keys
        self.secret = keys.secret
        self.disk = disk
        self.process = None
        self.console = None
        os.makedirs(self.folder)
        # The path of a socket is short.
        self.sockets = tempfile.mkdtemp(prefix="hwheel-")
        self.network = Network(self.sockets, port)
        self.settings = {"socket": "/run/hwheeld", "tick": "1ms", "node": name,
                         "mark": f"{self.folder}/mark",
                         "listen": f"{ADDRESS}:{PORT}", "token_file": keys.token_file,
                         "certificate": keys.certificate, "certificate_key": keys.key,
                         "peer_token_file": keys.peer_token_file, "peer_ca": keys.certificate,
                         } | settings

    def configure(self):
        with open(f"{self.folder}/hwheeld.conf", "w", encoding="utf-8") as stream:
            for name, value in self.settings.items():
                print(f"{name} = {value}", file=stream)

    def command(self):
        disk = [f"ubd0={self.disk}"] if self.disk else []
        return [self.kernel, f"mem={MEMORY}", "seccomp=auto", "quiet", "loglevel=1",
                f"uml_dir={self.sockets}/uml/", "rootfstype=hostfs", "rootflags=/", "rw",
                f"init={HERE}/machine_init.sh", "con=null", "con0=fd:0,fd:1",
                f"vec0:transport=bess,dst={self.sockets}/card,depth=64", f"checkout={CHECKOUT}",
                f"hwheel_ko={self.module}", f"folder={self.folder}", *disk]

    def start(self):
        self.configure()
        self.network.start()
        self.process = subprocess.Popen(self.command(), stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        start_new_session=True)
        self.console = Console(self.process)
        self.console.expect("ready")
        self.network.forward()
        self.start_daemon()
        return self

    def start_daemon(self):
        self.console.do(f"{self.program} -c {self.folder}/hwheeld.conf 2>>{self.folder}/log & "
                        "daemon=$!")
        until(self.is_up, f"{self.name} listens")

    def kill_daemon(self):
        self.console.do("kill -KILL $daemon; wait $daemon; true")

    def signal(self, number):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)

    def kill(self):
        """The machine is gone, as if without power."""
        self.signal(signal.SIGKILL)
        self.process.wait()
        self.network.end()
        shutil.rmtree(f"{self.sockets}/uml", ignore_errors=True)

    def stop(self):
        """The daemon ends as it should, and then the machine."""
        self.console.do("kill -TERM $daemon && wait $daemon")
        self.kill()

    def is_there(self):
        return self.process.poll() is None

    def network_process(self):
        """The process that makes its connections"""
        return self.network.process.pid

    def pause(self):
        self.signal(signal.SIGSTOP)

    def go_on(self):
        self.signal(signal.SIGCONT)

    def end(self):
        if self.process and self.process.poll() is None:
            self.kill()
        shutil.rmtree(self.sockets, ignore_errors=True)

    # The service, as clients see it

    def connect(self, patience):
        return MachineClient(self.port, self.keys, patience)

    def connect_as_node(self, patience):
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=patience,
                                           context=self.keys.context)

    def ask(self, path):
        client = self.connect(5)
        try:
            return client.request("GET", path)
        finally:
            client.close()

    # Faults inside

    def drop(self, *ports):
        """Packets from and to these ports are lost, on their way in and out."""
        ports = ", ".join(str(port) for port in ports)
        rules = "; ".join(f"add rule ip chaos {chain} tcp {side} {{ {ports} }} drop"
                          for chain in ("input", "output") for side in ("sport", "dport"))
        self.console.do(
            "nft 'add table ip chaos; "
            "add chain ip chaos input { type filter hook input priority 0; }; "
            "add chain ip chaos output { type filter hook output priority 0; }; " + rules + "'")

    def drop_nothing(self):
        self.console.do("nft delete table ip chaos")

    def step_clock(self, seconds):
        self.console.do(f"date -s @$(($(date +%s) + {seconds}))")
