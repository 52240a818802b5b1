#!/usr/bin/env python3
"""Writes while the clock stands in 2426, and one while it stands in 1990: they are kept, what comes
later has the right time again, also after a restart, and `doctor` names what is wrong."""

import json
from datetime import UTC, datetime

from abuse import Home

CENTURIES = 400 * 365 * 86_400

with Home() as home:
    def keep(text):
        status, said = home.local("POST", "/v1/users/ada/records", {"text": text})
        assert status == 200, said

    def daemon(offset):
        began = home.serve("--idle-exit", "600", shim={"SHIM_CLOCK": offset})
        keep(f"with the clock {offset} s off")
        home.done("stop")
        began.wait(10)

    daemon(0)
    daemon(CENTURIES)
    daemon(-36 * 365 * 86_400)
    for _ in range(2):
        home.serve("--idle-exit", "600")
        keep(f"afterwards {_}")
        home.done("stop")
    home.ingest("ada", [{"text": "afterwards, directly"}])
    known = {}
    for line in home.done("export", "--user", "ada").splitlines():
        record = json.loads(line)
        known[record["text"]] = datetime.fromisoformat(record["known_at"])
    assert len(known) == 6, f"{len(known)} of 6 records"
    now = datetime.now(UTC)
    for text, at in known.items():
        if text.startswith("afterwards"):
            off = abs((now - at).total_seconds())
            assert off < 600, f"`{text}` is {off:.0f} s off"
    ended = home.run("doctor")
    assert "clock" in ended.stdout and "2426" in ended.stdout, ended.stdout
    home.done("check", "--user", "ada")
