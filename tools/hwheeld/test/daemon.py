# SPDX-License-Identifier: GPL-2.0-only
"""A hwheeld for tests, its clients, and test points as TAP."""
import contextlib
import glob
import http.client
import json
import os
import random
import resource
import signal
import socket
import subprocess
import sys
import time
import traceback
from urllib.parse import quote

from openapi import DESCRIPTION

# A machine that is busy with something else is no reason to fail.
PATIENCE = 60


class Tap:
    """Test points: functions, whose names tell what is tested."""

    def __init__(self):
        self.points = 0
        self.failures = 0

    def run(self, function, *arguments):
        self.points += 1
        name = function.__name__.replace("_", " ")
        since = time.monotonic()
        try:
            function(*arguments)
            print(f"ok {self.points} - {name}")
            print(f"# in {time.monotonic() - since:.1f} s", flush=True)
        except Exception:  # whatever it is, it is this point's failure
            self.failures += 1
            print(f"not ok {self.points} - {name}")
            for line in traceback.format_exc().splitlines():
                print("#", line.encode("ascii", "backslashreplace").decode(), flush=True)

    def begin(self, place):
        """Returns the seed: the argument at that place, or another one each time."""
        seed = int(sys.argv[place]) if len(sys.argv) > place else \
            random.SystemRandom().randrange(1 << 32)
        print("TAP version 13")
        print(f"# seed {seed}", flush=True)
        return seed

    def end(self):
        print(f"1..{self.points}", flush=True)
        return 1 if self.failures else 0


def run_all(tests, make, *last):
    """Each test gets a daemon of its own; @last come behind them, without one."""
    tap = Tap()
    print("TAP version 13")
    for test in tests:
        def point(test=test):
            daemon = make()
            try:
                with daemon:
                    test(daemon)
                    daemon.is_sound()
            finally:
                daemon.remove_database()
        point.__name__ = test.__name__
        tap.run(point)
    for test in last:
        tap.run(test)
    sys.exit(tap.end())


def equal(found, expected):
    if found != expected:
        raise AssertionError(f"{found!r}, not {expected!r}")


def true(condition, what):
    if not condition:
        raise AssertionError(what)


def until(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        true(time.monotonic() < end, f"not in time: {what}")
        time.sleep(0.005)


def free_ports(count):
    """They may be taken by others until the servers have them; these do not start then."""
    probes = [socket.socket() for _ in range(count)]
    for probe in probes:
        probe.bind(("127.0.0.1", 0))
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ports


class Connection(http.client.HTTPConnection):
    """HTTP over a Unix socket"""

    def __init__(self, path):
        super().__init__("localhost", timeout=PATIENCE)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(PATIENCE)
        self.sock.connect(self.path)


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.text = response.read()

    @property
    def json(self):
        return json.loads(self.text)


def answer_to(raw, method, target, body=None, headers=None):
    """What comes next on a socket to which a test has sent this by itself"""
    response = http.client.HTTPResponse(raw, method=method)
    response.begin()
    answer = Answer(response)
    DESCRIPTION.check(method, target, body, headers, answer)
    return answer


class Client:
    """A connection that is kept, and the API."""

    def __init__(self, path):
        self.connection = Connection(path)
        self.sent = None

    def close(self):
        self.connection.close()

    def send(self, method, path, body=None, headers=None):
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        self.sent = method, path, body, headers
        # A daemon that refuses the header may close before it has the body.
        with contextlib.suppress(BrokenPipeError):
            self.connection.request(method, path, body, headers or {})

    def answer(self):
        """To what was sent; each answer is as the API's description has it."""
        answer = Answer(self.connection.getresponse())
        DESCRIPTION.check(*self.sent, answer)
        return answer

    def request(self, method, path, body=None, headers=None):
        self.send(method, path, body, headers)
        return self.answer()

    def put(self, key, headers=None, **wish):
        return self.request("PUT", "/timeouts/" + quote(key, safe=""), wish, headers)

    def put_many(self, wishes):
        return self.request("POST", "/timeouts", {"timeouts": wishes})

    def get(self, key):
        return self.request("GET", "/timeouts/" + quote(key, safe=""))

    def cancel(self, key):
        return self.request("DELETE", "/timeouts/" + quote(key, safe=""))

    def take(self, queue="default", **parameters):
        text = "&".join(f"{name}={value}" for name, value in parameters.items())
        answer = self.request("POST", f"/queues/{queue}/take?{text}")
        equal(answer.status, 200)
        return answer.json["timeouts"]

    def ack(self, token):
        return self.request("DELETE", f"/leases/{token}").status

    def metric(self, name):
        text = self.request("GET", "/metrics").text.decode()
        for line in text.splitlines():
            if line.startswith(name + " "):
                return float(line.split()[1])
        raise KeyError(name)


def pages(client, query="limit=100"):
    """The pages of a list, which ends with one that has no next"""
    after = ""
    while after is not None:
        answer = client.request("GET", f"/timeouts?{query}{after}")
        equal((answer.status, answer.text if answer.status != 200 else b""), (200, b""))
        page = answer.json
        true(page["timeouts"] or "next" not in page, f"{query}: an empty page, and more")
        yield page["timeouts"]
        after = f"&after={page['next']}" if "next" in page else None


def listed(client, query="limit=100"):
    return [timeout for page in pages(client, query) for timeout in page]


def certify(folder):
    """A key and a certificate of its own, in the folder"""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:P-256", "-nodes", "-keyout", f"{folder}/key", "-out",
                    f"{folder}/certificate", "-subj", "/CN=hwheeld", "-addext",
                    "subjectAltName=IP:127.0.0.1", "-days", "30000"],
                   check=True, stderr=subprocess.DEVNULL)


class Daemon:
    """A hwheeld that runs in a folder of its own."""

    def __init__(self, program, folder, **settings):
        self.program = program
        self.folder = folder
        self.process = None
        self.clients = []
        self.poison = True
        self.environment = {}
        self.socket = f"{folder}/socket"
        self.settings = {"database": f"{folder}/log.sqlite", "socket": self.socket,
                         "tick": "1ms"} | settings
        os.makedirs(folder, exist_ok=True)

    def configure(self, **settings):
        self.settings |= settings
        with open(f"{self.folder}/hwheeld.conf", "w", encoding="utf-8") as stream:
            for name, value in self.settings.items():
                print(f"{name} = {value}", file=stream)

    def launch(self, nofile=None):
        self.configure()
        self.log = open(f"{self.folder}/log", "ab")
        # malloc, or jemalloc, overwrites memory that is freed, so that a use of it is noticed.
        poison = {"MALLOC_PERTURB_": "165", "MALLOC_CONF": "junk:true"} if self.poison else {}
        self.process = subprocess.Popen(
            [self.program, "-c", f"{self.folder}/hwheeld.conf"], stderr=self.log,
            env=os.environ | poison | self.environment)
        if nofile:
            resource.prlimit(self.process.pid, resource.RLIMIT_NOFILE, (nofile, nofile))

    def is_up(self):
        true(self.process.poll() is None, f"it ended: {self.said()}")
        with socket.socket(socket.AF_UNIX) as probe:
            return not probe.connect_ex(self.socket)

    def start(self):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.socket)
        self.launch()
        until(self.is_up, "it listens")
        return self

    def said(self):
        with open(f"{self.folder}/log", encoding="utf-8", errors="replace") as stream:
            return stream.read()

    def client(self):
        self.clients.append(Client(self.socket))
        return self.clients[-1]

    def hang_up(self):
        for client in self.clients:
            client.close()
        self.clients = []

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self):
        status = self.process.wait(PATIENCE)
        self.log.close()
        return status

    def kill(self):
        self.signal(signal.SIGKILL)
        self.wait()
        self.hang_up()

    def stop(self):
        self.signal(signal.SIGTERM)
        status = self.wait()
        self.hang_up()
        return status

    def restart(self):
        equal(self.stop(), 0)
        return self.start()

    def ctl_command(self, command, *words):
        return [f"{os.path.dirname(self.program)}/../hwheelctl", command, "--socket", self.socket,
                *words]

    def ctl(self, command, *words, stdin=""):
        return subprocess.run(self.ctl_command(command, *words), capture_output=True, text=True,
                              input=stdin, check=False)

    def export(self, *words):
        """The lines, which are JSON"""
        done = self.ctl("export", *words)
        equal((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def is_sound(self):
        """It still answers, and ends as it should."""
        if self.process.poll() is None:
            equal(self.client().request("GET", "/health").status, 200)
            equal(self.stop(), 0)

    def remove_database(self):
        """The file system of the tests is small."""
        for path in glob.glob(glob.escape(self.settings["database"]) + "*"):
            os.unlink(path)

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.kill()
