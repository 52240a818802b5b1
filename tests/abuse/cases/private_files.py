#!/usr/bin/env python3
"""`events replay` makes files and folders that nobody else can read, whatever the umask."""

import json
import os
import stat

from abuse import Home

with Home() as home:
    os.umask(0o000)
    log = home.folder / "events.jsonl"
    event = {
        "seq": 1, "event_id": "e-1", "timestamp": "2026-02-16T09:46:08Z", "actor_id": "a",
        "event_type": "user_input", "user_id": "ada", "payload": {"text": "the boiler is cold"},
    }
    log.write_text(json.dumps(event) + "\n")
    done = home.run("ingest", "--events", str(log), "--user", "ada")
    assert done.returncode == 0, done.stderr
    made = [home.data, *home.data.rglob("*")]
    assert any(path.name == "events.db" for path in made), "no event log was made"
    for path in made:
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode & 0o077 == 0, f"{path.relative_to(home.folder)} has mode {mode:o}"
