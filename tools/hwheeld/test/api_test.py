#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""api_test.py HWHEELD FOLDER: what each request does, with the module and without. Prints TAP. Only
in a user-mode kernel are there tests that step the clock."""
import contextlib
import datetime
import http.client
import itertools
import json
import os
import re
import select
import signal
import socket
import sqlite3
import ssl
import subprocess
import sys
import threading
import time
import warnings

import openapi
from daemon import (PATIENCE, Client, Daemon, answer_to, certify, equal, listed, pages, run_all,
                    true, until)
from transfer import Pages, compare, moved, put_all_sorts, run_import, timeouts

program, base = sys.argv[1:3]
folders = (f"{base}/{number}" for number in itertools.count())


TOKEN = 16 * "t1"
PERMIT = {"Authorization": "Bearer " + TOKEN}


class TcpClient(Client):
    def __init__(self, host, port, context=None):
        super().__init__(None)
        self.connection = (http.client.HTTPSConnection(host, port, timeout=60, context=context)
                           if context else http.client.HTTPConnection(host, port, timeout=60))


def with_ends():
    """A connection that the other side ends, in whichever way"""
    return contextlib.suppress(ConnectionError)


def make(**settings):
    return Daemon(program, next(folders), **settings)


def keys(timeouts):
    return sorted(timeout["key"] for timeout in timeouts)


def put_creates_then_restarts(daemon):
    client = daemon.client()
    answer = client.put("a", delay=3600)
    equal(answer.status, 201)
    equal(answer.json["state"], "pending")
    true(3000 < answer.json["remaining"] <= 3600, answer.json)
    answer = client.put("a", delay="10m", queue="q", payload="x")
    equal(answer.status, 200)
    shown = client.get("a").json
    true(500 < shown["remaining"] <= 600, shown)
    equal((shown["queue"], shown["payload"], shown["kind"]), ("q", "x", "delay"))
    equal(client.metric("hwheeld_timeouts"), 1)


def if_none_match_only_creates(daemon):
    client = daemon.client()
    equal(client.put("a", {"If-None-Match": "*"}, delay=1000).status, 201)
    equal(client.put("a", {"If-None-Match": "*"}, delay=1).status, 412)
    true(client.get("a").json["remaining"] > 900, "it was restarted")
    equal(client.put("b", {"If-None-Match": "x"}, delay=1).status, 400)
    equal(client.get("b").status, 404)


def cancel_ends_it(daemon):
    client = daemon.client()
    client.put("a", delay=1000)
    equal(client.cancel("a").status, 204)
    equal(client.cancel("a").status, 404)
    equal(client.get("a").status, 404)


def due_ones_are_taken_once(daemon):
    client = daemon.client()
    for key in "abc":
        client.put(key, delay=0.01, payload=key * 3)
    taken = []
    while len(taken) < 3:
        taken += client.take(max=2, wait=30)
    equal(keys(taken), ["a", "b", "c"])
    equal([t["payload"] for t in sorted(taken, key=lambda t: t["key"])], ["aaa", "bbb", "ccc"])
    equal(client.take(max=10), [])
    for timeout in taken:
        equal(client.cancel(timeout["key"]).status, 409)
        equal(client.put(timeout["key"], delay=1).status, 409)
        equal(client.ack(timeout["token"]), 204)
        equal(client.ack(timeout["token"]), 410)
        equal(client.get(timeout["key"]).status, 404)


def none_is_early(daemon):
    client = daemon.client()
    since = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    for key in range(100):
        client.put(str(key), delay=f"{key}ms")
    left = 100
    while left:
        for timeout in client.take(max=10, wait=30):
            now = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
            true(now - since >= int(timeout["key"]) * 1000000, "early")
            left -= 1


def queues_are_apart(daemon):
    client = daemon.client()
    client.put("a", delay=0, queue="one")
    client.put("b", delay=0, queue="two")
    equal(keys(client.take("two", wait=30)), ["b"])
    equal(keys(client.take("one", wait=30)), ["a"])
    equal(client.take("one"), [])


def a_due_one_is_cancelled_or_restarted(daemon):
    client = daemon.client()
    for key in "ab":
        client.put(key, delay=0)
    until(lambda: client.get("a").json["state"] == "due" and
          client.get("b").json["state"] == "due", "due")
    equal(client.cancel("a").status, 204)
    equal(client.put("b", delay=1000).status, 200)
    equal(client.take(max=10), [])
    equal(client.get("b").json["state"], "pending")


def without_acknowledgement_it_comes_again(daemon):
    client = daemon.client()
    client.put("a", delay=0)
    first = client.take(wait=30, lease="20ms")[0]
    equal(first["deliveries"], 1)
    second = client.take(wait=30, lease=1000)[0]
    equal((second["key"], second["deliveries"]), ("a", 2))
    equal(client.ack(first["token"]), 410)
    equal(client.ack(second["token"]), 204)
    equal(client.metric("hwheeld_leases_ended_total"), 1)


def a_lease_that_is_returned_is_due_at_once(daemon):
    client = daemon.client()
    client.put("a", delay=0, payload="p")
    token = client.take(wait=30, lease=1000)[0]["token"]
    equal(client.request("POST", f"/leases/{token}/return").status, 204)
    equal(client.request("POST", f"/leases/{token}/return").status, 410)
    equal(client.ack(token), 410)
    equal(client.get("a").json["state"], "due")
    daemon.kill()
    client = daemon.start().client()
    again = client.take(wait=30)[0]
    equal((again["key"], again["payload"], again["deliveries"]), ("a", "p", 2))


def a_batch_is_one_commit(daemon):
    client = daemon.client()
    before = client.metric("hwheeld_commits_total")
    answer = client.put_many([{"key": str(key), "delay": 1000} for key in range(500)])
    equal(answer.status, 200)
    equal({result["status"] for result in answer.json["results"]}, {201})
    equal(client.metric("hwheeld_commits_total"), before + 1)
    equal(client.metric("hwheeld_timeouts"), 500)


def a_batch_tells_of_each(daemon):
    client = daemon.client()
    client.put("leased", delay=0)
    lease = client.take(wait=30)[0]
    client.put("old", delay=1000)
    answer = client.put_many([{"key": key, "delay": 500} for key in ("leased", "old", "new")])
    equal([result["status"] for result in answer.json["results"]], [409, 200, 201])
    equal(client.ack(lease["token"]), 204)
    equal(client.get("leased").status, 404)


def a_batch_may_only_create(daemon):
    client = daemon.client()
    client.put("leased", delay=0)
    client.take(wait=30, lease=1000)
    client.put("old", delay=1000, queue="q", payload="old")

    def create(*names):
        answer = client.request("POST", "/timeouts", {"timeouts": [
            {"key": key, "delay": 500, "payload": "new"} for key in names]}, {"If-None-Match": "*"})
        equal(answer.status, 200)
        return [result["status"] for result in answer.json["results"]]

    equal(create("leased", "old", "new"), [412, 412, 201])
    equal(create("leased", "old", "new"), [412, 412, 412])
    found = client.get("old").json
    equal((found["queue"], found["payload"]), ("q", "old"))
    true(found["remaining"] > 900, found)
    equal([client.get(key).json["state"] for key in ("leased", "new")], ["leased", "pending"])
    equal([queue["timeouts"] for queue in client.request("GET", "/queues").json["queues"]], [2, 1])


def a_wrong_batch_changes_nothing(daemon):
    client = daemon.client()
    for wrong in ([{"key": "a", "delay": 1}, {"key": "a", "delay": 1}],
                  [{"key": "a", "delay": 1}, {"delay": 1}],
                  [{"key": "a", "delay": 1}, {"key": "b"}],
                  [{"key": "a", "delay": 1}, 5], []):
        equal(client.put_many(wrong).status, 400)
    equal(client.metric("hwheeld_timeouts"), 0)


def wrong_requests_say_so(daemon):
    client = daemon.client()
    wishes = [b"", b"{", b"[]", b"5", b'{"delay":1}x', b'{"delay":-1}', b'{"delay":"x"}',
              b'{"delay":1,"deadline":2}', b"{}", b'{"delay":1,"queue":"a b"}',
              b'{"delay":1,"queue":""}', b'{"delay":1,"payload":5}', b'{"delay":NaN}',
              b'{"delay":1e999}',
              b'{"delay":"1s\\u0000"}', b'{"delay":1,"key":"other"}', b'\xff{"delay":1}',
              b'{"delay":1,"payload":"\xff"}', b"[" * 100, b'{"delay":1}\0{"delay":1}']
    for wish in wishes:
        answer = client.request("PUT", "/timeouts/a", wish)
        equal((wish, answer.status), (wish, 400))
        true(answer.json["error"] and answer.json["status"] == 400, answer.text)
    for path in ("/timeouts/", "/timeouts/%", "/timeouts/%0", "/timeouts/%zz", "/timeouts/%00",
                 "/timeouts/a%00b", "/timeouts/%ff", "/timeouts/%c0%80", "/timeouts/" + 257 * "a",
                 "/timeouts/%0a", "/timeouts/%ed%a0%80"):
        equal((path, client.request("PUT", path, {"delay": 1}).status), (path, 400))
    for method, path, status in (("GET", "/", 404), ("GET", "/timeoutsx", 404),
                                 ("PATCH", "/timeouts/a", 405), ("PUT", "/timeouts", 405),
                                 ("POST", "/health", 405), ("GET", "/queues/a/take", 405),
                                 ("POST", "/queues/a/give", 404), ("GET", "/leases/x", 405),
                                 ("DELETE", "/leases/" + 32 * "0", 410),
                                 ("DELETE", "/leases/x", 410),
                                 ("POST", "/leases/x/return", 410),
                                 ("POST", "/leases/" + 33 * "0" + "/return", 410),
                                 ("DELETE", "/leases/x/return", 405),
                                 ("POST", "/leases/x", 405), ("POST", "/leases/x/y", 404),
                                 ("POST", "/queues/a%20b/take", 400),
                                 ("POST", "/queues/a/take?max=0", 400),
                                 ("POST", "/queues/a/take?max=1001", 400),
                                 ("POST", "/queues/a/take?wait=x", 400),
                                 ("POST", "/queues/a/take?wait=99999", 400),
                                 ("POST", "/queues/a/take?lease=0", 400)):
        answer = client.request(method, path)
        equal((path, answer.status), (path, status))
        equal(answer.json["status"], status)
    equal(client.metric("hwheeld_timeouts"), 0)


def head_is_get_without_a_body(daemon):
    client = daemon.client()
    client.put("a", delay=60, payload="x")
    for path in ("/timeouts/a", "/timeouts/b", "/timeouts?limit=1", "/timeouts?limt=1", "/queues",
                 "/cluster", "/openapi.json", "/health", "/health/accept"):
        head = client.request("HEAD", path)
        get = client.request("GET", path)
        equal((path, head.status, head.text), (path, get.status, b""))
        for name in ("Content-Type", "Content-Length"):
            equal(head.headers[name], get.headers[name])
    equal(client.request("HEAD", "/queues/a/take").status, 405)
    equal(client.get("a").json["state"], "pending")


def refused(client, method, path, name, body=None, headers=None):
    """With 400, and an error that names what is wrong; nothing changes."""
    answer = client.request(method, path, body, headers)
    equal((method, path, body, headers, answer.status), (method, path, body, headers, 400))
    true(name in answer.json["error"], f"{name!r} is not in {answer.json['error']!r}")


def unknown_queries_are_refused(daemon):
    client = daemon.client()
    lease = 32 * "0"
    for method, path in (("PUT", "/timeouts/a"), ("GET", "/timeouts/a"), ("DELETE", "/timeouts/a"),
                         ("POST", "/timeouts"), ("GET", "/timeouts"), ("GET", "/queues"),
                         ("POST", "/queues/q/take"), ("DELETE", "/leases/" + lease),
                         ("POST", f"/leases/{lease}/return")):
        for query in ("limt=5", "limt", "a%20b=1", "Limit=5", 80 * "x"):
            body = {"delay": 1} if method == "PUT" else {"timeouts": [{"key": "a", "delay": 1}]} \
                if (method, path) == ("POST", "/timeouts") else None
            refused(client, method, f"{path}?{query}", query.split("=")[0][:4], body)
    for path, name in (("/timeouts?limit=5&limit=6", "limit"), ("/timeouts?limit", "limit"),
                       ("/timeouts?max=5", "max"), ("/timeouts?state=late", "state"),
                       ("/timeouts?queue=a%20b", "queue"), ("/timeouts?prefix=%", "prefix"),
                       ("/timeouts?limit=1001", "limit"), ("/timeouts?limit=", "limit"),
                       ("/timeouts?payload=0", "payload"), ("/timeouts?payload=", "payload"),
                       ("/timeouts?payload=1&bytes=5", "bytes")):
        refused(client, "GET", path, name)
    for query in ("max=1&max=1", "max", "wait=", "lease=1&lease=2", "max+wait=1", "+max=1"):
        refused(client, "POST", f"/queues/q/take?{query}", query.split("=")[0].replace("+", " "))
    equal(client.metric("hwheeld_timeouts"), 0)
    for path in ("/health", "/health/accept", "/metrics", "/cluster", "/openapi.json"):
        equal(client.request("GET", path + "?verbose=1").status, 200)


def unknown_members_are_refused(daemon):
    client = daemon.client()
    client.put("a", delay=0)
    token = client.take(wait=30, lease=1000)[0]["token"]
    for body in ({"delay": 5}, {}, [], b"x"):
        refused(client, "POST", f"/leases/{token}/return", "body", body)
        refused(client, "DELETE", f"/leases/{token}", "body", body)
        refused(client, "POST", "/queues/q/take", "body", body)
        refused(client, "DELETE", "/timeouts/b", "body", body)
        refused(client, "GET", "/timeouts", "body", body)
    refused(client, "PUT", "/timeouts/b", "every", {"delay": 1, "every": 5})
    refused(client, "PUT", "/timeouts/b", "dealy", {"dealy": 1})
    refused(client, "PUT", "/timeouts/b", "dely", {"delay": 1, "dely\n\"": 5})
    batch = {"timeouts": [{"key": "b", "delay": 1}]}
    refused(client, "POST", "/timeouts", "atomic", batch | {"atomic": True})
    refused(client, "POST", "/timeouts", "tag", {"timeouts": [{"key": "b", "delay": 1, "tag": 1}]})
    equal(client.ack(token), 204)
    equal(client.metric("hwheeld_timeouts"), 0)


def conditions_are_evaluated_or_refused(daemon):
    client = daemon.client()
    client.put("a", delay=0, queue="q")
    client.put("b", delay=1000)
    token = client.take("q", wait=30, lease=1000)[0]["token"]
    put, batch = {"delay": 1}, {"timeouts": [{"key": "c", "delay": 1}]}
    for method, path, body in (("PUT", "/timeouts/b", put), ("DELETE", "/timeouts/b", None),
                               ("POST", "/timeouts", batch), ("POST", "/queues/q/take", None),
                               ("DELETE", f"/leases/{token}", None),
                               ("POST", f"/leases/{token}/return", None)):
        for name in ("If-Match", "If-None-Match", "If-Unmodified-Since"):
            if name != "If-None-Match" or body is None:
                refused(client, method, path, name, body, {name: "*"})
                refused(client, method, path, name, body, {name.lower(): '"1"'})
    refused(client, "PUT", "/timeouts/c", "If-None-Match", put, {"If-None-Match": '"1"'})
    refused(client, "POST", "/timeouts", "If-None-Match", batch, {"If-None-Match": '"1"'})
    equal(client.put("b", {"If-None-Match": "*"}, delay=1).status, 412)
    true(client.get("b").json["remaining"] > 900, "it was restarted")
    equal(client.get("a").json["state"], "leased")
    for headers in ({"Range": "bytes=0-1"}, {"If-Match": "*"}, {"If-None-Match": "*"},
                    {"If-Modified-Since": "Sun, 06 Nov 1994 08:49:37 GMT"}, {"X-Other": "1"}):
        equal(client.request("GET", "/timeouts/b", headers=headers).status, 200)
    equal(client.put("c", {"If-Modified-Since": "x", "Prefer": "y", "Range": "z"},
                     delay=1000).status, 201)


def json_is_taken_as_it_is_or_not_at_all(daemon):
    client = daemon.client()
    for body, name in ((b'{"delay":1,"delay":2}', "delay"),
                       (b'{"delay":1,"d\\u0065lay":2}', "u0065"),
                       (b'{"delay":1,"payload":"a","payload":"a"}', "payload"),
                       (b'{"delay\\u0000":1}', "member"),
                       (b'{"delay":1,"delay\\u0000x":1}', "member"),
                       (b'{"delay":1,"payload":"\\ud800"}', "surrogate"),
                       (b'{"delay":1,"payload":"\\udc00"}', "surrogate"),
                       (b'{"delay":1,"payload":"\\ud800x"}', "surrogate"),
                       (b'{"delay":1,"payload":"\\ud800\\ud800\\udc00"}', "surrogate"),
                       (b'{"delay":1,"payload":"\\ud800\\n"}', "surrogate"),
                       (b'{"delay":1,"payload":"\\uDBFF\\u0041"}', "surrogate"),
                       (b'{"delay":1,"payload":"\\udc00\\ud800"}', "surrogate"),
                       (b'{"delay":1,"\\ud800":2}', "surrogate"),
                       (b'{"delay":1,"payload":"x\xed\xa0\x80"}', "UTF-8"),
                       (b'{"delay":1,"payload":"\xc0\x80"}', "UTF-8"),
                       (b'{"delay":1,"payload":"\xf7\xbf\xbf\xbf"}', "UTF-8"),
                       (b'{"delay":1,"payload":"\n"}', "JSON"),
                       (b"{'delay':1}", "JSON"), (b'{"delay":1,}', "JSON"),
                       (b'{"delay":1 /* second */}', "JSON"), (b'{"delay":01}', "JSON"),
                       (b'{"delay":+1}', "JSON"), (b'{"delay":0x10}', "JSON"),
                       (b'{"delay":True}', "JSON"), (b'\xef\xbb\xbf{"delay":1}', "JSON")):
        refused(client, "PUT", "/timeouts/a", name, body)
    batch = b'{"timeouts":[{"key":"a","delay":1},{"key":"b","delay":1,"key":"c"}]}'
    refused(client, "POST", "/timeouts", "key", batch)
    refused(client, "POST", "/timeouts", "timeouts", b'{"timeouts":[],"timeouts":[]}')
    equal(client.metric("hwheeld_timeouts"), 0)
    for text in (b'"\\ud83d\\ude00"', b'"a:b,\\"c\\":{"', b'"\\\\u0041\\\\ud800"', b'"\\uD7FF\\uE000"',
                 b'"\x7f\xc2\x80\xf4\x8f\xbf\xbf"'):
        answer = client.request("PUT", "/timeouts/a", b' { "delay" : 1000 ,"payload": ' + text + b"} ")
        true(answer.status in (200, 201), answer.text)
        equal(client.get("a").json["payload"], json.loads(text))


def bodies_are_json(daemon):
    port = listen(daemon)
    stranger, client = TcpClient("127.0.0.1", port), daemon.client()
    for kind, here, there in ((None, 201, 201), ("application/json", 201, 201),
                              ("Application/JSON; charset=utf-8", 201, 201),
                              ("application/x-www-form-urlencoded", 201, 415),
                              ("application/x-www-form-urlencoded;charset=UTF-8", 201, 415),
                              ("text/plain", 415, 415), ("multipart/form-data; boundary=x", 415, 415),
                              ("application/jsonx", 415, 415), ("", 415, 415)):
        headers = {} if kind is None else {"Content-Type": kind}
        for asked, status, permit in ((client, here, {}), (stranger, there, PERMIT)):
            equal((kind, asked.put("a", headers | permit, delay=1000).status), (kind, status))
            if status == 201:
                equal(client.cancel("a").status, 204)
    equal(client.request("POST", "/queues/q/take", headers={"Content-Type": "text/plain"}).status, 200)
    stranger.close()


def on_loopback_the_host_is_this_machine(daemon):
    port = listen(daemon)
    client = TcpClient("127.0.0.1", port)
    for host, status in (("127.0.0.1", 404), (f"127.0.0.1:{port}", 404), ("localhost", 404),
                         ("LOCALHOST:1", 404), ("[::1]:80", 404), (socket.gethostname(), 404),
                         ("evil.example", 421), ("localhost.evil.example", 421),
                         ("127.0.0.1.evil.example", 421), ("evil.example:7420", 421),
                         ("192.0.2.1", 421), ("localhost:80:80", 421), ("", 421)):
        answer = client.request("GET", "/timeouts/a", headers=PERMIT | {"Host": host})
        equal((host, answer.status), (host, status))
    equal(daemon.client().request("GET", "/timeouts/a", headers={"Host": "evil.example"}).status, 404)
    client.close()


def the_description_is_served(daemon):
    answer = daemon.client().request("GET", "/openapi.json")
    with open(openapi.PATH, "rb") as stream:
        equal(answer.text, stream.read())


def odd_keys_and_payloads_come_back(daemon):
    client = daemon.client()
    for key in ("a/b", "a b", "ä€😀", "%", "a?b#c", "'\"\\", 256 * "k"):
        payload = json.dumps(key) + "\0\n\x1b\u2028😀"
        equal(client.put(key, delay=0, payload=payload).status, 201)
        equal(client.get(key).json["payload"], payload)
        taken = client.take(wait=30)[0]
        equal((taken["key"], taken["payload"]), (key, payload))
        equal(client.ack(taken["token"]), 204)


def the_largest_payload_fits(daemon):
    client = daemon.client()
    equal(client.put("a", delay=1000, payload=65536 * "\1").status, 201)
    equal(client.put("a", delay=1000, payload=65537 * "x").status, 413)
    equal(client.get("a").json["payload"], 65536 * "\1")
    daemon.restart()
    equal(daemon.client().get("a").json["payload"], 65536 * "\1")


def all_survives_a_restart(daemon):
    client = daemon.client()
    client.put("pending", delay=1000, payload="p", queue="q")
    client.put("restarted", delay=1)
    client.put("restarted", delay=2000)
    client.put("cancelled", delay=1000)
    client.cancel("cancelled")
    client.put("leased", delay=0)
    lease = client.take(wait=30, lease=1000)[0]
    client.put("acknowledged", delay=0)
    client.ack(client.take(wait=30)[0]["token"])
    client.put("due", delay=0, queue="due")
    daemon.restart()
    client = daemon.client()
    equal(client.metric("hwheeld_timeouts"), 4)
    shown = client.get("pending").json
    true(shown["payload"] == "p" and shown["queue"] == "q" and shown["remaining"] > 900, shown)
    true(client.get("restarted").json["remaining"] > 1900, "restarted")
    equal(client.get("leased").json["state"], "leased")
    equal(keys(client.take("due", wait=30)), ["due"])
    equal(client.ack(lease["token"]), 204)


def a_long_poll_waits(daemon):
    client, other = daemon.client(), daemon.client()
    found = []
    thread = threading.Thread(target=lambda: found.extend(client.take(wait=60)))
    thread.start()
    until(lambda: polls(other), "the poll waits")
    other.put("a", delay=0)
    thread.join()
    equal(keys(found), ["a"])


def a_long_poll_ends_empty(daemon):
    equal(daemon.client().take(wait=0.05), [])
    equal(daemon.client().request("GET", "/queues").json, {"queues": []})


def polls_share(daemon):
    found, threads = [], []
    for _ in range(8):
        client = daemon.client()
        threads.append(threading.Thread(
            target=lambda c=client: found.extend(c.take(max=1, wait=60))))
        threads[-1].start()
    client = daemon.client()
    until(lambda: polls(client) == 8, "eight polls")
    client.put_many([{"key": str(key), "delay": 0} for key in range(8)])
    for thread in threads:
        thread.join()
    equal(keys(found), [str(key) for key in range(8)])


def polls(client):
    return sum(queue["polls"] for queue in client.request("GET", "/queues").json["queues"])


def hang_up(daemon, parameters="wait=60&lease=1000"):
    """A client that asks, and closes."""
    with socket.socket(socket.AF_UNIX) as raw:
        raw.connect(daemon.socket)
        raw.sendall(f"POST /queues/default/take?{parameters} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        client = daemon.client()
        until(lambda: polls(client), "the poll waits")
    until(lambda: not polls(client), "it is noticed")


def a_client_that_hangs_up_loses_no_lease(daemon):
    client = daemon.client()
    for key in range(20):
        hang_up(daemon)
        client.put(str(key), delay=0)
        equal(keys(client.take(wait=30)), [str(key)])
    until(lambda: client.metric("hwheeld_connections") <= 21, "connections are closed")


def a_client_that_hangs_up_as_it_is_due(daemon):
    client = daemon.client()
    for key in range(50):
        with socket.socket(socket.AF_UNIX) as raw:
            raw.connect(daemon.socket)
            raw.sendall(b"POST /queues/default/take?wait=60&lease=30ms HTTP/1.1\r\nHost: x\r\n\r\n")
            client.put(str(key), delay=0)
        equal(keys(client.take(wait=30, lease=1000)), [str(key)])
    equal(client.metric("hwheeld_timeouts"), 50)


def send_put(raw, key):
    """Returns the request, for answer_to()."""
    body = json.dumps({"delay": 3600, "payload": key}).encode()
    raw.sendall(f"PUT /timeouts/{key} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
                .encode() + body)
    return raw, "PUT", f"/timeouts/{key}", body


def connected(stack, daemon, count):
    found = [stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(count)]
    for raw in found:
        raw.connect(daemon.socket)
        raw.settimeout(PATIENCE)
    return found


def many_clients_put_at_once(daemon):
    """More than are held: a part of the header of the next request comes with each."""
    with contextlib.ExitStack() as stack:
        clients = connected(stack, daemon, 150)
        for turn in range(10):
            sent = []
            for number, raw in enumerate(clients):
                sent.append(send_put(raw, f"{number}-{turn}"))
                raw.sendall(b"GET /timeouts/")
            for number, raw in enumerate(clients):
                equal(answer_to(*sent[number]).status, 201)
                raw.sendall(f"{number}-{turn} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            for number, raw in enumerate(clients):
                answer = answer_to(raw, "GET", f"/timeouts/{number}-{turn}")
                equal(answer.json["payload"], f"{number}-{turn}")
    equal(daemon.client().metric("hwheeld_timeouts"), 1500)


def clients_hang_up_as_their_puts_are_stored(daemon):
    """Each of these timeouts is there whole or not at all, and nothing waits for the clients."""
    for turn in range(20):
        with contextlib.ExitStack() as stack:
            clients = connected(stack, daemon, 100)
            sent = [send_put(raw, f"{number}-{turn}") for number, raw in enumerate(clients)]
            equal(answer_to(*sent[turn]).status, 201)
    client = daemon.client()
    until(lambda: client.metric("hwheeld_connections") == 1, "connections are closed")
    for number in range(100):
        answer = client.get(f"{number}-19")
        true(answer.status == 404 or answer.json["payload"] == f"{number}-19", answer.text)
    before = client.metric("hwheeld_timeouts")
    true(before >= 20, "some are stored")
    daemon.restart()
    equal(daemon.client().metric("hwheeld_timeouts"), before)


def a_lease_that_nobody_got_is_not_in_the_log(daemon):
    client = daemon.client()
    client.put_many([{"key": str(key), "delay": 0} for key in range(300)])
    until(lambda: client.request("GET", "/queues").json["queues"][0]["due"] == 300, "due")
    for _ in range(100):
        with socket.socket(socket.AF_UNIX) as raw:
            raw.connect(daemon.socket)
            raw.sendall(b"POST /queues/default/take?max=3&lease=1000 HTTP/1.1\r\nHost: x\r\n\r\n")
    until(lambda: client.metric("hwheeld_connections") == 1, "all have hung up")
    due = client.request("GET", "/queues").json["queues"][0]["due"]
    print(f"# {client.metric('hwheeld_leases_returned_total')} leases came back")
    daemon.kill()
    client = daemon.start().client()
    until(lambda: client.request("GET", "/queues").json["queues"][0]["due"] == due, "due again")


def connections_do_not_leak(daemon):
    client = daemon.client()
    client.get("a")
    before = daemon.descriptors()
    for _ in range(50):
        hang_up(daemon)
        daemon.clients.pop().close()
    until(lambda: daemon.descriptors() <= before + 1, "descriptors")


def rfc850(at):
    return f"{at:%A, %d-%b-%y %H:%M:%S} GMT"


def deadlines_are_points_in_time(daemon):
    client = daemon.client()
    at = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=1000)
    for text in (at.isoformat(), at.timestamp()):
        answer = client.put("a", deadline=text)
        true(answer.status in (200, 201) and 900 < answer.json["remaining"] <= 1000, answer.text)
        equal(answer.json["kind"], "deadline")
    equal(client.cancel("a").status, 204)
    equal(client.put_many([{"key": "a", "deadline": 1e9}]).json["results"][0]["status"], 201)
    equal(client.cancel("a").status, 204)
    equal(client.put("a", deadline=rfc850(at)).status, 201)
    true(900 < client.get("a").json["remaining"] <= 1000, "two digits of this century")
    for years in (51, 60, 99):
        past = at.replace(year=at.year + years - 100, day=1)
        equal(client.put("a", deadline=rfc850(past)).json["deadline"][:10], f"{past:%Y-%m-%d}")
        client.cancel("a")
    ahead = at.replace(year=at.year + 49, day=1)
    equal(client.put("a", deadline=rfc850(ahead)).json["error"],
          "deadline: farther away than this server allows")
    client.put("b", deadline="1999-12-31T23:59:59+01:00")
    equal(keys(client.take(wait=30)), ["b"])


# What a deadline may be, and how it is shown; None: it is refused.
DEADLINES = (
    (0, "1970-01-01T00:00:00.000Z"), (1e9, "2001-09-09T01:46:40.000Z"),
    (1234567890.25, "2009-02-13T23:31:30.250Z"), (-1, None), (-0.001, None), (1e300, None),
    (253402300800, None), ("1234567890", None), (True, None), (None, None), ([], None), ("", None),
    ("1985-04-12T23:20:50.52Z", "1985-04-12T23:20:50.520Z"),
    ("1996-12-19T16:39:57-08:00", "1996-12-20T00:39:57.000Z"),
    ("1990-12-31T23:59:60Z", "1991-01-01T00:00:00.000Z"),
    ("1990-12-31T15:59:60-08:00", "1991-01-01T00:00:00.000Z"),
    ("2020-06-15T12:30:60.5Z", "2020-06-15T12:31:00.500Z"),
    ("1990-12-31T23:59:61Z", None), ("1990-12-31T24:00:00Z", None), ("1990-12-31T23:60:00Z", None),
    ("1937-01-01T12:00:27.87+00:20", None), ("2024-02-29T00:00:00Z", "2024-02-29T00:00:00.000Z"),
    ("2023-02-29T00:00:00Z", None), ("2000-02-29t00:00:00z", "2000-02-29T00:00:00.000Z"),
    ("1900-02-29T00:00:00Z", None), ("2021-04-31T00:00:00Z", None), ("2021-00-01T00:00:00Z", None),
    ("2021-01-00T00:00:00Z", None), ("2021-13-01T00:00:00Z", None),
    ("2021-01-01T00:00:00", None), ("2021-01-01T00:00:00+1:00", None),
    ("2021-01-01T00:00:00+0100", None), ("2021-01-01T00:00:00+01", None),
    ("2021-01-01T00:00:00+24:00", None), ("2021-01-01T00:00:00+01:60", None),
    ("2021-01-01T00:00:00+23:59", "2020-12-31T00:01:00.000Z"),
    ("2021-01-01T00:00:00-00:00", "2021-01-01T00:00:00.000Z"),
    ("2021-01-01T00:00:00+ 1:00", None), ("2021-01-01T 1:00:00Z", None),
    (" 2021-01-01T00:00:00Z", None), ("2021-1-01T00:00:00Z", None),
    ("2021-01-01T00:00:00 Z", None), ("2021-01-01 00:00:00Z", None), ("20210101T000000Z", None),
    ("2021-01-01T00:00Z", None), ("2021-01-01T00:00:00.Z", None), ("2021-01-01T00:00:00,5Z", None),
    ("2021-01-01T00:00:00.0000000001Z", "2021-01-01T00:00:00.001Z"),
    ("2021-01-01T00:00:00.9999999999Z", "2021-01-01T00:00:01.000Z"),
    ("1969-12-31T23:59:59Z", None), ("1970-01-01T00:59:59+01:00", None),
    ("10000-01-01T00:00:00Z", None), ("9999-12-31T23:59:59Z", None), ("99999-01-01T00:00:00Z", None),
    ("+2021-01-01T00:00:00Z", None), ("-0001-01-01T00:00:00Z", None), ("2021-01-01", None),
    ("Sun, 06 Nov 1994 08:49:37 GMT", "1994-11-06T08:49:37.000Z"),
    ("Sat, 31 Dec 2016 23:59:60 GMT", "2017-01-01T00:00:00.000Z"),
    ("Sat, 31 Dec 2016 23:59:61 GMT", None), ("Sat, 31 Dec 2016 24:00:00 GMT", None),
    ("Mon, 06 Nov 1994 08:49:37 GMT", None), ("Sun, 06 Nov 1994 08:49:37", None),
    ("Sun, 06 Nov 1994 08:49:37 UTC", None), ("Sun, 06 Nov 1994 08:49:37 +0000", None),
    ("Sun, 6 Nov 1994 08:49:37 GMT", None), ("sun, 06 nov 1994 08:49:37 gmt", None),
    ("Sun, 06 Nov 10994 08:49:37 GMT", None), ("Fri, 31 Feb 2020 00:00:00 GMT", None),
    ("Sunday, 06-Nov-94 08:49:37 GMT", "1994-11-06T08:49:37.000Z"),
    ("Saturday, 31-Dec-16 23:59:60 GMT", "2017-01-01T00:00:00.000Z"),
    ("Sun, 06-Nov-94 08:49:37 GMT", None), ("Monday, 06-Nov-94 08:49:37 GMT", None),
    ("Sunday, 06-Nov-1994 08:49:37 GMT", None), ("Sunday, 6-Nov-94 08:49:37 GMT", None),
    ("Sunday, 06-Nov-94 08:49:37", None), ("sunday, 06-nov-94 08:49:37 GMT", None),
    ("Sun Nov  6 08:49:37 1994", "1994-11-06T08:49:37.000Z"),
    ("Sat Dec 31 23:59:60 2016", "2017-01-01T00:00:00.000Z"),
    ("Sun Nov 6 08:49:37 1994", None), ("Sun Nov 06 08:49:37 1994", None),
    ("Mon Nov  6 08:49:37 1994", None), ("Sun Nov  6 08:49:37 1994 GMT", None),
    ("Sun Nov  6 08:49:37 94", None),
)

# And a delay, with what remains
DELAYS = (
    (0, 0), (1.5, 1.5), (1e2, 100), ("90", 90), ("1.5", 1.5), ("250ms", 0.25), ("2m", 120),
    ("36h", 129600), ("2d", 172800), ("", None), ("s", None), ("-1", None), ("-1s", None),
    ("+1s", None), ("1 s", None), (" 1s", None), ("1S", None), ("1s ", None), ("1m30s", None),
    ("1w", None), ("1e3", None), ("0x10", None), ("1,5", None), ("nan", None), ("inf", None),
    (-1, None), (1e10, None), (None, None), (False, None), ({}, None),
)


def times_have_their_verdicts(daemon):
    client = daemon.client()
    for given, shown in DEADLINES:
        answer = client.put("a", deadline=given)
        found = answer.json["deadline"] if answer.status in (200, 201) else None
        equal((given, found), (given, shown))
        equal((given, answer.status if shown is None else 400), (given, 400))
    for given, left in DELAYS:
        before = time.clock_gettime(time.CLOCK_BOOTTIME)
        answer = client.put("b", delay=given)
        took = time.clock_gettime(time.CLOCK_BOOTTIME) - before
        found = answer.json.get("remaining")
        # It is cut to microseconds.
        true(found is None if left is None else max(0, left - took - 2e-6) <= found <= left,
             f"{given}, in {took} s: {answer.text}")
        equal((given, answer.status if left is None else 400), (given, 400))


def deadlines_may_be_decades_away(daemon):
    """The seconds since 1970 that 32 bits hold end in 2038."""
    client = daemon.client()
    answer = client.put("a", deadline="2100-01-01T00:00:00-05:00")
    equal((answer.status, answer.json["error"]),
          (400, "deadline: farther away than this server allows"))
    daemon.configure(delay="36500d")
    daemon.signal(signal.SIGHUP)
    until(lambda: client.put("a", deadline="2100-01-01T00:00:00-05:00").status == 201, "reloaded")
    equal(client.get("a").json["deadline"], "2100-01-01T05:00:00.000Z")


def in_user_mode_kernel():
    with open("/proc/cpuinfo", encoding="ascii") as stream:
        return "User Mode Linux" in stream.read()


def step(seconds):
    """Sets the clock of the user-mode kernel; the clock of a real machine is not a test's."""
    true(in_user_mode_kernel(), "this is not a user-mode kernel")
    time.clock_settime_ns(time.CLOCK_REALTIME,
                          time.clock_gettime_ns(time.CLOCK_REALTIME) + int(seconds * 1e9))


def deadlines_follow_the_wall_clock(daemon):
    client = daemon.client()
    client.put("deadline", deadline=time.time() + 1000)
    client.put("later", deadline=time.time() + 9000)
    client.put("delay", delay=1000)
    step(2000)
    equal(keys(client.take(max=3, wait=60)), ["deadline"])
    equal(client.get("delay").json["state"], "pending")
    true(client.get("delay").json["remaining"] > 900, "the delay moved")
    step(-2000)
    true(client.get("later").json["remaining"] > 8900, "later")
    client.put("back", deadline=time.time() + 3)
    step(-1000)
    until(lambda: client.metric("hwheeld_wall_steps_total") == 3, "three steps")
    equal(client.take(wait=4), [])
    step(1000)
    equal(keys(client.take(wait=60)), ["back"])


def a_delay_outlives_steps_and_restarts(daemon):
    client = daemon.client()
    client.put("delay", delay=1000)
    step(5000)
    daemon.restart()
    step(-5000)
    daemon.restart()
    true(900 < daemon.client().get("delay").json["remaining"] <= 1000, "the delay moved")


def reboot(daemon, seconds, end=Daemon.stop):
    """As if the machine had been started again, and its wall clock said so much more."""
    end(daemon)
    with sqlite3.connect(daemon.settings["database"]) as database:
        database.execute("UPDATE time SET boot_id = 'another'")
    database.close()
    step(seconds)
    daemon.start()


def a_delay_goes_on_after_a_reboot(daemon):
    client = daemon.client()
    client.put("delay", delay=1000)
    reboot(daemon, 400)
    true(500 < daemon.client().get("delay").json["remaining"] <= 600.1, "400 s later")
    reboot(daemon, -700)
    true(500 < daemon.client().get("delay").json["remaining"] <= 600.1,
         "the clock went back: never from before the last time")
    reboot(daemon, 1000)
    equal(keys(daemon.client().take(wait=30)), ["delay"])
    step(-700)


def a_delay_outlives_a_step_and_a_power_cut(daemon):
    client = daemon.client()
    client.put("delay", delay=1000)
    for seconds in (500000, -500000, 500000):
        before = client.metric("hwheeld_wall_steps_total")
        step(seconds)
        until(lambda: client.metric("hwheeld_wall_steps_total") > before, "it is noticed")
        reboot(daemon, 0, Daemon.kill)
        client = daemon.client()
        true(900 < client.get("delay").json["remaining"] <= 1000.1, f"after {seconds} s")
    step(-500000)


def limits_have_their_status(daemon):
    daemon.stop()
    daemon.configure(timeouts=10, queues=3, queue_timeouts=8, body=2000, batch=5, queue_polls=1)
    daemon.start()
    client = daemon.client()
    equal(client.put_many([{"key": str(k), "delay": 1000} for k in range(6)]).status, 413)
    equal(client.request("PUT", "/timeouts/a", {"delay": 1, "payload": 3000 * "x"}).status, 413)
    client.close()
    for key in range(8):
        equal(client.put(str(key), delay=1000).status, 201)
    equal(client.put("8", delay=1000).status, 429)
    equal(client.put("0", delay=900).status, 200)
    equal(client.put("0", {"If-None-Match": "*"}, delay=900).status, 412)
    equal(client.put_many([{"key": str(k), "delay": 800} for k in range(5)]).status, 200)
    equal(client.put_many([{"key": k, "delay": 800} for k in ("0", "new")]).status, 429)
    equal(client.get("0").json["queue"], "default")
    for queue in "bc":
        equal(client.put(queue, delay=1000, queue=queue).status, 201)
    equal(client.put("d", delay=1000, queue="d").status, 507)
    equal(client.put("b", delay=1000, queue="c").status, 200)
    equal(client.put("b", delay=1000, queue="b").status, 200)
    equal(client.put("c", delay=1000, queue="default").status, 429)
    equal(client.cancel("0").status, 204)
    equal(client.put("d", delay=1000, queue="d").status, 429)
    equal(client.put("d", delay=1000, queue="c").status, 201)


def bodies_are_limited_together(daemon):
    daemon.stop()
    daemon.configure(bodies=1 << 20, body=1 << 20)
    daemon.start()
    half = b"PUT /timeouts/a HTTP/1.1\r\nHost: x\r\nContent-Length: 700000\r\n\r\n" + 600000 * b" "
    with socket.socket(socket.AF_UNIX) as one, socket.socket(socket.AF_UNIX) as other:
        for raw in (one, other):
            raw.connect(daemon.socket)
        for raw in (one, other):
            threading.Thread(target=lambda r=raw: with_patience(r.sendall, half)).start()
        answered = select.select([one, other], [], [], 60)[0]
        equal(answer_to(answered[0], "PUT", "/timeouts/a").status, 503)
    equal(daemon.client().get("a").status, 404)


def with_patience(function, *arguments):
    with contextlib.suppress(OSError):
        function(*arguments)


def connections_are_limited(daemon):
    daemon.stop()
    daemon.configure(connections=4, client_connections=3)
    daemon.start()
    clients = [daemon.client() for _ in range(3)]
    for client in clients:
        equal(client.get("a").status, 404)
    answer = daemon.client().get("a")
    equal(answer.status, 429)
    true(answer.headers["Retry-After"], "Retry-After")
    daemon.hang_up()
    until(lambda: daemon.client().get("a").status == 404, "there is room again")


def accepts(family, host, port):
    with socket.socket(family) as probe:
        return not probe.connect_ex((host, port))


def listen(daemon, host="127.0.0.1", **settings):
    """Restarts the daemon so that it listens on TCP, too. Returns the port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    daemon.stop()
    with socket.socket(family) as probe:
        probe.bind((host, 0))
        port = probe.getsockname()[1]
    with open(f"{daemon.folder}/token", "w", encoding="utf-8") as stream:
        stream.write(TOKEN + "\nnot this line\n")
    daemon.configure(listen=f"[{host}]:{port}" if ":" in host else f"{host}:{port}",
                     token_file=f"{daemon.folder}/token", **settings)
    daemon.start()
    # The socket in the file system comes first.
    until(lambda: accepts(family, host, port), "it listens on TCP")
    return port


def strangers_lock_out_nobody(daemon):
    port = listen(daemon, connections=200, client_connections=100)
    with contextlib.ExitStack() as stack:
        for _ in range(300):
            stack.enter_context(socket.create_connection(("127.0.0.1", port), 60))
        for _ in range(3):
            client = TcpClient("127.0.0.1", port)
            stack.callback(client.close)
            equal(client.request("GET", "/timeouts/a", headers=PERMIT).status, 404)
        equal(daemon.client().get("a").status, 404)


def tcp_needs_the_token(daemon):
    port = listen(daemon)
    client = TcpClient("127.0.0.1", port)
    for wrong in (None, "", TOKEN, "Bearer", "Bearer ", "Basic " + TOKEN, "Bearer " + TOKEN[:-1],
                  "Bearer " + TOKEN + "x", "Bearer " + TOKEN[:-1] + "x", "Bearer  " + TOKEN,
                  "Bearer not this line", "Bearer " + 4000 * "x"):
        headers = {} if wrong is None else {"Authorization": wrong}
        for answer in (client.put("a", headers, delay=1000),
                       client.request("GET", "/metrics", headers=headers),
                       client.request("POST", "/queues/q/take", headers=headers)):
            equal((wrong, answer.status), (wrong, 401))
            equal(answer.headers["WWW-Authenticate"], "Bearer")
            equal(answer.json["status"], 401)
    equal(daemon.client().get("a").status, 404)
    equal(client.put("a", PERMIT, delay=1000).status, 201)
    equal(client.put("a", {"Authorization": "bearer " + TOKEN}, delay=1000).status, 200)
    equal(client.request("GET", "/timeouts/a").status, 401)
    true(TOKEN not in daemon.said(), "the token is in the log")
    client.close()


def ipv6_works(daemon):
    client = TcpClient("::1", listen(daemon, "::1"))
    equal(client.put("a", PERMIT, delay=1000).status, 201)
    client.close()


def listen_with_tls(daemon, **settings):
    certify(daemon.folder)
    context = ssl.create_default_context(cafile=f"{daemon.folder}/certificate")
    return context, listen(daemon, certificate=f"{daemon.folder}/certificate",
                           certificate_key=f"{daemon.folder}/key", **settings)


def tls_has_the_whole_interface(daemon):
    context, port = listen_with_tls(daemon)
    client = TcpClient("127.0.0.1", port, context)
    equal(client.put("a", delay=0).status, 401)
    equal(client.put("a", PERMIT, delay=0, payload=65536 * "x").status, 201)
    answer = client.request("POST", "/queues/default/take?wait=30", headers=PERMIT)
    taken = answer.json["timeouts"]
    equal([timeout["payload"] for timeout in taken], [65536 * "x"])
    equal(client.request("DELETE", "/leases/" + taken[0]["token"], headers=PERMIT).status, 204)
    equal(client.request("GET", "/timeouts/a", headers=PERMIT).status, 404)
    client.close()


def without_tls_nobody_is_answered_there(daemon):
    context, port = listen_with_tls(daemon, request_time="1s")
    with socket.create_connection(("127.0.0.1", port), 60) as raw, with_ends():
        raw.sendall(b"GET /timeouts HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " +
                    TOKEN.encode() + b"\r\n\r\n")
        while data := raw.recv(1000):
            true(not data.startswith(b"HTTP"), data)
    with socket.create_connection(("127.0.0.1", port), 60) as raw, with_ends():
        equal(raw.recv(1000), b"")
    client = TcpClient("127.0.0.1", port, context)
    equal(client.request("GET", "/health", headers=PERMIT).status, 200)
    client.close()


def a_client_with_tls_that_hangs_up_loses_no_lease(daemon):
    context, port = listen_with_tls(daemon)
    client = daemon.client()
    before = None
    for key in range(10):
        with socket.create_connection(("127.0.0.1", port), 60) as raw:
            with context.wrap_socket(raw, server_hostname="127.0.0.1") as safe:
                safe.sendall(b"POST /queues/default/take?wait=60&lease=1000 HTTP/1.1\r\n"
                             b"Host: x\r\nAuthorization: Bearer " + TOKEN.encode() +
                             b"\r\n\r\n")
                until(lambda: polls(client), "the poll waits")
        until(lambda: not polls(client), "it is noticed")
        client.put(str(key), delay=0)
        equal(keys(client.take(wait=30)), [str(key)])
        before = before or daemon.descriptors()
    until(lambda: daemon.descriptors() <= before, "descriptors")


def old_tls_is_refused(daemon):
    context, port = listen_with_tls(daemon)
    for version in (ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1, ssl.TLSVersion.TLSv1_2,
                    ssl.TLSVersion.TLSv1_3):
        context = ssl.create_default_context(cafile=f"{daemon.folder}/certificate")
        context.set_ciphers("ALL:@SECLEVEL=0")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            context.minimum_version = context.maximum_version = version
        client = TcpClient("127.0.0.1", port, context)
        try:
            status = client.request("GET", "/health", headers=PERMIT).status
        except (ssl.SSLError, ConnectionError):
            status = None
        equal((version, status), (version, 200 if version >= ssl.TLSVersion.TLSv1_2 else None))
        client.close()


def a_reload_has_new_tokens_and_certificates(daemon):
    context, port = listen_with_tls(daemon)
    old = TcpClient("127.0.0.1", port, context)
    equal(old.request("GET", "/health", headers=PERMIT).status, 200)
    token, another = f"{daemon.folder}/token", {"Authorization": "Bearer " + 16 * "t2"}

    def reload(said):
        before = daemon.said().count(said)
        daemon.signal(signal.SIGHUP)
        until(lambda: daemon.said().count(said) > before, said)

    with open(token, "w", encoding="utf-8") as stream:
        stream.write("short")
    reload("stays as it was")
    equal(old.request("GET", "/health", headers=PERMIT).status, 200)
    with open(token, "w", encoding="utf-8") as stream:
        stream.write(16 * "t2")
    with open(f"{daemon.folder}/certificate", encoding="ascii") as stream:
        first = stream.read()
    certify(daemon.folder)
    reload("was read again")
    equal(old.request("GET", "/health", headers=another).status, 200)
    equal(old.request("GET", "/health", headers=PERMIT).status, 401)
    renewed = ssl.create_default_context(cafile=f"{daemon.folder}/certificate")
    new = TcpClient("127.0.0.1", port, renewed)
    equal(new.request("GET", "/health", headers=another).status, 200)
    new.close()
    with open(f"{daemon.folder}/certificate", "w", encoding="ascii") as stream:
        stream.write(first)
    reload("stays as it was")
    new = TcpClient("127.0.0.1", port, renewed)
    equal(new.request("GET", "/health", headers=another).status, 200)
    new.close()


def resident(node):
    with open(f"/proc/{node.process.pid}/status", encoding="ascii") as stream:
        return int(re.search(r"VmRSS:\s*(\d+)", stream.read())[1]) * 1024


def certificates_that_were_replaced_are_forgotten(daemon):
    """But for those of connections that go on"""
    context, port = listen_with_tls(daemon)
    old = TcpClient("127.0.0.1", port, context)
    equal(old.request("GET", "/health", headers=PERMIT).status, 200)

    def reload(times):
        for _ in range(times):
            before = os.path.getsize(f"{daemon.folder}/log")
            daemon.signal(signal.SIGHUP)
            until(lambda: os.path.getsize(f"{daemon.folder}/log") > before, "it is read again")
            client = TcpClient("127.0.0.1", port, context)
            equal(client.request("GET", "/health", headers=PERMIT).status, 200)
            client.close()

    reload(30)
    before = resident(daemon)
    reload(200)
    true(resident(daemon) - before < 1 << 19, f"{before} bytes, then {resident(daemon)}")
    equal(old.request("GET", "/health", headers=PERMIT).status, 200)
    old.close()


def what_is_not_safe_is_refused(daemon):
    daemon.stop()
    token, short = f"{daemon.folder}/token", f"{daemon.folder}/short"
    for path, text in ((token, TOKEN), (short, 15 * "t")):
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(text)
    for said, settings in (("listen needs token_file", {"listen": "127.0.0.1:7420"}),
                           ("loopback", {"listen": "0.0.0.0:7420", "token_file": token}),
                           ("loopback", {"listen": "[::]:7420", "token_file": token}),
                           ("ADDRESS:PORT", {"listen": "localhost:7420", "token_file": token}),
                           ("16 bytes", {"listen": "127.0.0.1:7420", "token_file": short}),
                           ("belong together", {"listen": "0.0.0.0:7420", "token_file": token,
                                                "certificate": token}),
                           ("no group", {"group": "no-such-group"})):
        other = make(**settings)
        other.launch()
        true(other.wait() in (1, 2), "it runs")
        true(said in other.said(), f"{said!r} is not in {other.said()!r}")
    daemon.start()


def a_slow_request_is_cut_off(daemon):
    daemon.stop()
    daemon.configure(request_time="300ms")
    daemon.start()
    with socket.socket(socket.AF_UNIX) as raw:
        raw.settimeout(60)
        raw.connect(daemon.socket)
        sent = 0
        try:
            for byte in b"GET /health HTTP/1.1\r\nX-Slow: " + 4000 * b"x":
                raw.sendall(bytes([byte]))
                sent += 1
                time.sleep(0.02)
        except (BrokenPipeError, ConnectionResetError):
            pass
        true(sent < 4000, "it was never cut off")


def a_reload_changes_limits(daemon):
    client = daemon.client()
    daemon.configure(payload=3, tick="5ms")
    daemon.signal(signal.SIGHUP)
    until(lambda: client.put("a", delay=1000, payload="four").status == 413, "reloaded")
    true("tick needs a restart" in daemon.said(), daemon.said())
    daemon.configure(payload="many")
    daemon.signal(signal.SIGHUP)
    until(lambda: "stays as it was" in daemon.said(), "refused")
    equal(client.put("a", delay=1000, payload="abc").status, 201)


def a_stop_ends_a_start(daemon):
    """What the start waits for is not there yet: a FIFO that nobody writes to."""
    other = make(token_file=f"{daemon.folder}/fifo", listen="127.0.0.1:1")
    os.mkfifo(f"{daemon.folder}/fifo")
    other.launch()
    until(lambda: waits_in_open(other), "it waits")
    other.signal(signal.SIGTERM)
    equal(other.wait(), 0)


def waits_in_open(node):
    with open(f"/proc/{node.process.pid}/status", encoding="ascii") as stream:
        blocked = re.search(r"SigBlk:\t(\w+)", stream.read())[1]
    return int(blocked, 16) & 1 << signal.SIGTERM - 1


def a_stop_answers_polls(daemon):
    client, other = daemon.client(), daemon.client()
    found = []
    thread = threading.Thread(target=lambda: found.append(client.take(wait=60)))
    thread.start()
    until(lambda: polls(other), "the poll waits")
    daemon.signal(signal.SIGTERM)
    thread.join()
    equal(found, [[]])
    equal(daemon.wait(), 0)
    true(not os.path.exists(daemon.socket), "the socket is left")


def a_poll_that_comes_late_does_not_stop_the_stop(daemon):
    daemon.stop()
    daemon.configure(grace="3s")
    daemon.start()
    clients = [daemon.client() for _ in range(2)]
    for client in clients:
        client.get("a")
    thread = threading.Thread(target=lambda: clients[0].take(wait=60))
    thread.start()
    until(lambda: polls(clients[1]), "the poll waits")
    with socket.socket(socket.AF_UNIX) as raw:
        raw.connect(daemon.socket)
        raw.sendall(b"PUT /timeouts/a HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n")
        until(lambda: clients[1].metric("hwheeld_requests") >= 3, "a request without its body")
        daemon.signal(signal.SIGTERM)
        thread.join()
        answer = clients[1].request("POST", "/queues/default/take?wait=60")
        equal((answer.status, answer.headers["Connection"]), (503, "close"))
        equal(daemon.wait(), 0)


def a_stop_under_load_is_clean(daemon):
    """Clients that keep their connections, and ask again whatever they are told"""
    def ask(number, stopped):
        while not stopped.is_set():
            client = daemon.client()
            try:
                while not stopped.is_set():
                    if number % 2:
                        client.request("POST", f"/queues/q{number}/take?wait=60")
                    else:
                        client.put(f"{number}", delay=1000)
            except (OSError, http.client.HTTPException):
                client.close()

    for _ in range(3):
        stopped = threading.Event()
        threads = [threading.Thread(target=ask, args=(n, stopped)) for n in range(12)]
        for thread in threads:
            thread.start()
        until(lambda: daemon.client().metric("hwheeld_timeouts") == 6, "all have asked")
        daemon.signal(signal.SIGTERM)
        equal(daemon.wait(), 0)
        stopped.set()
        for thread in threads:
            thread.join()
        daemon.hang_up()
        daemon.start()


def change_database(node, *statements):
    with sqlite3.connect(node.settings["database"]) as database:
        found = [database.execute(*statement).fetchall() for statement in statements]
    database.close()
    return found


def a_damaged_record_is_not_passed_over(daemon):
    client = daemon.client()
    for key in "abc":
        client.put(key, delay=1000, payload=key)
    client.cancel("b")
    daemon.stop()
    records = change_database(daemon, (
        "SELECT seq, record FROM log WHERE seq IN (SELECT min(seq) FROM log"
        " UNION SELECT max(seq) FROM log)",))[0]
    for at in (1, 70, -1):
        before = daemon.said()
        for seq, record in records:
            damaged = bytearray(record)
            damaged[at] ^= 1
            change_database(daemon, ("UPDATE log SET record = ? WHERE seq = ?", (damaged, seq)))
        client = daemon.start().client()
        said = daemon.said()[len(before):]
        for seq, record in records:
            true(f"record {seq}, of {len(record)} bytes, is damaged" in said, said)
        for method, path, body in (("GET", "/timeouts", None), ("GET", "/timeouts/a", None),
                                   ("PUT", "/timeouts/d", {"delay": 1}),
                                   ("DELETE", "/timeouts/a", None), ("GET", "/queues", None),
                                   ("POST", "/timeouts", {"timeouts": [{"key": "d", "delay": 1}]}),
                                   ("POST", "/queues/default/take?wait=1", None),
                                   ("DELETE", "/leases/" + 32 * "0", None),
                                   ("POST", "/leases/" + 32 * "0" + "/return", None)):
            equal((path, client.request(method, path, body).status), (path, 503))
        for path in ("/health", "/health/accept"):
            answer = client.request("GET", path)
            equal((answer.status, answer.json["timeouts"]), (503, 0))
            true("a record is damaged" in answer.json["state"], answer.text)
        equal(client.metric("hwheeld_store_damaged"), 1)
        equal(client.request("GET", "/cluster").json["shards_broken"], [0])
        equal(daemon.stop(), 0)
    client = daemon.start().client()
    equal(client.request("POST", "/cluster/shards/1/accept").status, 404)
    equal(client.request("POST", "/cluster/shards/0/accept").status, 204)
    equal(client.request("POST", "/cluster/shards/0/accept").status, 404)
    equal(client.request("GET", "/health").status, 200)
    equal(client.request("GET", "/cluster").json["shards_broken"], [])
    equal([client.get(key).status for key in "abc"], [404, 200, 200])
    equal(client.put("d", delay=0).status, 201)
    equal(keys(client.take(wait=30)), ["d"])
    daemon.restart()
    equal([daemon.client().get(key).status for key in "abcd"], [404, 200, 200, 200])
    for seq, record in records:
        true(f"record {seq}, of {len(record)} bytes, is removed" in daemon.said(), daemon.said())


def a_copied_database_goes_on(daemon):
    """It has only what it needs of the disk, as has one that another program has changed."""
    client = daemon.client()
    for batch in range(10):
        equal(client.put_many([{"key": f"{batch}-{i}", "delay": 0, "payload": 900 * "x"}
                               for i in range(500)]).status, 200)
    daemon.stop()
    change_database(daemon, ("VACUUM",))
    client = daemon.start().client()
    for _ in range(2):
        taken = client.take(max=500, wait="30s")
        equal(len(taken), 500)
        equal({client.ack(timeout["token"]) for timeout in taken[:5]}, {204})


def what_an_older_hwheeld_left_is_removed(daemon):
    """A row that filled up the log of SQLite, between two statements of a start that was killed"""
    daemon.client().put("a", delay=1000)
    daemon.stop()
    before = daemon.said()
    change_database(daemon, ("CREATE TABLE space (one INTEGER PRIMARY KEY, bytes BLOB)",),
                    ("INSERT INTO space VALUES (1, zeroblob(3584000))",))
    for _ in range(2):
        daemon.start()
        equal(daemon.client().get("a").status, 200)
        daemon.stop()
    true("store" not in daemon.said()[len(before):], daemon.said())
    equal(change_database(daemon, ("SELECT name FROM sqlite_master WHERE name = 'space'",)), [[]])
    daemon.start()


def files_may_run_out(daemon):
    """Clients that come then wait; others are served, and nothing spins."""
    daemon.stop()
    daemon.launch(nofile=40)
    until(daemon.is_up, "it listens")
    client = daemon.client()
    equal(client.put("a", delay=1000).status, 201)
    with contextlib.ExitStack() as stack:
        others = connected(stack, daemon, 60)
        sent = {raw: send_put(raw, f"{number}") for number, raw in enumerate(others)}
        equal(client.put("b", delay=1000).status, 201)
        until(lambda: client.metric("hwheeld_timeouts") > 20, "some are served")
        ticks = cpu_ticks(daemon)
        daemon.signal(signal.SIGHUP)
        equal(client.put("c", delay=1000).status, 201)
        served = 0
        while served < len(others):
            ready = select.select(others, [], [], PATIENCE)[0]
            true(ready, "nobody is served")
            for raw in ready:
                equal(answer_to(*sent[raw]).status, 201)
                others.remove(raw)
                raw.close()
            if not ready:
                break
    true(cpu_ticks(daemon) - ticks < 500, "it spins")
    equal(daemon.client().metric("hwheeld_timeouts"), 63)


def cpu_ticks(node):
    with open(f"/proc/{node.process.pid}/stat", encoding="ascii") as stream:
        return sum(map(int, stream.read().split()[13:15]))


def the_log_is_cleaned(daemon):
    client = daemon.client()
    client.put_many([{"key": f"old{k}", "delay": 1000, "payload": str(k)} for k in range(500)])
    for turn in range(40):
        client.put_many([{"key": str(key), "delay": 1000 + turn} for key in range(1000)])
    true(client.metric("hwheeld_log_records") < 15000, client.metric("hwheeld_log_records"))
    daemon.restart()
    client = daemon.client()
    equal(client.metric("hwheeld_timeouts"), 1500)
    for key in range(0, 500, 50):
        equal(client.get(f"old{key}").json["payload"], str(key))


def cleaning_keeps_up(daemon):
    """Batches of several clients in one commit, then of large payloads; and when nobody asks"""
    def batches(number):
        client = daemon.client()
        for turn in range(12):
            client.put_many([{"key": f"{number}-{k}", "delay": 1000 + turn} for k in range(1000)])

    threads = [threading.Thread(target=batches, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    client = daemon.client()
    until(lambda: client.metric("hwheeld_log_records") <= 18000, "cleaned by records")
    for turn in range(20):
        client.put_many([{"key": f"p{k}", "delay": 1000 + turn, "payload": 60000 * "x"}
                         for k in range(15)])
    until(lambda: client.metric("hwheeld_log_records") <= 18000, "cleaned by bytes")
    daemon.restart()
    client = daemon.client()
    equal(client.metric("hwheeld_timeouts"), 8015)
    for key in ("0-0", "7-999"):
        true(client.get(key).json["remaining"] > 900, key)
    equal(client.get("p0").json["payload"], 60000 * "x")


def a_lease_outlives_cleaning(daemon):
    client = daemon.client()
    client.put("leased", delay=0, payload="p")
    lease = client.take(wait=30, lease=1000)[0]
    for turn in range(30):
        client.put_many([{"key": str(key), "delay": 1000 + turn} for key in range(1000)])
    true(client.metric("hwheeld_log_records") < 15000, "cleaned")
    daemon.restart()
    client = daemon.client()
    equal(client.get("leased").json["state"], "leased")
    equal(client.ack(lease["token"]), 204)
    daemon.restart()
    equal(daemon.client().get("leased").status, 404)


def a_take_gets_what_one_commit_holds(daemon):
    daemon.stop()
    daemon.configure(take=100000, batch=100000, body=8 << 20)
    daemon.start()
    client = daemon.client()
    known = {f"{k:05}" + 251 * "k" for k in range(5000)}
    equal(client.put_many([{"key": key, "delay": 0} for key in known]).status, 200)
    until(lambda: client.request("GET", "/queues").json["queues"][0]["due"] == 5000, "due")
    taken = []
    while found := client.take(max=100000, lease=1000):
        true(len(found) < 5000, "all in one commit")
        taken += keys(found)
    equal(sorted(taken), sorted(known))


def health_tells_draining_from_dead(daemon):
    client = daemon.client()
    client.put("due", delay=0)

    def refusals():
        text = client.request("GET", "/metrics").text.decode()
        return set(re.findall(r'hwheeld_refuses{reason="(\w+)"} 1', text))

    def accepts():
        equal(client.request("GET", "/health").status, 200)
        return client.request("GET", "/health/accept")

    equal((accepts().status, refusals()), (200, set()))
    daemon.stop()
    daemon.configure(timeouts=1)
    daemon.start()
    client = daemon.client()
    equal((accepts().status, refusals()), (503, {"timeouts"}))
    true("as many timeouts as allowed" in accepts().json["state"], accepts().text)
    equal(client.put("new", delay=1).status, 507)
    equal(client.put("due", delay=0).status, 200)
    equal(client.ack(client.take(wait=30)[0]["token"]), 204)
    equal((accepts().status, refusals()), (200, set()))
    daemon.configure(timeouts=100, memory=1 << 20, body=2 << 20)
    daemon.restart()
    client = daemon.client()
    for number in range(17):
        last = client.put(str(number), delay=1000, payload=65000 * "x").status
    equal((last, accepts().status, refusals()), (507, 503, {"memory"}))


def all_are_listed(daemon):
    client = daemon.client()
    client.put_many([{"key": f"{k:03}", "delay": 1000} for k in range(250)])
    equal(keys(listed(client, "limit=100")), [f"{k:03}" for k in range(250)])
    equal(client.request("GET", "/timeouts?after=gone").status, 400)
    equal(client.request("GET", "/timeouts?limit=0").status, 400)


def no_page_is_empty_before_the_end(daemon):
    client = daemon.client()
    client.put_many([{"key": f"{'ab'[k % 100 == 99]}/{k:03}", "delay": 1000,
                      "queue": f"q{k // 100}"} for k in range(1000)])
    client.put("due", delay=0, queue="q9")
    until(lambda: client.get("due").json["state"] == "due", "due")
    for query, expected in (("queue=q7", [f"{'ab'[k == 99]}/7{k:02}" for k in range(100)]),
                            ("prefix=b%2F", [f"b/{k}99" if k else "b/099" for k in range(10)]),
                            ("prefix=b/5&queue=q5", ["b/599"]), ("state=due", ["due"]),
                            ("state=leased", []), ("prefix=&state=due&queue=q8", [])):
        equal((query, keys(listed(client, f"limit=7&{query}"))), (query, sorted(expected)))


def a_list_has_payloads_when_asked(daemon):
    """A page has so many bytes of them that the next one, which would be beyond, is on another."""
    client = daemon.client()
    payloads = {f"large{k}": 65536 * chr(1 + k) for k in range(9)} | {"small": "\0x", "empty": ""}
    for key, payload in payloads.items():
        equal(client.put(key, delay=1000, payload=payload).status, 201)
    found = list(pages(client, "payload=1"))
    equal({timeout["key"]: timeout["payload"] for page in found for timeout in page}, payloads)
    equal([len(page) for page in found], [4, 4, 3])
    equal([len(client.request("GET", f"/timeouts?payload=1&limit={limit}").json["timeouts"])
           for limit in (1, 4, 5)], [1, 4, 4])


def restarts_hide_none_from_a_list(daemon):
    client = daemon.client()
    client.put_many([{"key": f"{k:03}", "delay": 1000} for k in range(30)])
    page = client.request("GET", "/timeouts?limit=10").json
    found = keys(page["timeouts"])
    client.put(found[-1], delay=1000)
    client.cancel(found[-2])
    while "next" in page:
        page = client.request("GET", f"/timeouts?limit=10&after={page['next']}").json
        found += keys(page["timeouts"])
    equal(sorted(set(found)), [f"{k:03}" for k in range(30)])


def a_list_lets_others_take_turns(daemon):
    """Its filter lets one of many through. A machine that is busy may answer others later."""
    client, other = daemon.client(), daemon.client()
    for batch in range(30):
        client.put_many([{"key": f"{batch}-{k}", "delay": 10000} for k in range(1000)])

    def others_that_were_served():
        served = 0
        client.send("GET", "/timeouts?prefix=29-99&limit=1000")
        while not select.select([client.connection.sock], [], [], 0)[0]:
            equal(other.request("GET", "/health").status, 200)
            served += 1
        equal(len(client.answer().json["timeouts"]), 11)
        return served

    until(lambda: others_that_were_served() > 3, "others are served meanwhile")


def a_list_finds_what_moves_meanwhile(daemon):
    """Timeouts come, go and move to the log's other end, those too where the list is."""
    client, other = daemon.client(), daemon.client()
    for batch in range(20):
        client.put_many([{"key": f"{batch}-{k}", "delay": 10000} for k in range(1000)])
    kept = {f"{batch}-{k}" for batch in range(20) for k in range(900, 1000)}
    for turn in range(4):
        client.send("GET", f"/timeouts?queue=default&prefix={turn}-9&limit=1000")
        for k in range(turn * 50, turn * 50 + 50):
            equal(other.cancel(f"{k % 20}-{k}").status, 204)
            equal(other.put(f"{turn}-{900 + k % 100}", delay=10000).status, 200)
        found = {timeout["key"] for timeout in client.answer().json["timeouts"]}
        expected = {key for key in kept if key.startswith(f"{turn}-")}
        equal(expected - found, set())
    client.send("GET", "/timeouts?prefix=none")
    daemon.signal(signal.SIGTERM)
    true(client.answer().status in (200, 503), "it is answered")
    equal(daemon.wait(), 0)


def metrics_are_open_metrics(daemon):
    client = daemon.client()
    client.put("a", delay=0)
    client.take(wait=30)
    answer = client.request("GET", "/metrics")
    true(answer.headers["Content-Type"].startswith("application/openmetrics-text"), "type")
    lines = answer.text.decode().splitlines()
    equal(lines[-1], "# EOF")
    buckets = [line for line in lines if line.startswith("hwheeld_lateness_seconds_bucket")]
    counts = [int(line.split()[1]) for line in buckets]
    equal(counts, sorted(counts))
    equal(counts[-1], 1)
    for line in lines[:-1]:
        true(line.startswith(("# TYPE hwheeld_", "# HELP hwheeld_", "# UNIT hwheeld_",
                              "hwheeld_")), line)


def no_payload_is_logged(daemon):
    client = daemon.client()
    client.put("secret-key", delay=0, payload="secret-payload")
    client.request("PUT", "/timeouts/secret-key", b"secret-body")
    client.take(wait=30)
    daemon.restart()
    true("secret" not in daemon.said(), daemon.said())
    equal(os.stat(daemon.settings["database"]).st_mode & 0o777, 0o600)


def one_database_has_one_daemon(daemon):
    other = make(database=daemon.settings["database"])
    other.launch()
    true(other.wait(), "a second daemon runs")
    true("locked" in other.said(), other.said())
    third = make(socket=daemon.socket)
    third.launch()
    true(third.wait(), "a second daemon has the socket")
    equal(daemon.client().get("a").status, 404)


def as_user(uid, gid, groups, function):
    """In a process of another user: what function returns, as a status"""
    pid = os.fork()
    if not pid:
        status = 99
        try:
            os.setgroups(groups)
            os.setresgid(gid, gid, gid)
            os.setresuid(uid, uid, uid)
            status = function()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def users_need_the_group(daemon):
    daemon.stop()
    daemon.configure(socket_mode="0666", group="daemon")
    daemon.start()
    os.chmod(daemon.folder, 0o755)

    def ask():
        return {404: 0, 403: 1}.get(daemon.client().get("a").status, 2)

    equal(as_user(65534, 65534, [], ask), 1)
    equal(as_user(65534, 1, [], ask), 0)
    equal(as_user(65534, 65534, [1], ask), 0)
    daemon.stop()
    daemon.configure(socket_mode="0660")
    daemon.start()
    equal(as_user(65534, 1, [], ask), 0)
    equal(as_user(65534, 65534, [], ask), 99)


def hwheelctl_talks_to_it(daemon):
    def ctl(status, *words, stdin=""):
        done = daemon.ctl(*words, stdin=stdin)
        equal((words, done.returncode, done.stderr if not status else ""), (words, status, ""))
        return [json.loads(line) for line in done.stdout.splitlines()]

    equal(ctl(0, "put", "a/ä %", "--delay", "0", "--payload", "\x1b[1m")[0]["key"], "a/ä %")
    ctl(0, "put", "b", "--delay", "30m", "--payload", "-", "--queue", "q", stdin="two\nlines")
    equal(daemon.client().get("b").json["payload"], "two\nlines")
    ctl(1, "put", "b", "--delay", "1s", "--new")
    ctl(1, "put", "b", "--delay", "1x")
    ctl(2, "put", "b")
    ctl(2, "put", "--delay", "1s")
    equal(keys(ctl(0, "list", "--timeouts")), ["a/ä %", "b"])
    taken = ctl(0, "take", "--wait", "30s")
    equal((keys(taken), taken[0]["payload"]), (["a/ä %"], "\x1b[1m"))
    ctl(0, "ack", taken[0]["token"])
    ctl(1, "ack", taken[0]["token"])
    ctl(1, "take", "../leases?x")
    ctl(0, "put", "c", "--deadline", "2020-01-01T00:00:00Z")
    equal(keys(ctl(0, "take", "--wait", "30s", "--ack", "--max", "5")), ["c"])
    health, nodes, queues = ctl(0, "status")
    equal((health["state"], health["timeouts"], queues["queues"][0]["queue"]), ("ready", 1, "q"))
    equal([node["state"] for node in nodes["nodes"]], ["ready"])
    ctl(0, "cancel", "b")
    ctl(1, "cancel", "b")
    daemon.stop()
    ctl(1, "status")


def an_export_is_imported_elsewhere(daemon):
    """All sorts of timeouts, to a second daemon and to a third one"""
    put_all_sorts(daemon.client())
    lines = daemon.export()
    with make() as other, make() as third:
        equal(run_import(other, lines), (0, len(timeouts(lines)), 0))
        middle = moved(other)
        compare(lines, middle)
        equal(run_import(third, middle), (0, len(timeouts(lines)), 0))
        compare(middle, moved(third))
        equal(keys(timeouts(third.export("--queue", "other"))),
              keys(one for one in timeouts(lines) if one["queue"] == "other"))
        equal(third.ctl("export", "--queue", "a b").returncode, 2)
        equal(third.ctl("export", "x").returncode, 2)
        for node in other, third:
            node.is_sound()
            node.remove_database()


def an_interrupted_import_is_repeated(daemon):
    """Nothing is restarted: what the second one has of the same keys is other."""
    def lines(name):
        return "".join(json.dumps({
            "key": f"k{number}", "queue": "default", "kind": "deadline", "payload": name,
            "deadline": f"2030-01-01T00:00:00.{number % 1000:03}Z"}) + "\n"
                       for number in range(3000))

    with subprocess.Popen(daemon.ctl_command("import"), stdin=subprocess.PIPE, text=True,
                          stdout=subprocess.DEVNULL) as first:
        first.stdin.write("".join(lines("first").splitlines(True)[:2000]))
        first.stdin.flush()
        until(lambda: daemon.client().metric("hwheeld_timeouts") >= 500, "some are there")
        first.kill()
        with contextlib.suppress(BrokenPipeError):
            first.stdin.close()
        first.wait()
    client = daemon.client()
    before = {timeout["key"]: timeout for timeout in listed(client, "limit=1000&payload=1")}
    true(0 < len(before) < 3000, len(before))
    done = daemon.ctl("import", stdin=lines("second"))
    equal((done.returncode, done.stderr), (0, ""))
    *there, summary = map(json.loads, done.stdout.splitlines())
    equal(summary, {"created": 3000 - len(before), "there": len(before)})
    equal({one["key"]: one["line"] for one in there},
          {key: int(key[1:]) + 1 for key in before})
    after = {timeout["key"]: timeout for timeout in listed(client, "limit=1000&payload=1")}
    equal(len(after), 3000)
    for key, timeout in after.items():
        equal(timeout["payload"], "first" if key in before else "second")
        equal(timeout["deadline"], f"2030-01-01T00:00:00.{int(key[1:]) % 1000:03}Z")
    equal(run_import(daemon, lines("third")), (0, 0, 3000))


GOOD = {"key": "good", "queue": "default", "kind": "deadline", "payload": "",
        "deadline": "2030-01-01T00:00:00.000Z"}


def wrong_lines_are_not_imported(daemon):
    """What is before a wrong line is, and the message has the line's number."""
    client = daemon.client()
    for number, (wrong, why) in enumerate((
            ("", "not JSON"), ("x", "not JSON"), ("{}", "are expected"), ("[]", "object"),
            ("5", "object"), (json.dumps(GOOD)[:-1], "not JSON"), (json.dumps(GOOD) + "}", "not JSON"),
            (json.dumps(GOOD) + json.dumps(GOOD), "not JSON"),
            (json.dumps(GOOD).replace('"', "'"), "not JSON"),
            ('{"key":"a","key":"b"}', "twice"), ("{" + 10 * '"a":{' + 11 * "}", "not JSON"),
            (json.dumps(GOOD).replace('""', '"\\ud800"'), "surrogate"),
            (json.dumps(GOOD).replace('""', '"\0"'), "zero byte"),
            (json.dumps(GOOD | {"more": 1}), "unknown member"),
            (json.dumps(GOOD | {"delay": 1}), "unknown member"),
            (json.dumps(GOOD | {"key": 5}), "key"), (json.dumps(GOOD | {"key": "a\0b"}), "key"),
            (json.dumps(GOOD | {"key": ""}), "key"), (json.dumps(GOOD | {"key": 257 * "k"}), "key"),
            (json.dumps(GOOD | {"queue": None}), "queue"), (json.dumps(GOOD | {"queue": "a b"}), "queue"),
            (json.dumps(GOOD | {"kind": "other"}), "kind"), (json.dumps(GOOD | {"kind": 1}), "kind"),
            (json.dumps(GOOD | {"state": "dead"}), "state"),
            (json.dumps(GOOD | {"deliveries": -1}), "deliveries"),
            (json.dumps(GOOD | {"deliveries": "1"}), "deliveries"),
            (json.dumps(GOOD | {"payload": 1}), "payload"),
            (json.dumps(GOOD | {"payload": 65537 * "x"}), "payload"),
            (600000 * "x", "too long"),
            *((json.dumps(GOOD | {"deadline": date}), "deadline") for date in (
                5, "", "tomorrow", "2030-01-01T00:00:00Z", "2030-02-30T00:00:00.000Z",
                "2030-01-01T00:00:00.0000Z", "2030-01-01T00:00:00.000Zx", "1969-12-31T23:59:59.999Z",
                " 2030-01-01T00:00:00.000Z", "9999-01-01T00:00:00.000Z", "2400-01-01T00:00:00.000Z",
                "2030-01-01T00:00:00.+10Z")),
            *((json.dumps({n: v for n, v in GOOD.items() if n != name}), "are expected")
              for name in GOOD))):
        before = [json.dumps(GOOD | {"key": f"{number}-{i}"}) for i in range(3)]
        done = daemon.ctl("import", stdin="\n".join((*before, wrong, json.dumps(GOOD), "")))
        equal((wrong[:200], done.returncode), (wrong[:200], 1))
        true(done.stderr.startswith("hwheelctl: line 4: ") and why in done.stderr,
             f"{wrong[:200]}: {done.stderr}")
        equal(json.loads(done.stdout), {"created": 3, "there": 0})
        equal(client.get("good").status, 404)
        equal([client.cancel(f"{number}-{i}").status for i in range(3)], [204, 204, 204])
    equal(run_import(daemon, ""), (0, 0, 0))
    equal(run_import(daemon, json.dumps(GOOD)), (0, 1, 0))
    equal(daemon.ctl("import", "timeouts").returncode, 2)
    twice = "".join(json.dumps(GOOD | {"key": key}) + "\n" for key in ("a", "b", "a", "c", "a"))
    equal(run_import(daemon, twice), (0, 3, 2))


def an_import_says_what_is_refused(daemon):
    daemon.stop()
    daemon.configure(queue_timeouts=2)
    daemon.start()
    lines = "".join(json.dumps(GOOD | {"key": f"k{i}"}) + "\n" for i in range(5))
    done = daemon.ctl("import", stdin=lines)
    equal((done.returncode, json.loads(done.stdout)), (1, {"created": 0, "there": 0}))
    equal(done.stderr, "hwheelctl: lines 1 to 5: the queue is full (429)\n")
    daemon.stop()
    done = daemon.ctl("import", stdin=lines)
    equal((done.returncode, json.loads(done.stdout)), (1, {"created": 0, "there": 0}))
    true("lines 1 to 5 may have been put" in done.stderr, done.stderr)
    done = daemon.ctl("export")
    equal((done.returncode, done.stdout), (1, ""))


def an_export_is_whole_or_nothing(daemon):
    """A daemon of canned pages: one of them has a timeout again, one is cut off, or is none."""
    one = {"key": "a", "queue": "q", "kind": "deadline", "state": "pending", "remaining": 1.5,
           "deliveries": 0, "payload": "old", "deadline": "2030-01-01T00:00:00.000Z"}
    first = {"timeouts": [one, one | {"key": "b"}], "next": "5"}
    last = {"timeouts": [one | {"payload": "new"}]}
    with Pages(f"{daemon.folder}/pages", first, last) as pages_of:
        done = pages_of.ctl(daemon, "export")
        equal((done.returncode, done.stderr), (0, ""))
        equal([(line["key"], line["payload"]) for line in map(json.loads, done.stdout.splitlines())],
              [("b", "old"), ("a", "new")])
        equal([path.partition("?")[2].split("&")[2:] for path in pages_of.asked], [[], ["after=5"]])
    for wrong in ({"timeouts": 5}, {}, {"timeouts": [{"key": "a"}]},
                  {"timeouts": [one | {"deliveries": "x"}]}, None):
        with Pages(f"{daemon.folder}/pages", first, wrong) as pages_of:
            for command in ("export", "list") if wrong is None else ("export",):
                pages_of.begin()
                done = pages_of.ctl(daemon, command, *(["--timeouts"] if command == "list" else []))
                equal((wrong, done.returncode), (wrong, 1))
                equal(bool(done.stdout), command == "list")
    with open("/dev/full", "w", encoding="utf-8") as full:
        daemon.client().put("a", delay=1000)
        equal(subprocess.run(daemon.ctl_command("export"), stdout=full, stderr=subprocess.DEVNULL,
                             check=False).returncode, 1)


def what_is_not_printed_is_not_acknowledged(daemon):
    client = daemon.client()
    client.put("a", delay=0)
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(daemon.ctl_command("take", "--wait", "30s", "--lease", "50ms",
                                                 "--ack"),
                              stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    equal(done.returncode, 1)
    true("not acknowledged" in done.stderr, done.stderr)
    equal(keys(client.take(wait=30)), ["a"])


def the_readme_works(daemon):
    """The five lines, as they stand there"""
    daemon.stop()
    os.makedirs("/run/hwheeld", exist_ok=True)
    daemon.socket = "/run/hwheeld/socket"
    daemon.configure(socket=daemon.socket)
    daemon.start()
    path = f"{os.path.dirname(os.path.realpath(__file__))}/../../../README.md"
    with open(path, encoding="utf-8") as stream:
        block = stream.read().split("make check-all runs it")[1]
    block = block.split("```sh\n")[1].split("```")[0]
    equal(len(block.splitlines()), 5)
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", block], capture_output=True,
                          text=True, check=False)
    equal(done.returncode, 0)
    equal([json.loads(line)["key"] for line in done.stdout.splitlines()], 2 * ["order-17"])
    true('"payload":"cancel order 17"' in done.stderr, done.stderr)
    equal(daemon.client().metric("hwheeld_acknowledged_total"), 1)


TESTS = [value for value in list(globals().values())
         if callable(value) and getattr(value, "__code__", None) and
         value.__module__ == __name__ and value.__code__.co_varnames[:1] == ("daemon",) and
         value.__code__.co_argcount == 1]
if not in_user_mode_kernel():
    STEPPING = (deadlines_follow_the_wall_clock, a_delay_outlives_steps_and_restarts,
                a_delay_goes_on_after_a_reboot, a_delay_outlives_a_step_and_a_power_cut)
    TESTS = [test for test in TESTS if test not in STEPPING]
if len(sys.argv) > 3:
    run_all([test for test in TESTS if test.__name__ in sys.argv[3:]], make)
run_all(TESTS, make, openapi.all_of_it_was_seen)
