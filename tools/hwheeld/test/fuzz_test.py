#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""fuzz_test.py HWHEELD FOLDER ROUNDS [SEED]: hostile HTTP and JSON changes nothing. Prints TAP."""
import contextlib
import http.client
import io
import json
import random
import re
import signal
import socket
import sys
import threading

from daemon import Answer, Daemon, Tap, equal, true, until
from openapi import DESCRIPTION

BODY = b'{"delay":1000,"queue":"q","payload":"p"}'
LIMIT = 4096


def request(method=b"PUT", path=b"/timeouts/a", headers=b"", body=BODY):
    return (method + b" " + path + b" HTTP/1.1\r\nHost: x\r\n" + headers +
            b"Content-Length: " + str(len(body)).encode() + b"\r\n\r\n" + body)


def exchange(daemon, data, hang_up=False):
    """Sends bytes, and returns what comes back until the daemon closes, or has answered."""
    answer = b""
    with socket.socket(socket.AF_UNIX) as raw, contextlib.suppress(ConnectionError):
        raw.settimeout(30)
        raw.connect(daemon.socket)
        with contextlib.suppress(ConnectionError):
            raw.sendall(data)
        if hang_up:
            return answer
        with contextlib.suppress(OSError):
            raw.shutdown(socket.SHUT_WR)
        while chunk := raw.recv(65536):
            answer += chunk
    return answer


def status_of(answer):
    return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/1.") else None


def chunked(*sizes):
    return (b"PUT /timeouts/a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" +
            b"".join(b"%x\r\n" % size + size * b"x" + b"\r\n" for size in sizes))


def state(client):
    page = client.request("GET", "/timeouts?limit=1000").json
    return sorted((t["key"], t["queue"], t["state"], t["deadline"][:13]) for t in page["timeouts"])


def what_is_too_large_gets_413(daemon):
    equal(status_of(exchange(daemon, request(body=(LIMIT + 1) * b" "))), 413)
    equal(status_of(exchange(daemon, chunked(*64 * [1000]))), 413)
    equal(status_of(exchange(daemon, chunked(LIMIT + 1))), 413)
    huge = b"PUT /timeouts/a HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999\r\n\r\n"
    true(status_of(exchange(daemon, huge)) in (400, 413, None), "huge")
    header = b"GET /health HTTP/1.1\r\nHost: x\r\nX: " + 100000 * b"x" + b"\r\n\r\n"
    true(status_of(exchange(daemon, header)) in (413, 431, 400, None), "header")
    path = b"GET /timeouts/" + 100000 * b"x" + b" HTTP/1.1\r\nHost: x\r\n\r\n"
    true(status_of(exchange(daemon, path)) in (414, 431, 413, 400, None), "path")


def an_endless_body_ends(daemon):
    with socket.socket(socket.AF_UNIX) as raw:
        raw.settimeout(30)
        raw.connect(daemon.socket)
        raw.sendall(b"PUT /timeouts/a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        sent = 0
        with contextlib.suppress(ConnectionError):
            while sent < 1000 * LIMIT:
                raw.sendall(b"100\r\n" + 256 * b"x" + b"\r\n")
                sent += 256
        true(sent < 1000 * LIMIT, "it never ended")


def a_byte_every_two_seconds(daemon):
    """While all else goes on; the limit of this test's daemon is 3 s."""
    with socket.socket(socket.AF_UNIX) as raw:
        raw.settimeout(30)
        raw.connect(daemon.socket)
        client = daemon.client()
        before = client.metric("hwheeld_requests_too_slow_total")
        closed = threading.Event()

        def drip():
            with contextlib.suppress(OSError):
                for byte in request(body=1000 * b" "):
                    raw.sendall(bytes([byte]))
                    if closed.wait(2):
                        return
            closed.set()

        raw.sendall(b"PUT /timeouts/slow HTTP/1.1\r\nHost: x\r\nContent-Length: 999\r\n\r\n")
        thread = threading.Thread(target=drip)
        thread.start()
        until(lambda: client.metric("hwheeld_requests_too_slow_total") == before + 1, "cut off")
        closed.set()
        thread.join()


def mutate(chance, data):
    data = bytearray(data)
    for _ in range(chance.randrange(1, 6)):
        at = chance.randrange(len(data) + 1)
        way = chance.randrange(5)
        if way == 0:
            data[at:at] = bytes(chance.randrange(256) for _ in range(chance.randrange(1, 8)))
        elif way == 1:
            del data[at:at + chance.randrange(1, 10)]
        elif way == 2 and at < len(data):
            data[at] = chance.randrange(256)
        elif way == 3:
            data[at:at] = data[:at]
        else:
            data[at:at] = chance.choice((b"\r\n", b"\0", b"%", b"\xff", b"\r\n\r\n", b"{", b'"',
                                         b"\\u0000", b"1e999", b"-", b"chunked", b" "))
    return bytes(data)


def a_value(chance, depth=0):
    way = chance.randrange(9 if depth < 4 else 7)
    return [None, True, chance.randrange(-5, 10**20), chance.random() * 10**chance.randrange(300),
            chance.choice(("", "1s", "x" * 300, "\0", "\ud800", "ä", "2026-01-01T00:00:00Z")),
            -1.5, "5", [a_value(chance, depth + 1)] if way == 7 else None,
            {chance.choice(("a", "delay")): a_value(chance, depth + 1)} if way == 8 else None][way]


def a_wish(chance):
    names = ("delay", "deadline", "queue", "payload", "key", "x")
    return {chance.choice(names): a_value(chance) for _ in range(chance.randrange(5))}


def hostile(chance):
    way = chance.randrange(6)
    if way == 0:
        return bytes(chance.randrange(256) for _ in range(chance.randrange(1, 400)))
    if way == 1:
        return request(b"POST", b"/timeouts", body=json.dumps(
            {"timeouts": [a_wish(chance) for _ in range(3)]}).encode())
    if way == 2:
        return request(b"PUT", b"/timeouts/%25" + str(chance.random()).encode(),
                       body=json.dumps(a_wish(chance)).encode())
    if way == 3:
        return mutate(chance, request(b"POST", b"/queues/none/take?max=5&wait=0.001&lease=1",
                                      body=b""))
    if way == 4:
        return mutate(chance, request(b"DELETE", b"/leases/" + 32 * b"0", body=b""))
    return mutate(chance, chance.choice((request(), chunked(10, 20), request(b"GET", body=b""))))


class Received:
    """In place of a socket, for http.client"""

    def __init__(self, data):
        self.data = data

    def makefile(self, *_):
        return io.BytesIO(self.data)


def check(data, received):
    """
    What the daemon answers is as described. An answer without a type is libmicrohttpd's own, to what
    is no HTTP; and what a request is that has no sound first line, nobody knows.
    """
    true(100 <= status_of(received) < 600 and status_of(received) != 500, "a status")
    line = re.match(rb"([A-Z]+) (/[!-~]*) HTTP/1\.[01]\r\n", data)
    method = line[1].decode() if line else "GET"
    response = http.client.HTTPResponse(Received(received), method=method)
    response.begin()
    answer = Answer(response)
    if answer.text and not answer.headers["Content-Type"]:
        true(status_of(received) in (400, 413, 414, 431, 501, 505), received)
    elif line:
        DESCRIPTION.check_answer(method, line[2].decode(), answer)


def mutations(daemon, rounds, seed):
    chance = random.Random(seed)
    for _ in range(rounds):
        data = hostile(chance)
        answer = exchange(daemon, data, hang_up=chance.random() < 0.2)
        try:
            if answer:
                check(data, answer)
        except Exception as error:
            raise AssertionError((data, answer)) from error


def connections_end(daemon):
    daemon.hang_up()
    until(lambda: daemon.client().metric("hwheeld_requests") == 1, "requests")
    daemon.hang_up()
    until(lambda: daemon.client().metric("hwheeld_connections") <= 2, "connections")


def set_request_time(daemon, time):
    before = daemon.said().count("was read again")
    daemon.configure(request_time=time)
    daemon.signal(signal.SIGHUP)
    until(lambda: daemon.said().count("was read again") > before, "the configuration is read")


def main():
    program, folder, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
    tap = Tap()
    seed = tap.begin(4)
    daemon = Daemon(program, folder, body=LIMIT, request_time="3s", connections=200)
    with daemon:
        client = daemon.client()
        client.put_many([{"key": f"kept {key}", "delay": 36000} for key in range(20)])
        before = state(client)
        tap.run(what_is_too_large_gets_413, daemon)
        tap.run(an_endless_body_ends, daemon)
        tap.run(a_byte_every_two_seconds, daemon)
        # Many of these wait for more, until the daemon cuts them off.
        set_request_time(daemon, "100ms")
        tap.run(mutations, daemon, rounds, seed)
        set_request_time(daemon, "30s")
        tap.run(connections_end, daemon)

        def nothing_has_changed():
            """Hostile requests that are sound may have made timeouts of their own."""
            kept = [entry for entry in state(daemon.client()) if entry[0].startswith("kept")]
            equal(kept, before)
            daemon.restart()
            kept = [entry for entry in state(daemon.client()) if entry[0].startswith("kept")]
            equal(kept, before)
            daemon.is_sound()
        tap.run(nothing_has_changed)
    sys.exit(tap.end())


main()
