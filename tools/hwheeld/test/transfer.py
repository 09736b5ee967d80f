# SPDX-License-Identifier: GPL-2.0-only
"""What hwheelctl export and import take from one hwheeld to another one"""
import datetime
import json
import os
import socket
import threading

from daemon import equal, true, until

# How far apart deadlines of a delay may be that went from one store to another
APART = datetime.timedelta(minutes=10)


def put_all_sorts(client):
    """Pending, due and leased ones, of both kinds, with odd keys, payloads and queues"""
    for number in range(1500):
        equal(client.put(f"many-{number}", delay=86400 + number, payload=f"p{number}",
                         queue=f"q{number % 7}").status, 201)
    for key in ("a/b", "\u00e4\u20ac\U0001f600", "%", "'\"\\", 256 * "k"):
        equal(client.put(key, delay=86400, payload=json.dumps(key) + "\0\n\x1b\u2028").status, 201)
    equal(client.put("empty", deadline="2030-05-06T07:08:09.012Z", queue="other").status, 201)
    equal(client.put("large", deadline=1900000000, payload=65536 * "\1", queue="other").status, 201)
    equal(client.put("leased", delay=0, queue="leased").status, 201)
    equal(client.take("leased", wait=30, lease=3000)[0]["deliveries"], 1)
    equal(client.put("due", delay=0, queue="other").status, 201)
    equal(client.put("past", deadline="2020-02-29T00:00:00.001Z").status, 201)
    until(lambda: all(client.get(key).json["state"] == "due" for key in ("due", "past")), "due")


def timeouts(lines):
    """Of an export; a payload may have what Python takes for the end of a line."""
    return [json.loads(line) for line in lines.split("\n")[:-1]]


def run_import(daemon, lines):
    """The exit status, how many were created, and how many were there"""
    done = daemon.ctl("import", stdin=lines)
    equal(done.stderr, "")
    *there, summary = map(json.loads, done.stdout.splitlines())
    equal(len(there), summary["there"])
    return done.returncode, summary["created"], summary["there"]


def moved(daemon):
    """An export, when all that have no time left are due"""
    client = daemon.client()
    until(lambda: {client.get(key).json["state"] for key in ("due", "past", "leased")} == {"due"},
          "due")
    return daemon.export()


def compare(before, after):
    """All members; a lease and its count of deliveries are the old store's."""
    old, new = ({one["key"]: one for one in timeouts(lines)} for lines in (before, after))
    equal(len(timeouts(after)), len(new))
    equal(set(new), set(old))
    for key, timeout in old.items():
        found, was = (datetime.datetime.fromisoformat(one["deadline"].replace("Z", "+00:00"))
                      for one in (new[key], timeout))
        if timeout["kind"] == "delay" and timeout["state"] == "pending":
            true(was <= found < was + APART, f"{key}: {was}, then {found}")
        elif timeout["kind"] == "deadline":
            equal(found, was)
        timeout = timeout | {"deadline": new[key]["deadline"], "deliveries": 0}
        timeout["state"] = "due" if timeout["state"] == "leased" else timeout["state"]
        equal(new[key], timeout)


class Pages:
    """A daemon that answers with these objects, one after the other; None is cut off."""

    def __init__(self, path, *answers):
        self.path = path
        self.answers = answers
        self.asked = []
        self.left = list(answers)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def begin(self):
        self.left = list(self.answers)

    def serve(self, raw):
        with raw.makefile("rb") as stream:
            self.asked.append(stream.readline().split()[1].decode())
            while stream.readline().strip():
                pass
        answer = self.left.pop(0)
        text = json.dumps(answer if answer is not None else {"timeouts": []}).encode()
        raw.sendall(b"HTTP/1.0 200 OK\r\nContent-Length: %d\r\n\r\n" % len(text) +
                    text[:None if answer is not None else 5])

    def run(self):
        while True:
            try:
                raw, _ = self.listener.accept()
            except OSError:
                return
            with raw:
                self.serve(raw)

    def ctl(self, daemon, *words):
        before, daemon.socket = daemon.socket, self.path
        try:
            return daemon.ctl(*words)
        finally:
            daemon.socket = before

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join()
        os.unlink(self.path)
