#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR MIT
"""An echo server on asyncio that closes each connection which says nothing for too long.

    idle_server.py PORT SECONDS

Each connection has one timeout, which each line that it sends puts off. The loop has no timer of
its own, however many connections there are.
"""

import asyncio
import sys

from hwheel.aio import Timers


class IdleServer:
    def __init__(self, timers: Timers, idle: float) -> None:
        self.timers = timers
        self.idle = idle
        self.timed_out = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Echoes lines until the client hangs up, or its time is over."""
        try:
            async with self.timers.timeout(self.idle) as handle:
                while line := await reader.readline():
                    handle.set(self.idle)
                    writer.write(line)
                    await writer.drain()
        except TimeoutError:
            self.timed_out += 1
        writer.close()


async def main(port: int, idle: float) -> None:
    async with Timers() as timers:
        server = await asyncio.start_server(IdleServer(timers, idle).serve, "127.0.0.1", port)
        print("ready", flush=True)
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), float(sys.argv[2])))
