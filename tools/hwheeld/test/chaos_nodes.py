# SPDX-License-Identifier: GPL-2.0-only
"""Nodes that are processes of this machine, each with its wheel in it"""
import http.client
import os
import signal

from asked import Asked
from daemon import Client, Daemon
from other_clock import OtherClock


class ProcessNode(Daemon, Asked):
    """What a node may be asked for: start, kill, pause, go_on, connect, is_settled"""

    def __init__(self, program, folder, name, ahead, secret, **settings):
        """ahead: of this machine's clocks, see OtherClock"""
        super().__init__(program, f"{folder}/{name}", node=name, **settings)
        self.name = name
        self.secret = secret
        self.clock = OtherClock(f"{self.folder}/clock", os.path.dirname(program), **ahead)
        self.environment = self.clock.environment

    def connect(self, patience):
        client = Client(self.socket)
        client.connection.timeout = patience
        client.connection.connect()
        client.connection.sock.settimeout(patience)
        return client

    def connect_as_node(self, patience):
        return http.client.HTTPConnection(self.settings["listen"], timeout=patience)

    def step_clock(self, seconds):
        self.clock.step(seconds)

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
