#!/usr/bin/env python3
"""What a write and a question cost in a memory of an odd state: many versions of one record, many
links, tags, sessions, duplicates and corrections. The second half of the writes costs the daemon at
most 2.5 times as much as the first, and so does each question after it.
# Whole: at most 900 s.
"""

import json
import sys
import time

from abuse import SHORT, Home

COUNT = 200 if SHORT else 1_500
RATIO = 2.5
# Less than this is noise; what cost less is taken to have cost this.
FLOOR = 0.3
ROUNDS = 3


def versions(n):
    return "POST", "records?update=true", {"external_id": "one", "text": f"version {n} of the key"}


def corrections(n):
    return "PATCH", "records/one", {"text": f"correction {n} of the key"}


def links(n):
    return "POST", "link", {"from": "one", "to": f"r{n % 100}", "relation": f"see-{n // 100}"}


def tags(n):
    return "PATCH", "records/one", {"tags": [f"tag-{n}"]}


def sessions(n):
    return "POST", "records", {"text": f"the key of door {n}", "session_id": f"s{n}"}


def duplicates(_):
    return "POST", "records", {"external_id": "two", "text": "the key is under the mat"}


def lessons(n):
    return "POST", "learn", {"title": "turn the key twice", "tags": [f"door-{n}"]}


QUESTIONS = [
    ("recall", {"query": "where is the key"}),
    ("brief", {"query": "the key", "limit": 500, "max_tokens": 20_000}),
    ("brief", {"query": "the key", "limit": 500}),
    ("related", {"id": "one"}),
    ("list", {"limit": 100}),
    ("get", {"ids": ["one"]}),
]


class State:
    """A user's memory in one shape, and what the daemon used."""

    def __init__(self, home, daemon, shape):
        self.home, self.shape, self.user = home, shape, f"u-{shape.__name__}"
        self.clock = (~daemon.pid << 3) | 2
        first = [{"external_id": "one", "text": "the key hangs at the door"}]
        first += [{"external_id": f"r{n}", "text": f"room {n} is blue"} for n in range(100)]
        self.ask("POST", "records", first)

    def ask(self, method, path, body):
        status, said = self.home.local(method, f"/v1/users/{self.user}/{path}", body, timeout=120)
        assert status in (200, 201, 400, 404, 405, 409), f"{path}: {status} {json.dumps(said)[:200]}"
        return status

    def used(self, work):
        before = time.clock_gettime(self.clock)
        work()
        return time.clock_gettime(self.clock) - before

    def write(self, numbers):
        return self.used(lambda: [self.ask(*self.shape(n)) for n in numbers])

    def questions(self):
        costs = {}
        for name, body in QUESTIONS:
            what = f"{name} {' '.join(body)}"
            cost = lambda: self.used(lambda: [self.ask("POST", name, body) for _ in range(5)])
            costs[what] = min(cost() for _ in range(ROUNDS))
        return costs


def faults(state):
    first, asked = state.write(range(COUNT)), state.questions()
    second, again = state.write(range(COUNT, 2 * COUNT)), state.questions()
    pairs = {"writes": (first, second)} | {name: (asked[name], again[name]) for name in asked}
    for name, (before, after) in pairs.items():
        print(f"{state.shape.__name__} {name}: {before:.2f} s, {after:.2f} s", file=sys.stderr)
        if after > RATIO * max(before, FLOOR):
            yield f"{state.shape.__name__} {name}: {after:.2f} s after {before:.2f} s"


with Home() as home:
    daemon = home.serve("--idle-exit", "3600")
    shapes = [versions, corrections, links, tags, sessions, duplicates, lessons]
    wanted = sys.argv[1:]
    shapes = [shape for shape in shapes if not wanted or shape.__name__ in wanted]
    found = [fault for shape in shapes for fault in faults(State(home, daemon, shape))]
    assert not found, f"{len(found)} over their bound: {'; '.join(found)}"
