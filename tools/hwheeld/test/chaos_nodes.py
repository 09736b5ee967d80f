# SPDX-License-Identifier: GPL-2.0-only
"""Nodes that are processes of this machine, each with its wheel in it"""
import os
import signal

from asked import Asked
from daemon import Client, Daemon, true


class ProcessNode(Daemon, Asked):
    """What a node may be asked for: start, kill, pause, go_on, connect, is_settled"""

    def __init__(self, program, folder, name, boot_ahead, **settings):
        super().__init__(program, f"{folder}/{name}", node=name, **settings)
        self.name = name
        library = f"{os.path.dirname(program)}/other_clock.so"
        true(os.path.exists(library), f"{library} is missing")
        self.environment = {"LD_PRELOAD": library, "BOOT_AHEAD": str(boot_ahead)}

    def connect(self, patience):
        client = Client(self.socket)
        client.connection.timeout = patience
        client.connection.connect()
        client.connection.sock.settimeout(patience)
        return client

    def network_process(self):
        """The process that makes its connections"""
        return self.process.pid

    def pause(self):
        self.signal(signal.SIGSTOP)

    def go_on(self):
        self.signal(signal.SIGCONT)

    def ask(self, path):
        client = self.connect(2)
        try:
            return client.request("GET", path)
        finally:
            client.close()

    def end(self):
        self.hang_up()
        if self.process and self.process.poll() is None:
            self.kill()
