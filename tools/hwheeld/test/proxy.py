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


class VersionProxy(Proxy):
    """A way to a server of ZooKeeper that answers the command srvr as it is told to"""

    def __init__(self, target, answer):
        super().__init__()
        self.target = target
        self.answer = answer

    def connect(self, near):
        threading.Thread(target=self.look_and_connect, args=(near,), daemon=True).start()

    def look_and_connect(self, near):
        with contextlib.suppress(OSError):
            if near.recv(4, socket.MSG_PEEK | socket.MSG_WAITALL) != b"srvr":
                super().connect(near)
                return
            # Bytes that nobody has read would reset the connection.
            near.recv(4)
            if self.answer is None:
                near.recv(1)
            else:
                near.sendall(self.answer.encode())
            near.close()
