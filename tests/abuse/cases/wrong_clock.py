#!/usr/bin/env python3
"""Writes while the clock stands in 2426, and one while it stands in 1990: they are kept, what comes
later has the right time again, also after a restart, and `doctor` names what is wrong. Before 1970
commands work, a daemon that runs goes on, and none is started."""

import json
from datetime import UTC, datetime

from abuse import Home, within

CENTURIES = 400 * 365 * 86_400

with Home() as home:
    def keep(text):
        status, said = home.local("POST", "/v1/users/ada/records", {"text": text})
        assert status == 200, said

    def daemon(offset):
        began = home.serve("--idle-exit", "600", shim={"SHIM_CLOCK": offset})
        keep(f"with the clock {offset} s off")
        home.done("serve", "stop")
        began.wait(10)

    daemon(0)
    daemon(CENTURIES)
    daemon(-36 * 365 * 86_400)
    for _ in range(2):
        home.serve("--idle-exit", "600")
        keep(f"afterwards {_}")
        home.done("serve", "stop")
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
    home.done("doctor", "check", "--user", "ada")

BEFORE_1970 = -60 * 365 * 86_400

with Home() as home:
    before = {"SHIM_CLOCK": BEFORE_1970}
    line = '{"text":"kept before 1970"}\n'
    ended = home.run("ingest", "--user", "ada", "--jsonl", "-", input=line, shim=before)
    assert ended.returncode == 0, ended.stderr
    assert home.texts("ada") == ["kept before 1970"]
    ended = home.run("recall", "--user", "ada", "kept", shim=before)
    assert ended.returncode == 0 and "panicked" not in ended.stderr, ended.stderr
    ended = home.run("serve", shim=before)
    assert ended.returncode == 2 and "clock" in ended.stderr, ended.stderr
    # The clock of a daemon goes wrong while it runs, and is set right again.
    later = home.folder / "later"
    home.serve("--idle-exit", "600", shim=before | {"SHIM_LATER": later})

    def keep(user, text):
        try:
            status, _ = home.local("POST", f"/v1/users/{user}/records", {"text": text})
        except OSError:
            return False
        return status == 200

    for round in range(8):
        assert keep("ada", f"right {round}")
    later.touch()
    for round in range(8):
        keep("ada", f"wrong {round}")
        keep("bob", f"wrong {round}")
    later.unlink()
    for user in ["ada", "bob"]:
        within(10, lambda: keep(user, "right again"), f"the memory of {user} stays dead")
        assert "right again" in home.texts(user)
    home.done("serve", "stop")
    home.done("doctor", "check", "--user", "ada")
