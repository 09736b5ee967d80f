# SPDX-License-Identifier: GPL-2.0-only
"""Ways to a node that keep its answers back, or to a server that has another version."""
import contextlib
import socket
import threading


class Proxy:
    """Passes on what comes to its port. The node that is to be reached is known later."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        self.passes = threading.Event()
        self.passes.set()
        self.target = None
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                self.connect(self.listener.accept()[0])

    def connect(self, near):
        try:
            far = socket.create_connection(self.target)
        except OSError:
            near.close()
            return
        for source, sink, answers in (near, far, False), (far, near, True):
            threading.Thread(target=self.pass_on, args=(source, sink, answers),
                             daemon=True).start()

    def pass_on(self, source, sink, answers):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if answers:
                    self.passes.wait()
                sink.sendall(data)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)

    def hold(self):
        self.passes.clear()

    def release(self):
        self.passes.set()

    def close(self):
        self.release()
        self.listener.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
