#!/usr/bin/env python3
"""No room on the disk: each kind of write is refused in a sentence, and once there is room any kind
is taken at once by the same daemon. What was acknowledged is there, once; nothing else is."""

import itertools
import json

from abuse import Home

USER = "/v1/users/ada"

with Home() as home:
    flag = home.folder / "full"
    daemon = home.serve("--idle-exit", "600", shim={"SHIM_FULL": flag})
    numbers = itertools.count()
    notes, lessons, versions = [], [], []

    def ask(method, path, body=None):
        status, said = home.local(method, USER + path, body)
        return status, json.loads(said) if said.startswith(b"{") else said

    def observe():
        text = f"note {next(numbers)}"
        status, said = ask("POST", "/records", {"external_id": text, "text": text})
        if status == 200:
            notes.append(text)
        return status, said

    def learn():
        text = f"lesson {next(numbers)}"
        status, said = ask("POST", "/tools/learn", {"title": text, "content": text})
        if status == 200:
            lessons.append(text)
        return status, said

    def change():
        text = f"version {next(numbers)}"
        status, said = ask("PATCH", "/records/fixed", {"text": text})
        if status == 200:
            versions.append(text)
        return status, said

    def forget():
        status, said = ask("POST", "/forget", {"external_id": notes[0]})
        if status == 200:
            assert len(said["forgotten"]) == 1, said
            notes.pop(0)
        return status, said

    def outcome():
        status, said = ask("POST", "/recall", {"query": notes[-1]})
        assert status == 200, f"a recall on a full disk: {said}"
        used = [said["results"][0]["id"]]
        body = {"recall_id": said["recall_id"], "quality": 0.9, "used": used}
        return ask("POST", "/outcome", body)

    def compact():
        return ask("POST", "/compact")

    def checkpoint():
        # There is something to save, as when a memory is left alone.
        status, said = observe()
        return (status, said) if status != 200 else ask("POST", "/checkpoint")

    kinds = [observe, learn, change, forget, outcome, compact, checkpoint]
    for _ in range(20):
        assert observe()[0] == 200
    assert ask("POST", "/records", {"external_id": "fixed", "text": "version 0"})[0] == 200
    for kind in kinds:
        status, said = kind()
        assert status == 200, f"{kind.__name__} with room: {status} {said}"
    for first in kinds:
        for second in kinds:
            flag.touch()
            status, said = first()
            assert status in (500, 503, 507), f"{first.__name__} without room: {status} {said}"
            assert "space" in said["detail"], f"{first.__name__} without room: {said}"
            flag.unlink()
            status, said = second()
            when = f"{second.__name__} after a refused {first.__name__}"
            assert status == 200, f"{when}: {status} {said}"
            assert daemon.poll() is None, f"{when}: the daemon has ended"
    home.done("serve", "stop")
    texts = home.texts("ada")
    there = [text for text in texts if text.startswith("note")]
    assert there == sorted(notes), f"{len(there)} notes, {len(notes)} were acknowledged"
    for text in lessons:
        assert sum(text in one for one in texts) == 1, f"`{text}` is not there once"
    assert versions[-1] in texts, "the last correction is gone"
    home.done("doctor", "check", "--user", "ada")
