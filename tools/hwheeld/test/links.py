# SPDX-License-Identifier: GPL-2.0-only
"""Connections between processes of this machine that can be cut: what is sent then waits.

Each port is reached by another one, at which a thread accepts and passes on. As on a network that
loses packets, nobody is told of a cut, and what was sent arrives when it ends, unless the sender
has given up.
"""
import contextlib
import re
import socket
import subprocess
import threading


def process_of(port):
    """Which one has a connection from this port of this machine? None if it has gone."""
    sockets = subprocess.run(["ss", "-Htnp", f"sport = :{port}"], check=True, capture_output=True,
                             text=True).stdout
    found = re.search(r"pid=(\d+)", sockets)
    return found and int(found[1])


class Links:
    def __init__(self):
        self.changed = threading.Condition()
        self.cut = set()  # (process, target) each
        self.listeners = {}

    def port_to(self, target):
        """Leads to that port"""
        if target not in self.listeners:
            listener = socket.create_server(("127.0.0.1", 0), backlog=64)
            self.listeners[target] = listener
            threading.Thread(target=self.accept, args=(listener, target), daemon=True).start()
        return self.listeners[target].getsockname()[1]

    def accept(self, listener, target):
        with contextlib.suppress(OSError):
            while True:
                near, address = listener.accept()
                threading.Thread(target=self.connect, args=(near, address[1], target),
                                 daemon=True).start()

    def connect(self, near, port, target):
        link = process_of(port), target
        self.wait(link)
        try:
            far = socket.create_connection(("127.0.0.1", target))
        except OSError:
            near.close()
            return
        threading.Thread(target=self.pass_on, args=(near, far, link), daemon=True).start()
        self.pass_on(far, near, link)

    def pass_on(self, source, sink, link):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                self.wait(link)
                sink.sendall(data)
        for end in source, sink:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def wait(self, link):
        with self.changed:
            self.changed.wait_for(lambda: link not in self.cut)

    @contextlib.contextmanager
    def are_cut(self, links):
        """links: (process, target) each"""
        with self.changed:
            self.cut = set(links)
        try:
            yield
        finally:
            with self.changed:
                self.cut = set()
                self.changed.notify_all()

    def close(self):
        for listener in self.listeners.values():
            listener.close()
