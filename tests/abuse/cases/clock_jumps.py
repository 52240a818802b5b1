#!/usr/bin/env python3
"""The clock of a daemon at work goes back by a day and forward by a year, between two writes and
across a restart: what was acknowledged is there in its newest version, the newest is found under
its name, a version is read as it was, names of moments never repeat, and all is sound."""

import json
from datetime import datetime, timedelta

from abuse import Home, rounds

DAY = 86_400

with Home() as home:
    later = home.folder / "later"
    kept, wanted = [], {}

    def call(method, path, body=None, expect=200):
        status, said = home.local(method, f"/v1/users/ada{path}", body)
        assert status == expect, f"{method} {path}: {status} {said[:300]!r}"
        return json.loads(said)

    def keep(text):
        call("POST", "/records", {"text": text})
        kept.append(text)

    def correct(name, text):
        if name in wanted:
            call("PATCH", f"/records/{name}", {"text": text})
        else:
            record = {"text": text, "external_id": name, "session_id": "s", "tags": ["about-gates"]}
            call("POST", "/records", record)
        wanted[name] = text

    def look(when):
        for name, text in wanted.items():
            got = call("GET", f"/records/{name}")
            assert got["text"] == text, f"{when}: `{name}` is `{got['text']}`, not `{text}`"
            at = {"id": name, "as_of": got["known_at"]}
            then = call("POST", "/tools/get", at)["structured"]["records"][0]["text"]
            assert then == text, f"{when}: at its own moment it is `{then}`"
        found = call("POST", "/recall", {"query": "which gate is shut?", "limit": 50})
        texts = [one["text"] for one in found["results"]]
        for text in wanted.values():
            assert text in texts, f"{when}: `{text}` is not found"
        stale = [text for text in texts if text.startswith("gate") and text not in wanted.values()]
        assert not stale, f"{when}: former versions are found: {stale}"

    def work(round):
        for step in range(3):
            keep(f"{round}: a note of step {step}")
            correct("gate-1", f"gate 1 is shut, says step {step} of {round}")
        correct(f"gate-{round.replace(' ', '-')}", f"gate of {round} is shut")
        prompt = {"session": "s", "text": f"which gate is shut in {round}?", "deadline_ms": 20_000}
        # On a busy machine it may be late, as at any time.
        home.local("POST", "/v1/users/ada/hooks/user-prompt", prompt)
        look(round)

    offsets = [-DAY, 365 * DAY, -DAY][: rounds(3, 2)]
    for number, off in enumerate(offsets):
        home.serve("--idle-exit", "600", shim={"SHIM_CLOCK": off, "SHIM_LATER": later})
        work(f"right {number}")
        later.touch()
        work(f"wrong {number}")
        later.unlink()
        work(f"right again {number}")
        later.touch()
        home.done("serve", "stop")
        # Across a restart, too.
        home.serve("--idle-exit", "600", shim={"SHIM_CLOCK": off})
        look(f"restarted {number}")
        work(f"wrong after a restart {number}")
        home.done("serve", "stop")
        later.unlink()
        home.serve("--idle-exit", "600")
        look(f"set right {number}")
        work(f"right after a restart {number}")
        home.done("serve", "stop")
    lines = [json.loads(line) for line in home.done("export", "--user", "ada").splitlines()]
    texts = [line["text"] for line in lines]
    for text in kept + list(wanted.values()):
        assert texts.count(text) == 1, f"`{text}` is there {texts.count(text)} times"
    known = [line["known_at"] for line in lines]
    assert len(set(known)) >= len(kept), "names of moments repeat"
    now = datetime.now().astimezone()
    last = next(line for line in lines if line["text"].startswith(f"right after a restart {number}: a note"))
    off = abs(datetime.fromisoformat(last["timestamp"]) - now)
    assert off < timedelta(minutes=10), f"once the clock is right, a new record is {off} off"
    home.done("doctor", "check", "--user", "ada")
    home.done("backup", "--user", "ada", str(home.folder / "copy.rvf"))
