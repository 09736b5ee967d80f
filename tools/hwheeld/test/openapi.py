# SPDX-License-Identifier: GPL-2.0-only
"""The description of the API, and what of it tests have seen."""
import json
import os
import re
from urllib.parse import parse_qsl

from jsonschema import Draft202012Validator

PATH = f"{os.path.dirname(os.path.realpath(__file__))}/../http/openapi.json"

# For a path or a method that there is not
STRAY = {"401", "403", "404", "405", "413", "421", "429", "503"}


class Description:
    def __init__(self, path):
        with open(path, encoding="utf-8") as stream:
            self.document = json.load(stream)
        self.validators = {}
        self.seen = set()
        self.operations = []
        for path, item in self.document["paths"].items():
            pattern = re.compile(re.sub(r"\{key\}", ".*", re.sub(r"\{(?!key)\w+\}", "[^/]*", path)))
            for method in item.keys() & {"get", "put", "post", "delete", "patch"}:
                self.operations.append((method.upper(), pattern, path, item[method]))

    def resolve(self, schema):
        while "$ref" in schema:
            found = self.document
            for name in schema["$ref"][2:].split("/"):
                found = found[name]
            schema = found
        return schema

    def valid(self, schema, value, where):
        """A reference is one into the document: each schema is taken for a part of it."""
        key = id(schema)
        if key not in self.validators:
            self.validators[key] = Draft202012Validator(
                schema | {"components": self.document["components"]})
        error = next(self.validators[key].iter_errors(value), None)
        if error:
            raise AssertionError(f"{where}: {'/'.join(map(str, error.path))}: {error.message}")

    def members(self, schema, where):
        """Each member that the schema has, as (schema, name, the member's own schema)"""
        schema = self.resolve(schema)
        if "items" in schema:
            yield from self.members(schema["items"], where)
        for name, member in schema.get("properties", {}).items():
            yield schema, name, member, where
            yield from self.members(member, f"{where}/{name}")

    def note(self, schema, value):
        schema = self.resolve(schema)
        if isinstance(value, list) and "items" in schema:
            for one in value:
                self.note(schema["items"], one)
        elif isinstance(value, dict):
            for name, member in value.items():
                if name in schema.get("properties", {}):
                    self.seen.add((id(schema), name))
                    self.note(schema["properties"][name], member)

    def find(self, method, path):
        """Returns the operation and whether there is such a path."""
        there = [operation for operation in self.operations if operation[1].fullmatch(path)]
        return next((operation for operation in there if operation[0] == method), None), bool(there)

    def accepted(self, operation, query, body, headers):
        """What was accepted is as the description allows it."""
        method, _, path, what = operation
        known = {(p["in"], p["name"].lower()) for p in map(self.resolve, what.get("parameters", ()))}
        used = {("query", name) for name, _ in parse_qsl(query, keep_blank_values=True)}
        where = f"{method} {path}"
        if what["tags"] != ["daemon"] and not used <= known:
            raise AssertionError(f"{where}: accepted with {used - known}")
        used |= {("header", name.lower()) for name in headers or {}}
        self.seen |= {(method, path), *((method, path, *one) for one in used & known)}
        if "requestBody" in what:
            schema = what["requestBody"]["content"]["application/json"]["schema"]
            value = json.loads(body)
            self.valid(schema, value, f"{where}: accepted, but")
            self.note(schema, value)
        elif body:
            raise AssertionError(f"{where}: accepted with a body")

    def check(self, method, target, body, headers, answer):
        """An answer to this request"""
        operation = self.check_answer(method, target, answer)
        if operation and answer.status < 300:
            self.accepted(operation, target.partition("?")[2], body, headers)

    def check_answer(self, method, target, answer):
        """An answer to a request whose body is not known; returns the operation."""
        path = target.partition("?")[0]
        if answer.status == 405:
            allowed = {one[0] for one in self.operations if one[1].fullmatch(path)}
            allowed |= {"HEAD"} if "GET" in allowed else set()
            if set((answer.headers["Allow"] or "").split(", ")) != allowed:
                raise AssertionError(f"{method} {path}: Allow: {answer.headers['Allow']}")
        operation, is_path = self.find("GET" if method == "HEAD" else method, path)
        where, status = f"{method} {target[:200]}", str(answer.status)
        if operation:
            responses = operation[3]["responses"]
            if status not in responses:
                raise AssertionError(f"{where}: {status} is not described: {answer.text[:200]}")
            response = self.resolve(responses[status])
        else:
            if status not in STRAY or (status == "404" and is_path):
                raise AssertionError(f"{where}: {status}")
            response = {"content": {"application/json": {
                "schema": self.document["components"]["schemas"]["Error"]}}}
        for name, header in response.get("headers", {}).items():
            self.valid(header["schema"], answer.headers[name], f"{where}: {status}: {name}")
        self.check_body(method, response, answer, f"{where}: {status}")
        return operation

    def check_body(self, method, response, answer, where):
        if "content" not in response or method == "HEAD":
            if answer.text:
                raise AssertionError(f"{where}: has a body")
            return
        (kind, content), = response["content"].items()
        if (answer.headers["Content-Type"] or "").split(";")[0] != kind:
            raise AssertionError(f"{where}: {answer.headers['Content-Type']}")
        value = answer.json if kind == "application/json" else answer.text.decode()
        self.valid(content["schema"], value, where)
        self.note(content["schema"], value)
        if kind == "application/json" and value.get("status", answer.status) != answer.status:
            raise AssertionError(f"{where}: {value}")

    def unseen(self, several_nodes):
        """Paths, queries, headers and members that no accepted request and no answer had"""
        for method, _, path, what in self.operations:
            if ("x-seen-with" in what) == several_nodes and (method, path) not in self.seen:
                yield f"{method} {path}"
            for parameter in map(self.resolve, what.get("parameters", ())):
                one = (method, path, parameter["in"], parameter["name"].lower())
                if not several_nodes and one not in self.seen:
                    yield " ".join(one)
            bodies = [("request", what.get("requestBody", {}))]
            bodies += [(status, self.resolve(r)) for status, r in what["responses"].items()]
            for name, body in bodies:
                for content in body.get("content", {}).values():
                    yield from self.unseen_members(content["schema"], f"{method} {path} {name}",
                                                   several_nodes)

    def unseen_members(self, schema, where, several_nodes):
        for of, name, member, place in self.members(schema, where):
            if ("x-seen-with" in member) == several_nodes and (id(of), name) not in self.seen:
                yield f"{place}/{name}"


DESCRIPTION = Description(PATH)


def all_of_it_was_seen(several_nodes=False):
    """For the end of a program whose tests reach all of it, or all that needs several nodes"""
    unseen = sorted(set(DESCRIPTION.unseen(several_nodes)))
    if unseen:
        raise AssertionError(f"no test has seen: {', '.join(unseen)}")
